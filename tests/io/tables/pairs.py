"""One system in every format: p, q = 2, 1 | 1, 0 | 1, 1 | 1, 0 | 0, 0."""

import snpjax as snp
from tests.io.tables.cusnp import PAIR as CUSNP
from tests.support.helpers import PAIR as PLINGUA


SYSTEM = snp.SpikingSystem(
    [
        snp.Neuron("p", 2, ["a^2/a -> a; 1", "a -> lambda"]),
        snp.Neuron("q", 1, ["a -> a", "a^2 -> lambda"]),
    ],
    [("p", "q"), ("q", "p")],
    output="q",
)
NUMBERED = snp.SpikingSystem(
    [snp.Neuron(new, n.spikes, n.rules) for new, n in zip("01", SYSTEM.neurons, strict=True)],
    [("0", "1"), ("1", "0")],
)
PAIRS = {
    "native": """{
  "schema": "snpjax/1",
  "name": "",
  "level": "extended",
  "signed": false,
  "neurons": [
    {"id": "p", "spikes": 2, "rules": ["a^2/a -> a; 1", "a -> lambda"]},
    {"id": "q", "spikes": 1, "rules": ["a -> a", "a^2 -> lambda"]}
  ],
  "synapses": [
    ["p", "q", 1],
    ["q", "p", 1]
  ],
  "input": {},
  "output": ["q"]
}
""",
    "plingua": PLINGUA,
    "esnp": """@mu = p, q
@ms(p) = a*2
@ms(q) = a
@marcs = (p,q)
@marcs = (q,p)
@mout = q
[a --> a]'p "a*2" :: 1
[a --> #]'p
[a --> a]'q
[a*2 --> #]'q
""",
    "websnapse": r"""{
  "neurons": [
    {"id": "p", "type": "regular", "position": {"x": 0, "y": 0}, "content": 2, "rules": ["a^{2}/a\\to a;1", "a\\to\\lambda"]},
    {"id": "q", "type": "regular", "position": {"x": 150, "y": 0}, "content": 1, "rules": ["a\\to a;0", "a^{2}\\to\\lambda"]},
    {"id": "out_q", "type": "output", "position": {"x": 300, "y": 0}, "content": ""}
  ],
  "synapses": [
    {"from": "p", "to": "q", "weight": 1},
    {"from": "q", "to": "p", "weight": 1},
    {"from": "q", "to": "out_q", "weight": 1}
  ]
}
""",  # noqa: E501
    "factory-yaml": r"""neurons:
- {id: 'p', type: 'regular', position: {x: 0, y: 0}, content: 2, rules: ['a^{2}/a\to a;1', 'a\to\lambda']}
- {id: 'q', type: 'regular', position: {x: 150, y: 0}, content: 1, rules: ['a\to a;0', 'a^{2}\to\lambda']}
- {id: 'out_q', type: 'output', position: {x: 300, y: 0}, content: ''}
synapses:
- {from: 'p', to: 'q', weight: 1}
- {from: 'q', to: 'p', weight: 1}
- {from: 'q', to: 'out_q', weight: 1}
""",  # noqa: E501
    "xmp": """<content>
  <p><id>p</id><position><x>0</x><y>0</y></position><rules>2a/a-&gt;a;1 a/a-&gt;0;0</rules>
     <startingSpikes>2</startingSpikes><delay>0</delay><spikes>2</spikes><isOutput>false</isOutput>
     <isInput>false</isInput><out>q</out><outWeights><q>1</q></outWeights></p>
  <q><id>q</id><position><x>150</x><y>-0.5</y></position><rules>a/a-&gt;a;0 2a/2a-&gt;0;0</rules>
     <startingSpikes>1</startingSpikes><delay>0</delay><spikes>1</spikes><isOutput>false</isOutput>
     <isInput>false</isInput><out>p</out><out>o</out><outWeights><p>1</p><o>1</o></outWeights></q>
  <o><id>o</id><position><x>300</x><y>0</y></position><isOutput>true</isOutput>
     <isInput>false</isInput><spikes>0</spikes><bitstring> </bitstring></o>
</content>
""",
    "cusnp": CUSNP,
}
PAIRS["factory-xml"] = PAIRS["xmp"]
#: As they are written, where that differs.
WRITTEN = {
    **PAIRS,
    "plingua": """@model<spiking_psystems>
def main()
{
  @mu = p, q;
  @ms(p) = a*2;
  @ms(q) = a;
  @marcs = (p, q), (q, p);
  @mout = q;
  [a --> a]'p "a{2}" :: 1;
  [a --> #]'p;
  [a --> a]'q;
  [a*2 --> #]'q;
}
""",
}
