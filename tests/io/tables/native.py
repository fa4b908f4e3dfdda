"""Mistakes in native JSON, of neurons and of populations."""

from tests.io.tables.mistakes import Limit, Mistakes


SYSTEM = '{"schema": "snpjax/1", "neurons":\n'
NEURONS = r"""
§7 ⇒ "neurons" is 7
[§7] ⇒ the neuron is 7
[§{}] ⇒ the neuron has no "id"
[{"id": §3}] ⇒ the id of a neuron is 3
[{"id": "x", §"color": 1}] ⇒ unknown key 'color'
[{"id": "x", §"id": "y"}] ⇒ appears twice in the neuron (remove one); first
[{"id": "x"},⏎ {"id": §"x"}] ⇒ declared twice
[{"id": "x", "spikes": §1.5}] ⇒ the number of spikes is 1.5
[{"id": "x", "spikes": §true}] ⇒ the number of spikes is true
[{"id": "x", "spikes": §NaN}] ⇒ the number of spikes is NaN
[{"id": "x", "spikes": §-1}] ⇒ starts with -1 spikes
[{"id": "x", "spikes": §⟨9*5000⟩}] ⇒ a number of 5000 digits
[{"id": "x", "rules": §"a -> a"}] ⇒ the list of rules is 'a -> a'
[{"id": "x", "rules": [§7]}] ⇒ a rule is 7
[{"id": "x", "rules": ["a§{2/a -> a"]}] ⇒ the brace opened is not closed
[{"id": "x", "rules": ["\u0061 - a§"]}] ⇒ there is no arrow
[{"id": "x", "rules": ["\u0061§b/a -> a"]}] ⇒ 'b' is not part of a guard
[{"id": "x", "rules": [{"guard": "a§b", "consume": 1}]}] ⇒ 'b' is not part
[{"id": "x", "rules": [§{"guard": "a"}]}] ⇒ the rule has no "consume"
[{"id": "x", "rules": [{"consume": §"a"}]}] ⇒ "consume" is
[{"id": "x", "rules": [{"consume": §9999999}]}] ⇒ the guard needs
[{"id": "x", "rules": [{"consume": 1, §"kind": 1}]}] ⇒ unknown key 'kind'
[{"id": "x", "rules": [{"consume": 1, "delay": §2}]}] ⇒ has no delay
[{"id": "x", "rules": [{"guard": "a", "divide": §["j"]}]}] ⇒ has 1 labels
[{"id": "x", "rules": [§{"divide": ["j", "k"]}]}] ⇒ no "guard"
[{"id": "x", "rules": ["[a]_§y -> []_j || []_k"]}] ⇒ written for neuron 'y'
[{"id": "x", "rules": ["[a] -> []_j || []§"]}] ⇒ new neuron is missing
[{"id": "x", "rules": [§"a -> +0(x, {y})"]}, {"id": "y"}] ⇒ synapses is 0
[{"id": "x", "rules": [{"consume": 1, "plasticity":⏎{"alpha": §"*", "k": 1, "targets": []}}]}] ⇒ the kind of plasticity is '*'
"""  # noqa: E501
REST = r"""
, "synapses": §{} ⇒ "synapses" is an object
, "synapses": [§["x"]] ⇒ a synapse is a list of 1
, "synapses": [["x", §"y"]] ⇒ no neuron 'y' (the only one is 'x')
, "synapses": [§["x", "x", 0]] ⇒ has weight 0
, "synapses": [["x", "x", §"1"]] ⇒ the weight of a synapse
, "synapses": [["x","x"],§["x","x"]] ⇒ first at 3:16
, "input": {§"y": [1]} ⇒ no neuron 'y'
, "input": {"x": [§1.0]} ⇒ a number of input spikes is 1.0
, "output": [§"y"] ⇒ no neuron 'y'
, "level": §"loose" ⇒ the level is 'loose'
, "signed": §0 ⇒ "signed" is 0
, "dictionary": [§["x"]] ⇒ a pair of labels has 1 items
, §"edges": [] ⇒ unknown key 'edges'
, "compatibility": §"sparse-snp" ⇒ "compatibility" is 'sparse
, "compatibility": {§"early": 1} ⇒ unknown key 'early'
, "compatibility": {"early_reopen": §"late", "repeats_emissions": true} ⇒ the option 'early_reopen' is 'late' (write null or "accumulate" or
, "compatibility": {"closed_receives": §1} ⇒ is 1 (write false or true)
, "compatibility": {"guard_modulo": §0} ⇒ an integer from 1
, "compatibility": {"guard_modulo": §true} ⇒ write an integer
, "compatibility": §{"repeats_emissions": true} ⇒ `repeats_emissions` needs `early_reopen
, "name": ⟨[*99⟩§⟨[*1000⟩ ⇒ nested more than
"""  # noqa: E501
VARIANTS = r"""
, "variant": §"exhaustive" ⇒ "variant" is 'exhaustive' (write an object
, "variant": §{"of": 1} ⇒ "variant" has no "kind"
, "variant": {"kind": §"dendrites"} ⇒ 'dendrites' (write one of anti_spikes,
, "variant": {"kind": "exhaustive", §"c": 1} ⇒ the unknown key 'c' (known: kind)
, "variant": §{"kind": "astrocytes"} ⇒ no "astrocytes"
, "variant": §{"kind": "exhaustive"}, "level": "strict" ⇒ not part of the definit
, "variant": §{"kind": "exhaustive"}, "compatibility": {"closed_receives": true} ⇒ remove the compatibility
⟨astrocytes⟩§{"threshold": 1}]} ⇒ the astrocyte has no "synapses"
⟨astrocytes⟩{"synapses": [§["x"]], "threshold": 1}]} ⇒ has 1 items (write [from
⟨astrocytes⟩{"synapses": [["x", §"z"]], "threshold": 1}]} ⇒ no neuron 'z'
⟨astrocytes⟩§{"synapses": [["y", "x"]], "threshold": 1}]} ⇒ no such synapse
⟨astrocytes⟩{"synapses": [["x", "y"]], "threshold": §-1}]} ⇒ threshold is -1
⟨astrocytes⟩§{"synapses": [], "threshold": 1}]} ⇒ controls no synapse
⟨channels⟩§{"channel": "1"}]} ⇒ the channel has no "synapses"
⟨channels⟩{"channel": §1, "synapses": []}]} ⇒ "channel" is 1
⟨channels⟩{"channel": "1", "synapses": [["x", §"z"]]}]} ⇒ no neuron 'z'
⟨channels⟩{"channel": "1", "synapses": []},⏎§{"channel": "1", "synapses": []}]} ⇒ is declared twice (write its synapses in one list); first at 4:1
⟨channels⟩§{"channel": "", "synapses": []}]} ⇒ the channel '' has no name
, "synapses": [⏎§["x", "y"]]⟨channels⟩{"channel": "1", "synapses": []}]} ⇒ (x, y) belongs to no channel
, "synapses": [⏎§["x", "y"]], "variant": {"kind": "requests"} ⇒ on request only
, "output": [⏎§"x"], "variant": {"kind": "requests"} ⇒ remove the output
⟨on synapses⟩§{"from": "x", "to": "y"}]} ⇒ the synapse has no "rules"
⟨on synapses⟩{"from": "x", "to": §"z", "rules": []}]} ⇒ no neuron 'z'
⟨on synapses⟩{"from": "x", "to": §7, "rules": []}]} ⇒ "to" is 7
⟨on synapses⟩{"from": "x", "to": "y", "rules": ["a - a§"]}]} ⇒ no arrow
⟨on synapses⟩{"from": "x", "to": "y", "rules": ["§[a] -> []_x || []_y"]}]} ⇒ this rule changes the network
⟨on synapses⟩{"from": "x", "to": null, "rules": [{"consume": 1, §"divide": ["x", "y"]}]}]} ⇒ unknown key 'divide'
⟨on synapses⟩{"from": "x", "to": null, "rules": ["a -> a",⏎{"consume": 1, "sign": §-1}]}]} ⇒ is of anti-spikes (write a)
⟨on synapses⟩{"from": "x", "to": null, "rules": []},⏎§{"from": "x", "to": null, "rules": []}]} ⇒ has rules twice (write them in one list); first at 4:1
⟨delays⟩§{"from": "x", "to": "y"}]} ⇒ the delay has no "delay"
⟨delays⟩{"from": "x", "to": "y", "delay": §-1}]} ⇒ the delay is -1
⟨delays⟩{"from": "x", "to": §"z", "delay": 1}]} ⇒ no neuron 'z'
⟨delays⟩§{"from": "y", "to": "x", "delay": 1}]} ⇒ no such synapse
⟨dendrites⟩{"neuron": §"z", "delay": 1}]} ⇒ no neuron 'z'
⟨dendrites⟩{"neuron": "y", "delay": §true}]} ⇒ the delay is true
⟨dendrites⟩{"neuron": "y", "delay": 1},⏎§{"neuron": "y", "delay": 2}]} ⇒ has two delays (remove one); first at 4:1
⟨schedules⟩§{"from": "x", "to": "y"}]} ⇒ the schedule has no "start"
⟨schedules⟩§{"from": "x", "to": "y", "start": 2, "stop": 2}]} ⇒ it stops at 2 before it starts at 2
⟨schedules⟩{"from": "x", "to": "y", "start": 1, "stop": §"2"}]} ⇒ is '2'
⟨schedules⟩{"from": "x", "to": "y", "start": 1, "reference": §"z"}]} ⇒ no neuron 'z'
"""  # noqa: E501
NAMES = {
    "astrocytes": ', "synapses": [["x", "y"]], "variant": {"kind": "astrocytes", "astrocytes": [\n',
    "channels": ', "variant": {"kind": "channels", "channels": [\n',
    "on synapses": ', "variant": {"kind": "synapse_rules", "synapses": [\n',
    **{
        name: f', "synapses": [["x", "y"]], "variant": {{"kind": "{kind}", "{key}": [\n'
        for name, kind, key in (
            ("delays", "synapse_delays", "delays"),
            ("dendrites", "dendritic_delays", "delays"),
            ("schedules", "scheduled_synapses", "schedules"),
        )
    },
}
WHOLE = r"""
{"schema": "snpjax/1", "neurons":⏎[{"id": "x", "rules": [ §"a^9(aa)*/a -> a"]}]⏎, "compatibility": {"guard_modulo": 8}} ⇒ rule 1: `guard_modulo` takes the guards
§[1] ⇒ this is a list
§{"neurons": [], "edges": []} ⇒ no "schema", only the keys 'neurons', 'edges'
{"schema": §"snpjax/2"} ⇒ the schema is 'snpjax/2' (accepted: "schema": "snpj
§{"schema": "snpjax/1"} ⇒ the model has no "neurons"
{"schema": "snpjax/1",⏎ "neurons": [§} ⇒ not well-formed JSON
{"schema": "snpjax/1", "neurons": []§ ⇒ not well-formed JSON
⟨[*100⟩§⟨[*99900⟩ ⇒ nested more than 100 deep
{"schema": "snpjax/1", "neurons": [], "notes": {"x": [{"k": 1,⏎§"k": 2}]}} ⇒ twice
{"schema": "snpjax/1", "neurons": [], "notes": {"x": [§1e999]}} ⇒ is 1e999
{"schema": "snpjax/1", "neurons":⏎[{"id": "x", "spikes": -1, "rules": ["ā -> a"]}, {"id": "y", "rules": [§7]}]⏎, "variant": {"kind": §"anti-spikes", "x": 1}} ⇒ ⇒
{"schema": "snpjax/1", "neurons":⏎[{"id": "x", "spikes": -1},⏎{"id": "y", "rules": [§{"consume": -1}, §{"consume": 1, "produce": 1, "delay": -2}]}]⏎, "synapses": [["x", "y", -3]], "variant": {"kind": §"anti-spikes"}} ⇒ ⇒ ⇒
{"schema": "snpjax/1", "neurons":⏎[{"id": "x", "spikes": §-1},⏎{"id": "y", "rules": [§{"consume": -1}, §{"consume": 1, "produce": 1, "delay": -2}]}]⏎, "synapses": [§["x", "y", -3]], "variant": {"kind": "exhaustive", §"x": 1}} ⇒ ⇒ ⇒ ⇒ ⇒
{"schema": "snpjax/1", "neurons":⏎[§{"id": "i", "rules": ["a -> a"]}]⏎, "rules_by_label": {"i": ["a^2 -> a"]}} ⇒ rules of its own
{"schema": "snpjax/1", "neurons":⏎[{"id": "n", "label": "i", "rules": ["[a]_i -> []_j || []_k"]}]⏎, "input": {§"n": [1]}, "output": [§"l", "l"]} ⇒ there is no label 'n' ( ⇒
{"schema": "snpjax/1", "neurons":⏎[{"id": "n", "label": "i", "rules": ["[a]_i -> []_j §[]_k"]}]⏎, "output": ["k"]} ⇒
"""  # noqa: E501
STRICT = r"""
[{"id": "x", "rules":⏎["a/a -> §a^2", {"guard": "a", "consume": 1, "produce": §3}]}]⏎ ⇒ ⇒
[{"id": "x"}]⏎, "synapses": [§["x", "x"]] ⇒
"""
AROUND = '{"schema": "snpjax/1", "populations":\n¤, "projections":\n\n[]\n}'
POPULATIONS = r"""
"spikes": §"1" ⇒ "spikes" is '1'
"spikes": §-1 ⇒ `spikes` is -1 in every neuron
"spikes": §[1, 2] ⇒ "spikes" is a list of 2 (write one number, or one
"spikes": [1, §true, 2] ⇒ item 2 of "spikes" is true
"spikes": [1, 2, §-3] ⇒ `spikes` is -3 in neuron p[2]
"spikes": [1, §9223372036854775808, 0] ⇒ item 2 of "spikes" does not fit 64 bits
"spikes": §4611686018427387905 ⇒ give at most 4611686018427387904
"spikes": §⟨9*200⟩ ⇒ "spikes" is a number of 200 digits
"indices": §[1, 2] ⇒ names 2 neurons
"indices": §[1, 2, 1] ⇒ two neurons are named p{1}
"indices": [[1], §[2, 3], [3]] ⇒ row 2 of "indices" has 2 numbers
"indices": [[1], §2, [3]] ⇒ row 2 of "indices" is 2
§"weight": 1 ⇒ the population has the unknown key 'weight'
"rules": §"a -> a" ⇒ the list of rules is 'a -> a'
"rules": [§7] ⇒ a rule is 7
"rules": ["a - a§"] ⇒ there is no arrow
"rules": ["a§b/a -> a"] ⇒ 'b' is not part of a guard
"rules": [§"a -> lambda; 2"] ⇒ a forgetting rule has no delay
"rules": ["a -> a", §"a -> a"] ⇒ rules 1 and 2 do the same
"rules": [§{}] ⇒ the rule has no "consume"
"rules": [{"consume": §0}] ⇒ "consume" is 0 (write an integer from 1
"rules": [{"consume": §-1}] ⇒ "consume" is -1 (write an integer from
"rules": [{"consume": §[1, 2]}] ⇒ "consume" is a list of 2
"rules": [{"guard": "a", "consume": [1, 2, §0]}] ⇒ in neuron p[2]
"rules": [{"guard": "a", "consume": §[1, -1, 1]}] ⇒ consume ALL
"rules": [{"consume": §"some"}] ⇒ "consume" is 'some'
"rules": [{"consume": 1, §"divide": []}] ⇒ unknown key 'divide'
"rules": [{"consume": 1, "produce": §-1}] ⇒ `produce` is -1 in every
"rules": [{"consume": 1, "delay": §[0, 0, 2]}] ⇒ has no delay
"rules": [{"guard": §3, "consume": 1}] ⇒ the guard is 3 (write a text
"rules": [{"guard": "§b", "consume": 1}] ⇒ the guard does not parse
"rules": [{"guard": [§3], "consume": 1}] ⇒ a term of the guard is 3
"rules": [{"guard": [§[]], "consume": 1}] ⇒ is a list of 0
"rules": [{"guard": [[§-1, 3]], "consume": 1}] ⇒ `low` is -1
"rules": [{"guard": [[1, [3, §-7, 4]]], "consume": 1}] ⇒ rule 1, term 1: `high` is -7 in neuron p[1]
"rules": [{"guard": [[1, 2, §0]], "consume": 1}] ⇒ `period` is 0
"rules": [{"guard": [[§null]], "consume": 1}] ⇒ low end is null
"rules": [{"guard": [[1, 3], §[2]], "consume": 1}] ⇒ share a count
"rules": [§{"consume": "all"}] ⇒ the rule has no "guard"
"rules": [{"guard": "a", "consume": "all", "produce": §1}] ⇒ a rule that consumes ALL forgets
"rules": [{"guard": "a+", "consume": 1, "plasticity": {"alpha": §"*", "k": 1, "targets": {"p": {"kind": "all_to_all", "self_edges": false}}}}] ⇒ the kind of plasticity is '*' (write one of +, -, +-, -+)
"rules": [{"guard": "a+", "consume": 1, "plasticity": {"alpha": ["+", "-", §7], "k": 1, "targets": {"p": {"kind": "all_to_all", "self_edges": false}}}}] ⇒ the kind of plasticity is 7
"rules": [{"guard": "a+", "consume": 1, "plasticity": {"alpha": §["+", "-"], "k": 1, "targets": {"p": {"kind": "all_to_all", "self_edges": false}}}}] ⇒ is a list of 2 (write one text, or one for each of the 3
"rules": [{"guard": "a+", "consume": 1, "plasticity": {"alpha": "+", "k": §0, "targets": {"p": {"kind": "all_to_all", "self_edges": false}}}}] ⇒ rule 1: `k` is 0 in every neuron
"rules": [{"guard": "a+", "consume": 1, "plasticity": {"alpha": "+", "k": [1, §-2, 3], "targets": {"p": {"kind": "all_to_all", "self_edges": false}}}}] ⇒ rule 1: `k` is -2 in neuron p[1]
"rules": [{"guard": "a+", "consume": 1, "plasticity": {"alpha": "+", "k": §"2", "targets": {"p": {"kind": "all_to_all", "self_edges": false}}}}] ⇒ "k" is '2'
"rules": [{"guard": "a+", "consume": 1, "plasticity": {"alpha": "+", "k": 1, "targets": §[1]}}] ⇒ "targets" is a list (write an object
"rules": [{"guard": "a+", "consume": 1, "plasticity": {"alpha": "+", "k": 1, "targets": {"p": §7}}}] ⇒ the graph is 7
"rules": [{"guard": "a+", "consume": 1, "plasticity": {"alpha": "+", "k": 1, "targets": {"q": §{"kind": "all_to_all"}}}}] ⇒ there is no such population
"rules": [{"guard": "a+", "consume": 1, "plasticity": {"alpha": "+", "k": 1, "targets": {"p": §{"kind": "all_to_all", "weight": 2}}}}] ⇒ have weight 1
"rules": [{"guard": "a+", "consume": 1, "plasticity": {"alpha": "+", "k": 1, "targets": §{"p": {"kind": "one_to_one"}}}}] ⇒ neuron p[0] hold the neuron itself
"rules": [{"guard": "a+", "consume": 1, "plasticity": {"alpha": "+", "k": 1, "targets": §{"p": {"kind": "pairs", "source": [0], "target": [1]}}}}] ⇒ p[1] has no
"rules": [{"guard": "a+", "consume": 1, "plasticity": {"alpha": "+", "k": 1, "targets": {"p": {"kind": "all_to_all", "self_edges": false}}}, §"produce": 1}] ⇒ unknown key 'produce'
"rules": [{"guard": "a+", "consume": §"all", "plasticity": {"alpha": "+", "k": 1, "targets": {"p": {"kind": "all_to_all", "self_edges": false}}}}] ⇒ plasticity consumes a number of spikes
"""  # noqa: E501
ALL_POPULATIONS = r"""
§7 ⇒ "populations" is 7
[§7] ⇒ the population is 7
[§{"size": 3}] ⇒ the population has no "name"
[§{"name": "p"}] ⇒ the population has no "size"
[{"name": §7, "size": 3}] ⇒ the name of a population is 7
[{"name": §"", "size": 3}] ⇒ the name of a population is empty
[{"name": "p", "size": §-3}] ⇒ is -3 (write an integer from 0 to 2147483647)
[{"name": "p", "size": §1e3}] ⇒ the size of a population is 1000.0
[{"name": "p", "size": 3}, §{"name": "p", "size": 3}] ⇒ two populations are named 'p'
"""
BEFORE = '{"schema": "snpjax/1", "populations":\n[{"name": "p", "size": 3}], "projections":\n\n'
GRAPHS = r"""
{"kind": §"one_to_all"} ⇒ the kind of graph is 'one_to_all' (write one of all_to_all, one_to
{"kind": "all_to_all", "weight": §"2"} ⇒ "weight" is '2'
{"kind": "all_to_all", "weight": §[2]} ⇒ "weight" is a list
{"kind": "all_to_all", §"seed": "1"} ⇒ the graph has the unknown key 'seed' (known: kind, weig
{"kind": "all_to_all", §"kind": "one_to_one"} ⇒ the key 'kind' appears twice in the graph
§{"kind": "intervals"} ⇒ the graph 'intervals' has no
§{"kind": "intervals", "start": [0, 0], "stop": [1, 1], "by": "target"} ⇒ 3
§{"kind": "intervals", "start": [0, 0, 1], "stop": [1, 1, 9], "by": "source"} ⇒ 9
{"kind": "intervals", "start": [0], "stop": [1], "by": §"both"} ⇒ "by" is 'both'
{"kind": "pairs", "source": [0, §"1"], "target": [1, 1]} ⇒ item 2 of "source"
{"kind": "random_pairs", "probability": §"0.5", "seed": 1} ⇒ (write a number from 0 to 1)
§{"kind": "intervals", "stop": [1]} ⇒ has no "start"
§{"kind": "pairs", "source": [0], "target": [3]} ⇒ Edge 0 has target 3
§{"kind": "random_in_degree", "in_degree": 4, "seed": 0} ⇒ only 3
§{"kind": "random_pairs", "probability": 0.5} ⇒ has no "seed"
§{"kind": "random_pairs", "seed": -1, "probability": 1} ⇒ is -1
§{"kind": "random_pairs", "seed": 1, "probability": 1.5} ⇒ is 1.5
§{"kind": "procedural", "seed": 1} ⇒ either `in_degree` or
§{"kind": "procedural", "seed": 4294967296, "in_degree": 1} ⇒ 2^32
§{"kind": "blocks", "weights": [[1, 1]]} ⇒ 3 targets do not form 2 equal
{"kind": "blocks", "weights": [§1]} ⇒ row 1 of "weights" is 1
"""
PROJECTIONS = r"""
§7 ⇒ "projections" is 7
[§7] ⇒ the projection is 7
[§{"to": "p"}] ⇒ the projection has no "from"
[{"from": "p", "to": §3}] ⇒ "to" of a projection is 3
[{"from": §"q", "to": "p"}] ⇒ 'q' is not a population
[{"from": "p", "to": §"p[1]"}] ⇒ 'p[1]' is not a population
[{"from": "p", "to": "p", §"weight": 3}] ⇒ unknown key 'weight'
"""
OUTER = r"""
[]⏎, §"neurons": [] ⇒ unknown key 'neurons'
[]⏎, §"notes": {} ⇒ unknown key 'notes'
[]⏎, "signed": §1 ⇒ "signed" is 1
[]⏎, "input": §[] ⇒ "input" is a list
[]⏎, "input": {§"q": [1]} ⇒ input 'q' is not a population
[]⏎, "input": {§"P": [1]} ⇒ input 'P' is not a population (did you mean 'p'?)
[]⏎, "input": {"p": §3} ⇒ an input train is 3
[]⏎, "input": {§"p": [-1]} ⇒ the input of 'p' is negative
[]⏎, "input": {§"p": [[1, 2]]} ⇒ the input of 'p' has shape (1, 2)
[]⏎, "input": {§"p[3]": [1]} ⇒ 'p[3]' is not a population
[]⏎, "output": §"p" ⇒ "output" is 'p'
[]⏎, "output": ["p", "p[0]", §"q"] ⇒ 'q' is not a population (the only one is
[]⏎, "compatibility": {§"early": 1} ⇒ unknown key 'early'
[§{"from": "p", "to": "p"}]⏎, "compatibility": {"stop_at_closed_target": true} ⇒ have no order
"""
SEVERAL = r"""
{"schema": "snpjax/1", "populations":⏎[{"name": "p", "size": 2, "spikes": [1, §"x"], "rules": ["b§", "a -> a"]}, §{"name": "q"}], "projections":⏎⏎[{"from": "q", "to": "p"}, {"from": "p", "to": "p", "graph": §{"kind": "blocks"}}]⏎, "output": ["r", "p"], "input": {"q[1]": [§true]}} ⇒ ⇒ ⇒ ⇒ ⇒
{"schema": "snpjax/1", "populations":⏎[{"name": "p", "size": 3, "rules": [{"guard": "a+", "consume": 1, "plasticity": {"alpha": "+", "k": 1, "targets": {"q": {"kind": "all_to_all"}}}}]},⏎§{"name": "q"}]} ⇒ has no "size"
"""  # noqa: E501
MISTAKES = {
    "native": [
        Mistakes(NEURONS, SYSTEM + "¤\n}"),
        Mistakes(REST, SYSTEM + '[{"id": "x"}]\n¤}'),
        Mistakes(VARIANTS, SYSTEM + '[{"id": "x"}, {"id": "y"}]\n¤}', names=NAMES),
        Mistakes(WHOLE),
        Mistakes(STRICT, SYSTEM + "¤}", level="strict"),
        Mistakes(POPULATIONS, AROUND.replace("¤", '[{"name": "p", "size": 3, ¤}]')),
        Mistakes(ALL_POPULATIONS, AROUND),
        Mistakes(GRAPHS, BEFORE + '[{"from": "p", "to": "p", "graph": ¤}]\n}'),
        Mistakes(PROJECTIONS, BEFORE + "¤\n}"),
        Mistakes(OUTER, BEFORE + "¤}"),
        Mistakes(SEVERAL),
    ]
}
LIMITS: dict[str, list[Limit]] = {}
