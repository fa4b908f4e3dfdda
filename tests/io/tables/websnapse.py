"""Mistakes in WebSnapse JSON, with neurons and synapses on lines of their own."""

from tests.io.tables.mistakes import Limit, Mistakes


RULE = (
    '{"neurons": [\n{"id": "x", "type": "regular", "content": 0, "rules": ["¤"]}\n], "synapses": '
    "[\n\n]}"
)
RULES = r"""
§ ⇒ there is no arrow
a a§ ⇒ there is no arrow
a->a;0§ ⇒ there is no arrow
§\\to a;0 ⇒ a number of spikes is missing
a\\to §;0 ⇒ a number of spikes is missing
§b\\to a;0 ⇒ 'b' is not one number of spikes
a\\to §2a;0 ⇒ '2a' is not one number of spikes
§a^{+}\\to a;0 ⇒ is not one number of spikes
§a*2\\to a;0 ⇒ is not one number of spikes
a\\to a;§ ⇒ the delay is not a number of steps
a\\to a;§x ⇒ the delay is not a number of steps
a\\to a; §-1 ⇒ the delay is not a number of steps
a\\to a;§9999999999 ⇒ the delay is 'too large'
a\\to a;§⟨9*99⟩ ⇒ the delay is too large
a\\to\\lambda;§2 ⇒ a forgetting rule has no delay
§a^{0}\\to a;0 ⇒ the number of spikes consumed is 0
§a^{9999999}\\to a;0 ⇒ the guard needs
§a^{⟨9*99⟩}\\to a;0 ⇒ the number of spikes is too large
a§{2/a\\to a;0 ⇒ the brace opened is not closed
a\\left§(a/a\\to a;0 ⇒ the parenthesis opened is not closed
a§b/a\\to a;0 ⇒ 'b' is not part of a guard
§/a\\to a;0 ⇒ an expression is missing
a§\to a;0 ⇒ there is no arrow: the quotes took the backslash (write it twice: \\to)
a§\rightarrow a;0 ⇒ there is no arrow: the quotes took the backslash
a\\to§\lambda ⇒ Invalid \escape (write a backslash twice: \\)
"""
DIVISIONS = r"""
[a]\\to[]_j§ ⇒ there is no || between
[a]\\to[]_j §/ []_k ⇒ not supported: budding
[a]\\to§||[]_k ⇒ there is no empty bracket
[a]\\to[§a]_j||[]_k ⇒ is not empty
[a]\\to[§]||[]_k ⇒ the new neuron has no label
[a]\\to[]_{§}||[]_k ⇒ the label is empty
[a]\\to[]_§{j||[]_k ⇒ the brace opened here
[a]\\to[]_§||[]_k ⇒ a label is missing
[a]\\to[]_j||[]_k§;1 ⇒ ';1' follows the rule
[a]§x ⇒ 'x' follows the rule
§[a\\to a ⇒ the bracket opened here is not closed
\\left[a§b\\right]\\to[]_j||[]_k ⇒ 'b' is not part of a guard
[a\\to a]_§j ⇒ the rule of label 'j' stands in the list of neuron 'i'
"""
STRICT = r"""
a§b/a\\to §a^{2};0 ⇒ 'b' is not part of a guard ⇒ produces 2 but consumes 1
"""
NAMES = {
    "empty": '"type": "regular", "content": 0, "rules": []',
    "regular": '"type": "regular", "content": 0,',
    "divides": r'"\\left[a^{2}\\right]\\to\\left[\\ \\right]_{j}\\ ||\\ \\left[\\ \\right]_{k}"',
    "end": '\n], "synapses": [\n\n]',
    "synapses": '\n], "synapses": [\n',
}
NEURONS = r"""
§7⟨end⟩ ⇒ the neuron is 7
§{"type": "output"}⟨end⟩ ⇒ the neuron has no "id"
§{"id": "x"}⟨end⟩ ⇒ the neuron has no "type"
§{"id": "x", "type": "regular"}⟨end⟩ ⇒ the neuron has no "content"
§{"id": "x", "type": "input"}⟨end⟩ ⇒ the input neuron has no "content"
{"id": §1, "type": "output"}⟨end⟩ ⇒ the id of a neuron is 1
{"id": "x", "type": §"relay"}⟨end⟩ ⇒ the type of a neuron is 'relay'
{"id": "x", "type": "output", §"delay": 1}⟨end⟩ ⇒ unknown key 'delay'
{"id": "x", "type": "regular", "content": §-1, "rules": []}⟨end⟩ ⇒ starts with -1 spikes
{"id": "x", "type": "regular", "content": §"a", "rules": []}⟨end⟩ ⇒ the number of spikes is 'a'
{"id": "x", "type": "regular", "content": §"", "rules": []}⟨end⟩ ⇒ the number of spikes is ''
{"id": "x", "type": "regular", "content": §"⟨9*50⟩", "rules": []}⟨end⟩ ⇒ the number of spikes is '999
{"id": "x", "type": "regular", "content": §1.5, "rules": []}⟨end⟩ ⇒ the number of spikes is 1.5
{"id": "x", "type": "regular", "content": §1e300, "rules": []}⟨end⟩ ⇒ the number of spikes is 1e+300
{"id": "x", "type": "regular", "content": §true, "rules": []}⟨end⟩ ⇒ the number of spikes is true
{"id": "x", "type": "regular", "content": §null, "rules": []}⟨end⟩ ⇒ the number of spikes is null
{"id": "x", ⟨empty⟩, "position": §[1, 2]}⟨end⟩ ⇒ "position" is a list
{"id": "x", ⟨empty⟩, "position": {"x": §"1", "y": 0}}⟨end⟩ ⇒ "x" is '1' (write a number)
{"id": "x", ⟨regular⟩ "rules": [§7]}⟨end⟩ ⇒ a rule is 7
{"id": "x", ⟨regular⟩ "rules": §"a"}⟨end⟩ ⇒ the list of rules is 'a'
{"id": "in", "type": "input", "content": §110}⟨end⟩ ⇒ the train of an input neuron is 110, not quoted
{"id": "in", "type": "input", "content": "0§ 1"}⟨end⟩ ⇒ ' ' in the train of an input neuron
{"id": "in", "type": "input", "content": "1§,0"}⟨end⟩ ⇒ ',' in the train of an input neuron
{"id": "in", "type": "input", "content": [1, §-1]}⟨end⟩ ⇒ a number of input spikes is -1
{"id": "in", "type": "input", "content": [1, §"x"]}⟨end⟩ ⇒ a number of input spikes is 'x'
{"id": "x", ⟨empty⟩},⏎{"id": §"x", ⟨empty⟩}⟨end⟩ ⇒ 'x' is declared twice (give each neuron its own name); first
{"id": "x", ⟨empty⟩}⟨synapses⟩{"from": "x", "to": "x", §"label": 1}⏎] ⇒ unknown key 'label'
{"id": "x", ⟨empty⟩}⟨synapses⟩{"from": "x", "to": §1}⏎] ⇒ "to" of a synapse is 1
{"id": "x", ⟨empty⟩}⟨synapses⟩{"from": "x", "to": §"y", "weight": 1}⏎] ⇒ there is no neuron 'y' (the only one is 'x')
{"id": "x", ⟨empty⟩}⟨synapses⟩{"from": "x", "to": "x", "weight": §0}⏎] ⇒ has weight 0
{"id": "x", ⟨empty⟩}⟨synapses⟩{"from": "x", "to": "x", "weight": §1.5}⏎] ⇒ the weight of a synapse is 1.5
{"id": "x", ⟨empty⟩}⟨synapses⟩{"from": "x", "to": "x", "weight": §-1}⏎] ⇒ has the negative weight -1
{"id": "x", ⟨empty⟩},⏎{"id": "in", "type": "input", "content": "1"}⟨synapses⟩{"from": "x", "to": §"in", "weight": 1}⏎] ⇒ enters the input node 'in'
{"id": "x", ⟨empty⟩},⏎{"id": "out", "type": "output", "content": ""}⟨synapses⟩{"from": §"out", "to": "x", "weight": 1}⏎] ⇒ leaves the output node 'out'
{"id": "i", ⟨empty⟩}⟨end⟩,⏎"rule_dict": [§"a\\to a"] ⇒ does not name its neuron
{"id": "i", ⟨empty⟩}⟨end⟩,⏎"rule_dict": ["[a\\to a]_§z"] ⇒ no neuron 'z' (the only one is 'i')
{"id": "i", ⟨empty⟩}⟨end⟩,⏎"rule_dict": §{} ⇒ "rule_dict" is an object
{"id": "i", ⟨regular⟩ "rules": [⟨divides⟩]}⟨synapses⟩{"from": "j", "to": §"z", "weight": 1}⏎] ⇒ no neuron 'z'
{"id": "i", ⟨regular⟩ "rules": [⟨divides⟩]}⟨synapses⟩{"from": "j", "to": "k", "weight": §2}⏎] ⇒ has weight 2
{"id": "i", ⟨regular⟩ "rules": [⟨divides⟩]},⏎{"id": "o", "type": "output"}⟨synapses⟩{"from": §"j", "to": "o", "weight": 1}⏎] ⇒ no neuron has the label 'j' from the
{"id": "i", ⟨regular⟩ "rules": ["\\left[a^{2}\\right]\\to\\left[\\ \\right]_{§o}\\ ||\\ \\left[\\ \\right]_{k}"]},⏎{"id": "o", "type": "output"}⟨end⟩ ⇒ the new neuron has the label of the output neuron 'o'
{"id": "i", ⟨regular⟩ "rules": [⟨divides⟩]},⏎{"id": "o", "type": "output"}⟨end⟩,⏎"rule_dict": ["[a\\to a]_§o"] ⇒ output neuron 'o' has rules
{"id": "i", ⟨regular⟩ "rules": [⟨divides⟩]},⏎{"id": "x_1", ⟨empty⟩},⏎{"id": §"x_{1}", ⟨empty⟩}⟨end⟩ ⇒ 'x_1' is the same label (give each neuron its own name); first at 3:8
{"id": "in", "type": "input", "content": "1", "rules": §["a\\to a"]}⟨end⟩ ⇒ input neuron 'in' has rules
{"id": "out", "type": "output", "content": "", "rules": §["a\\to a"]}⟨end⟩ ⇒ output neuron 'out' has rules
{"id": "x", ⟨empty⟩}⟨synapses⟩§{"from": "x"}⏎] ⇒ the synapse has no "to"
{"id": "x", ⟨empty⟩}⟨synapses⟩§7⏎] ⇒ the synapse is 7
{"id": "x", ⟨empty⟩}⟨synapses⟩{"from": "x", "to": "x"},⏎§{"from": "x", "to": "x"}⏎] ⇒ is listed twice (write one synapse with a
{"id": "i", ⟨regular⟩ "rules": [⟨divides⟩]}⟨synapses⟩{"from": "j", "to": "k"},⏎§{"from": "j", "to": "k"}⏎] ⇒ twice (remove one); first at 4:1
{"id": "x", ⟨regular⟩ "rules": ["§⟨a^11*100000⟩"]}⟨end⟩ ⇒ the rule has more than 100000 characters
§{"type": "regular"}⟨synapses⟩{"from": "x", "to": "y", "weight": 1}⏎] ⇒ the neuron has no "id"
{"id": "p", §"id": "r", ⟨empty⟩}⟨end⟩ ⇒ ^the key 'id' appears twice in the neuron (remove one); first at 2:2
{"id": "x", "type": "regular", "content": §"two", "rules": ["§b\\to a;0", "a\\to §c;0"]},⏎{"id": "y", "type": "regular", "content": §-1, "rules": ["a\\to\\lambda;§1"]}⟨synapses⟩{"from": "x", "to": §"z"},⏎{"from": "y", "to": "y", "weight": §0}⏎] ⇒ the number of spikes is 'two' ⇒ 'b' is not ⇒ 'c' is not ⇒ starts with -1 spikes ⇒ has no delay ⇒ there is no neuron 'z' ⇒ has weight 0
"""  # noqa: E501
STRICT_NEURONS = r"""
{"id": "x", ⟨regular⟩ "rules": ["(a^{9973})^{*}/a\\to a", "(a^{1009})^{*}/a\\to a", "a\\to\\lambda", §"a^{1009}\\to\\lambda"]}⟨end⟩ ⇒ forgets 1009
{"id": "x", ⟨regular⟩ "rules": ["a\\to §a^{2};0"]},⏎{"id": "y", ⟨empty⟩}⟨synapses⟩§{"from": "x", "to": "x"},⏎{"from": "x", "to": "y", "weight": §2}⏎] ⇒ produces 2 ⇒ leads to its own ⇒ has weight 2
"""  # noqa: E501
WARNINGS = r"""
{"id": "x", ⟨regular⟩ "rules": ["a§^12/a\\to a;0", §"a^12/a\\to a;0", "a^2/a\\to a;0"]}⟨end⟩ ⇒ '^12' is read as 12 spikes, but WebSnapse Reloaded takes the first digit only ⇒ repeats
{"id": "x", ⟨regular⟩ "rules": ["(a|aa)a§|a^{5}\\cup a/a\\to a;0"]}⟨end⟩ ⇒ put it in parentheses
{"id": "x", ⟨empty⟩},⏎{"id": "out", "type": "output"}⟨synapses⟩{"from": "x", "to": "out", "weight": §3}⏎] ⇒ has weight 3, but an output lists
{"id": "x", ⟨empty⟩},⏎{"id": "in", "type": "input", "content": "120"},⏎{"id": "out", "type": "output"}⟨synapses⟩§{"from": "in", "to": "out", "weight": 3},⏎{"from": "in", "to": "x"}⏎] ⇒ kept only in notes["direct"]
{"id": "i", ⟨empty⟩},⏎{"id": "j", ⟨regular⟩ "rules": ["a\\to a"]}⟨end⟩, "rule_dict": [§"\\left[a\\to\\lambda\\right]_{i,j}", "\\left[a\\to a\\right]_{j}"] ⇒ neuron 'j' has this rule too, although its own list lacks it
"""  # noqa: E501
WHOLE = r"""
§[1] ⇒ this is a list (a WebSnapse model has
§{"schema": "snpjax/1"} ⇒ there is no "neurons" among the keys 'schema'
§{"neurons": []} ⇒ there is no "synapses"
{"neurons": [], §"nodes": [], "synapses": []} ⇒ both "neurons" and "nodes"
{"neurons": [], §"edges": [], "synapses": []} ⇒ both "synapses" and "edges"
{"neurons": §1, "synapses": []} ⇒ "neurons" is 1 (write a list
{"neurons": [], "synapses": [], §"x": 1} ⇒ unknown key 'x'
{"neurons": [],⏎ "synapses": [§} ⇒ not well-formed JSON
{"neurons": []§ ⇒ not well-formed JSON
⟨[*100⟩§⟨[*99900⟩ ⇒ nested more than 100 deep
{"neurons": [], "synapses": [], "expected": [§NaN]} ⇒ a note is NaN
{"neurons": [], "synapses": [], "expected": §1e999} ⇒ a note is 1e999
{"neurons": [], "synapses": [], "expected": ⟨[*99⟩§⟨[*101⟩⟨]*200⟩} ⇒ nested more than 100
§{"C": [1], "VL": [1], "F": [[1]], "L": [[1]], "T": [[4, 4]], "syn": [], "envSyn": 1} ⇒ ^this is a numerical SN P system (NSNP)
§{"NSNP": {"neurons": [], "syn": []}, "branch": null} ⇒ ^this is a numerical SN P system (NSNP)
"""  # noqa: E501
MISTAKES = {
    "websnapse": [
        Mistakes(RULES, RULE),
        Mistakes(DIVISIONS, RULE.replace('"x"', '"i"')),
        Mistakes(STRICT, RULE, level="strict"),
        Mistakes(NEURONS, '{"neurons": [\n¤}', names=NAMES),
        Mistakes(STRICT_NEURONS, '{"neurons": [\n¤}', level="strict", names=NAMES),
        Mistakes(WARNINGS, '{"neurons": [\n¤}', of="warnings", names=NAMES),
        Mistakes(WHOLE),
    ]
}
TRAINS = """{"neurons": [{"id": "in", "type": "input", "content": "111"},
{"id": "b", "type": "input", "content": §"111"}], "synapses": []}"""
LIMITS = {
    "websnapse": [Limit("websnapse.values.MAX_INPUT_ENTRIES", 5, [(TRAINS, "more than 5 entries")])]
}
