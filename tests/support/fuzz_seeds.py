"""Small files of every format, from which mutations start; each reads."""

PLINGUA = [
    """!firing { [a --> b]'h; }
@model(transition) = firing;
@model(spiking_psystems) = firing, other;
@model<spiking_psystems>
def main() { @mu = x; @ms(x) = a; [a --> a]'x; }
""",
    """@model<spiking_psystems>
/* a ring of n relays; every second one is heard */
let half = 4//2;
def main()
{
  call ring(4, "a+");
  @mout = tap;
  @min = tap;
  @minst = (1,2), (3,1);
}
def ring(n, guard)
{
  let m = (n-2)*1;
  @mu = relay{k} : 1<=k<=n;
  @mu += tap;
  @ms(relay{1}) = a*m;
  @marcs = (relay{k}, relay{k+1}) : 1<=k<n;
  @marcs += (relay{n}, relay{1});
  @marcs += (relay{2*k}, tap) : 1<=k<=half;
  [a --> a]'relay{k} "a(aa)*" :: k-1 : 1<=k<=n, k<>2;
  [a*2 --> a]'relay{2};
  { [a*s --> #]'tap; } : 2<=s<=2^2;
  [a --> a]'tap guard;
}
""",
    """@model<spiking_psystems>
def main()
{
  @mu = src, cell, sink;
  @ms(src) = a*4;  @ms(cell) += a*2;
  @marcs = (src,cell), (cell,sink);
  @mdict = (right,sink);
  []'cell --> []'left || []'right "a{2}";
  []'left --> []'left / []'tail "a{2}";
  [a --> a]'src "a+";
  [a --> a]'right "a+" :: 1;
}
""",
]

ESNP = [
    """name: pair
@mu = p, q
@ms(p) = a*2
@ms(q) = a
@marcs = (p,q)
@marcs = (q,p)
@min = p
@mout = q
[a --> a]'p "a*2" :: 1
[a --> #]'p
[a --> a]'q
[a*2 --> #]'q
"""
]

_WEBSNAPSE_NODES = r"""{"neurons": [
 {"id": "p", "type": "regular", "position": {"x": 0, "y": 0.5}, "content": 2,
  "rules": ["a^{2}/a\\to a;1", "a\\to\\lambda"]},
 {"id": "Cx_{11}", "type": "regular", "position": {"x": 150, "y": 0}, "content": "1",
  "rules": ["a(aa)^{*}/a\\to a;0", "\\left(a^{2}\\cup a^4\\right)/a^{2}\\to\\lambda"]},
 {"id": "in", "type": "input", "position": {"x": 9, "y": 9}, "content": "1021"},
 {"id": "out", "type": "output", "position": {"x": 300, "y": 0}, "content": ""}],
"synapses": [{"from": "p", "to": "Cx_{11}", "weight": 2}, {"from": "Cx_11", "to": "p", "weight": 1},
 {"from": "in", "to": "p", "weight": 1}, {"from": "p", "to": "out", "weight": 1}]}
"""
WEBSNAPSE = [
    _WEBSNAPSE_NODES,
    r"""{"neurons": [{"id": "i", "type": "regular", "content": 1,
 "rules": ["\\left[a\\right]\\to\\left[\\ \\right]_{j}\\ ||\\ \\left[\\ \\right]_{k}"]}],
"synapses": [], "rule_dict": ["\\left[a\\to a\\right]_{j}"]}
""",
]

XMP = [
    """<content>
  <p><id>p</id><position><x>0</x><y>0</y></position><rules>2a/a-&gt;a;1 a/a-&gt;0;0</rules>
    <startingSpikes>2</startingSpikes><delay>0</delay><spikes>2</spikes><isOutput>false</isOutput>
    <isInput>false</isInput><out>q</out><outWeights><q>2</q></outWeights></p>
  <q><id>q</id><rules>a/a-&gt;a;0 3a(2a)*/2a-&gt;0;0</rules><startingSpikes>1</startingSpikes>
    <isOutput>false</isOutput><isInput>false</isInput><out>p</out><out>o</out></q>
  <b><id>b</id><isInput>true</isInput><bitstring>1,0,2</bitstring><out>p</out></b>
  <o><id>o</id><isOutput>true</isOutput><spikes>0</spikes><bitstring></bitstring></o>
</content>
"""
]

FACTORY_XML = [
    text.replace("<spikes>2</spikes>", "").replace("startingSpikes", "spikes") for text in XMP
]

FACTORY_YAML = [
    r"""neurons:
- {id: p, type: regular, position: {x: 0, y: 0}, content: 2, rules: ['a^{2}/a\to a;1']}
- id: q
  type: regular
  position: {x: 150, y: 0}
  content: 1
  rules:
  - a\to a;0
  - a^{2}\to\lambda
- {id: in, type: input, position: {x: 9, y: 0}, content: '101'}
- {id: out, type: output, position: {x: 300, y: 0}, content: ''}
synapses:
- {from: p, to: q, weight: 1}
- {from: in, to: p, weight: 1}
- {from: q, to: out, weight: 1}
"""
]

CUSNP = [
    """2
4
10
2 1
1 1
1 0
0 a2 1 1 1
0 a1 1 0 0
1 a* 1 1 0
1 a2 2 0 0
"""
]

NATIVE = [
    """{"schema": "snpjax/1", "name": "pair", "level": "extended", "signed": false,
"neurons": [{"id": "p", "spikes": 2, "rules": ["a^2/a -> a; 1", "a -> lambda"]},
 {"id": "q", "label": "l", "rules": [{"guard": "a+", "consume": 1, "produce": 2}]},
 {"id": "r", "rules": [{"guard": "a", "divide": ["l", "m"]}, {"guard": "aa", "bud": ["r", "l"]}]}],
"synapses": [["p", "q", 2], ["q", "r"]], "input": {"p": [1, 0, 2]}, "output": ["l"],
"rules_by_label": {"m": ["a -> a"]}, "dictionary": [["l", "m"]], "notes": {"x": [1.5, null]}}
""",
    """{"schema": "snpjax/1", "neurons": [{"id": "x"}, {"id": "y", "rules":
[{"consume": 1, "plasticity": {"alpha": "+-", "k": 1, "targets": ["x"]}}]}]}
""",
    """{"schema": "snpjax/1", "neurons": [{"id": "x"}, {"id": "y"}], "variant": {"kind":
"synapse_rules", "synapses": [{"from": "x", "to": "y", "rules": ["a -> a", {"guard": "a+",
"consume": 1, "sign": 1}]}, {"from": "y", "to": null, "rules": []}]}}
""",
    """{"schema": "snpjax/1", "neurons": [{"id": "x"}], "synapses": [["x", "x"]], "variant":
{"kind": "astrocytes", "astrocytes": [{"synapses": [["x", "x"]], "threshold": 0}]}}
""",
    """{"schema": "snpjax/1", "signed": true, "populations": [
{"name": "p", "size": 3, "spikes": [3, -1, 2], "indices": [[1, 2], [3, 4], [5, 6]], "rules": [
 "a(aa)+/a -> a; 1", {"guard": [[1, [2, 1, 0]], [[7, 8, 9], null, 2]], "consume": "all"},
 {"guard": [[[3, 4, 5]]], "consume": [1, 2, 3], "produce": [1, 2, 1], "delay": 2}]},
{"name": "q", "size": 4}], "projections": [{"from": "p", "to": "q"},
 {"from": "p", "to": "p", "graph": {"kind": "one_to_one", "weight": -2}},
 {"from": "p", "to": "q", "graph": {"kind": "intervals", "start": [0, 1, 2], "stop": [4, 1, 3]}},
 {"from": "q", "to": "p", "graph": {"kind": "pairs", "source": [0, 3], "target": [1, 2]}},
 {"from": "q", "to": "q", "graph": {"kind": "random_in_degree", "in_degree": 2, "seed": 5}},
 {"from": "q", "to": "p", "graph": {"kind": "random_pairs", "probability": 0.5, "seed": 5}},
 {"from": "p", "to": "q", "graph": {"kind": "procedural", "in_degree": 1, "seed": 5}},
 {"from": "q", "to": "q", "graph": {"kind": "blocks", "weights": [[1, 0], [-2, 3]]}}],
"input": {"p{1,2}": [1, 0], "q": [[1, 2, 3, 4]]}, "output": ["p{3,4}", "q"]}
""",
]

SEEDS = {
    "plingua": PLINGUA,
    "esnp": ESNP,
    "websnapse": WEBSNAPSE,
    "xmp": XMP,
    "factory-xml": FACTORY_XML,
    "factory-yaml": FACTORY_YAML,
    "cusnp": CUSNP,
    "native": NATIVE,
}
