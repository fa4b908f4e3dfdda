"""Mistakes in the YAML of sn-p-factory."""

from tests.io.tables.mistakes import Limit, Mistakes


NEURONS = r"""
- {id: x, type: input, content: §0110} ⇒ is 0110, not quoted (write the spikes
- {id: x, type: input, content: §101} ⇒ is 101, not quoted (write the spikes
- {id: x, type: input, content: '1§,0'} ⇒ ',' in the train
- {id: x, type: regular, content: §007} ⇒ the number of spikes is 007
- {id: x, type: regular, content: §0x10} ⇒ the number of spikes is 0x10
- {id: x, type: regular, content: §1_000} ⇒ the number of spikes is 1_000
- {id: x, type: regular, content: §1.5} ⇒ the number of spikes is 1.5
- {id: x, type: regular, content: §.inf} ⇒ the number of spikes is .inf
- {id: x, type: regular, content: §-1} ⇒ starts with -1 spikes
- {id: x, type: regular, content: §⟨9*200⟩} ⇒ is 9999
- {id: §, type: output} ⇒ the id of a neuron is
- {id: §[x], type: output} ⇒ the id of a neuron is a list
- {id: x, type: §relay} ⇒ the type of a neuron is 'relay'
- {id: x, type: output, §delay: 1} ⇒ unknown key 'delay'
- {id: x, type: output, position: {x: §a, y: 0}} ⇒ "x" is a (write a number)
- §7 ⇒ the neuron is 7
- §{type: output} ⇒ the neuron has no "id"
- id: x⏎  type: regular⏎  content: 1⏎  §id: y ⇒ appears twice in the neuron
- {id: x, type: output}⏎- {id: §x, type: output} ⇒ first at 2:8
"""
RULES = r"""
- a^{2}§bc/a\to a ⇒
- 'a^{2}§bc/a\to a' ⇒
- "a^{2}§bc/a\\to a" ⇒
- "\x61^{2}§\u0062c/a\\to a" ⇒
- "\U00000061^{2}§b\x63/a\\to a" ⇒
- "a\t^{2}\x20 §b\x63/a\\to a" ⇒
- "a^{2}\⏎     §bc/a\\to a" ⇒
- "a^{2}⏎⏎     §bc/a\\to a" ⇒
- |⏎   a^{2}§bc/a\to a ⇒
- >-⏎   a^{2}⏎   §bc/a\to a ⇒
- a^{2}⏎   §bc/a\to a ⇒
- &anchor a^{2}§bc/a\to a ⇒
- '§''a^{2}/a\to a' ⇒
- 'a§''''/a\to a' ⇒
- 'a\to a;§''' ⇒
- 'a\to  §''a' ⇒
"""
WHOLE = r"""
neurons:⏎- {id: x, type: output}⏎synapses:⏎- {from: §z, to: x}⏎ ⇒ no neuron 'z'
neurons:⏎- {id: x, type: output}⏎synapses: §7⏎ ⇒ "synapses" is 7 (write a list
§- 1⏎- 2⏎ ⇒ this is a list (a WebSnapse model has
§just text⏎ ⇒ this is just text (a WebSnapse model has
§a: 1⏎ ⇒ there is no "neurons" among the keys 'a'
neurons: []⏎synapses: []⏎§x: 1⏎ ⇒ unknown key 'x'
neurons: []⏎synapses: §[1, 2⏎ ⇒ not well-formed YAML
neurons:⏎§⟨\x09⟩- x⏎ ⇒ not well-formed YAML
- a: 1⏎  §b⏎- c⏎ ⇒ not well-formed YAML
a: b§: c⏎ ⇒ not well-formed YAML
a: 1⏎ b§: 2⏎ ⇒ not well-formed YAML
a: §@x⏎ ⇒ not well-formed YAML
a: [1, §}⏎ ⇒ not well-formed YAML
a: [1, §{b: 1 ⏎⏎ ⇒ not well-formed YAML
a: §'b⏎ ⇒ not well-formed YAML
a: §"b⏎c: d⏎ ⇒ not well-formed YAML
a: "§\left[a\right]"⏎ ⇒ (in double quotes write a backslash twice: \\)
a: §⟨\x00⟩b⏎ ⇒ the character '\x00' cannot stand in YAML
a: §⟨\ufeff⟩b⏎ ⇒ cannot stand in YAML
§# nothing⏎ ⇒ there is no value, only comments
a: 1⏎§---⏎b: 2⏎ ⇒ a second document begins here
a: §!!python/object:os.system x⏎ ⇒ the tag 'tag:yaml.org,2002:python/object
a: §!x [1]⏎ ⇒ the tag '!x' is not read
§!!map {a: 1}⏎ ⇒ the tag 'tag:yaml.org,2002:map' is not read
a: §*x⏎ ⇒ the alias *x repeats nothing that is complete before it
a: §*a⏎ ⇒ the alias *a repeats nothing
&x [§*x]⏎ ⇒ the alias *x repeats nothing
? §[1, 2]⏎: 3⏎ ⇒ a list or mapping as a key
a: &x [1]⏎§*x : 3⏎ ⇒ a list or mapping as a key
⟨[*100⟩§⟨[*800⟩ ⇒ nested more than 100 deep
"""
DEEP = "a: &a [1]\n" + "".join(f"a{i}: &a{i} [*a{i - 1 if i else ''}]\n" for i in range(97))
BOMB = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 30)
)
RULE = "neurons:\n- id: x\n  type: regular\n  content: 0\n  rules:\n  ¤\nsynapses: []\n"
MISTAKES = {
    "factory-yaml": [
        Mistakes(NEURONS, "neurons:\n¤\nsynapses: []\n"),
        Mistakes(RULES, RULE),
        Mistakes(WHOLE),
        Mistakes([(DEEP + "z: [[§*a96]]\n", "nested more than 100 deep")]),
    ]
}
LIMITS = {
    "factory-yaml": [
        Limit(
            "yaml_text.MAX_VALUES",
            10,
            [("[1,1,1,1,1,1,1,1,1,§1,1,1,1,1,1]", "more than 10 values")],
        )
    ]
}
