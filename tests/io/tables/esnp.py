"""Mistakes in files of the ESNP line dialect."""

from tests.io.tables.mistakes import Limit, Mistakes
from tests.io.tables.pairs import PAIRS


PAIR = PAIRS["esnp"]

LINES = r"""
§def main() ⇒ ^not supported: modules;
§call ring(4); ⇒ ^not supported: modules;
§let n = 4; ⇒ ^not supported: variables;
§/* a comment */ ⇒ ^not supported: comments;
@ms(x) = a §// a comment ⇒ ^not supported: comments;
§{ ⇒ ^not supported: indexed labels and blocks;
§} ⇒ ^not supported: blocks;
@mu = in§{1} ⇒ ^not supported: indexed labels and blocks;
@ms(x) = a §: 1<=i<=3 ⇒ ^not supported: ranges;
[a --> a]'x :: 2 §: 1<=i<=3 ⇒ ^not supported: ranges;
[a*§n --> a]'x ⇒ ^not supported: variables;
[a*§(2+1) --> a]'x ⇒ ^not supported: expressions;
§[]'x --> []'y || []'x ⇒ ^not supported: division and budding;
§@minst = (1,2) ⇒ ^not supported: input spikes (@minst; in the ESNP dialect tr
§@mdict = (x,y) ⇒ ^not supported: the synapse dictionary;
§@masth = x ⇒ ^not supported: astrocytes;
[a --> a]'x "§a+" ⇒ ^"a+" is not a count: this file has no @model, so it is read in the ESNP line dialect
[a --> a]'x "§a{3}" ⇒ ^"a{3}" is not a count: this file has no @model, so it is read in the ESNP line dialect
§@foo = x ⇒ ^unknown keyword @foo (did you mean @mout
@mu §x ⇒ ^expected '=', not 'x'
@mu =§ ⇒ ^expected a label, but the line ends
@mu = §é ⇒ ^expected a label, not 'é'
@ms(x) = §3 ⇒ ^expected spikes (a, a*2), not '3'
@ms(x) = §a3 ⇒ ^expected spikes (a, a*2), not 'a3' (write a*3)
@ms(x) = a*§-3 ⇒ ^expected a number of spikes, not '-'
@ms(x) = a*§⟨9*101⟩ ⇒ ^this is a number of 101 digits
@ms(x) = §_a ⇒ ^not supported: anti-spikes (_a)
@marcs = §x, y ⇒ ^expected '(', not 'x'
@marcs = (x,y§ ⇒ ^expected ')', but the line ends
[§2a --> a]'x ⇒ ^expected spikes (a, a*2), not '2a'
[§aa --> a]'x ⇒ ^expected spikes (a, a*2), not 'aa' (write a*2)
[a§^2 --> a]'x ⇒ ^expected '-->', not '^' (spikes are written a*2)
[a§{2} --> a]'x ⇒ ^expected '-->', not '{' (spikes are written a*2)
[a §-> a]'x ⇒ ^expected '-->', not '->' (the arrow is written -->)
[a --> §lambda]'x ⇒ ^expected spikes (a, a*2) or '#', not 'lambda' (write #
[a --> a]§x ⇒ ^expected ' and a label, not 'x'
[a --> a]'x §"a*3 ⇒ ^expected a count in quotes that end in this line
[a --> a]'x ::§ ⇒ ^expected a delay, but the line ends
[a --> a]'x :: §-1 ⇒ ^expected a delay, not '-'
[a --> a]'x §[a --> a]'y ⇒ ^this is a second statement (write one a line)
@ms(x) = a; §@ms(y) = a ⇒ ^this is a second statement (write one a line)
@mout = x §y ⇒ ^expected the end of the line, not 'y'
§hello ⇒ ^expected a statement (@mu, @ms, @marcs, @min, @mout or a rule), not
§late: header ⇒ ^expected a statement
@marcs = (x,§zz) ⇒ ^synapse (x, zz): there is no neuron 'zz' (did you mean 'z'
@ms(§zz) = a ⇒ ^contents: there is no neuron 'zz'
@min = x, §zz ⇒ ^input: there is no neuron 'zz'
@mout = §zz ⇒ ^output: there is no neuron 'zz'
  [a --> a] ' §zz ⇒ ^rule: there is no neuron 'zz'
@mu = k, §x ⇒ ^neuron 'x' is declared twice (give each neuron its own
@marcs = (x,y), §(x,y) ⇒ ^synapse (x, y) is listed twice (remove one)
[§a*0 --> a]'x ⇒ ^neuron 'x', rule 1: the number of spikes consumed is 0
[a --> #]'x :: §2 ⇒ ^neuron 'x', rule 1: a forgetting rule has no delay
[§a*9999999 --> a]'x ⇒ ^the guard needs a tail + period above the limit
[§a*9999999 --> a]'x⏎[§a*9999999 --> a]'x ⇒ ⇒ ^the guard needs a tail
"""  # noqa: E501
STRICT = r"""
[a --> §a*2]'x ⇒ ^neuron 'x', rule 1 produces 2 but consumes 1
@marcs = §(x,x) ⇒ ^synapse (x, x) leads to its own neuron
§[a --> #]'x "a*2" ⇒ ^neuron 'x', rule 1: the guard a{2} of a forgetting rule
"""
WHOLE = r"""
@mu = x, y§{1}⏎@ms(y) = a⏎@marcs = (x, z)⏎ ⇒ not supported: indexed labels
@mu = x, y⏎@mu += §x⏎ ⇒ ; first at 1:7
@mu = x⏎⟨[a --> a]'y⏎*5⟩@mout = §y⏎ ⇒ output: there is no neuron 'y'
"""
SEVERAL = (
    PAIR.replace("a*2\n", "§a2\n", 1).replace(",p)", ",§r)").replace('"a*2"', '"§a+"'),
    *("^expected spikes", "there is no neuron 'r'", "is not a count"),
)
REPEATED = (
    PAIR.replace("[a --> #]'p", '§[a --> a]\'p "a*2" :: 1'),
    "rule 2 repeats a^2/a -> a; 1 (",
)
MISTAKES = {
    "esnp": [
        Mistakes(LINES, "@mu = x, y, z\n¤\n"),
        Mistakes(STRICT, "@mu = x\n¤", level="strict"),
        Mistakes(WHOLE),
        Mistakes([SEVERAL]),
        Mistakes([REPEATED], of="warnings"),
    ]
}
MEMORY = (
    PAIR.replace("(q,p", "§(q,p"),
    "^there are 2 neurons and 2 synapses up to here, and memory",
)
KINDS = (PAIR.replace("[a*2", "§[a*2"), "^from here on there are more than 3 different")
LIMITS = {
    "esnp": [
        Limit("esnp.most_listed", lambda: 5, [MEMORY]),
        Limit("rule_lines.MAX_KINDS", 3, [KINDS]),
    ]
}
