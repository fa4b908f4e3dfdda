"""Mistakes in cuSNP files."""

from tests.io.tables.mistakes import Limit, Mistakes, line_of


PAIR = """2
4
10
2 1
1 1
1 0
0 a2 1 1 1
0 a1 1 0 0
1 a1 1 1 0
1 a2 2 0 0
"""


changed = line_of(PAIR)

WHOLE = r"""
§two⏎ ⇒ ^the number of neurons is 'two' (write an integer in digits)
§-2⏎ ⇒ ^the number of neurons is '-2' (write 0 or more)
2 §4⏎ ⇒ ^there is text after the number of neurons
2§ ⇒ ^the number of rules is missing
2⏎4§⏎ ⇒ ^the number of steps is missing
2⏎4⏎10§⏎⏎ ⇒ ^the initial spikes are missing (write 2, or correct
2⏎4⏎10⏎2 1⏎1 1⏎1 0⏎§0 2 1 1 1⏎0 a1 1 0 0⏎1 a1 1 1 0⏎1 a2 2 0 0§⏎ ⇒ ^there are more lines of synapses than neurons ⇒
2⏎4⏎10⏎2 1⏎1 1⏎1 0⏎0 a2 1 1 1⏎0 a1 1 0 0⏎1 a1 1 1 0⏎1 a2 2 0 0⏎§0 a3 1 1 0⏎ ⇒ ^there is text after the last rule (remove it, or correct
2⏎3⏎10⏎2 1⏎1 1⏎1 0⏎0 a2 1 1 1⏎0 a1 1 0 0⏎1 a1 1 1 0⏎§1 a2 2 0 0⏎ ⇒ ^there is text after the last rule
2⏎5⏎10⏎2 1⏎1 1⏎1 0⏎0 a2 1 1 1⏎0 a1 1 0 0⏎1 a1 1 1 0⏎1 a2 2 0 0§⏎ ⇒ ^there are 4 rules (write 5, or correct the number
2⏎4⏎10⏎2 1⏎1 1⏎§0 a2 1 1 1⏎0 a1 1 0 0⏎1 a1 1 1 0⏎1 a2 2 0 0⏎ ⇒ ^the synapses of neuron 1 are missing
2⏎4⏎10⏎2 1⏎1 1⏎1 0⏎§1 0⏎0 a2 1 1 1⏎0 a1 1 0 0⏎1 a1 1 1 0⏎1 a2 2 0 0⏎ ⇒ ^there are more lines of synapses
2⏎4⏎10⏎2 1§ ⇒ ^the synapses of neuron 0 are missing
"""  # noqa: E501
LINES = r"""
1: §⟨9*101⟩ ⇒ ^the number of neurons is a number of 101 digits
1: §1_0 ⇒ ^the number of neurons is '1_0'
1: §1000000000 ⇒ ^there are 1,000,000,000 neurons in a file of
4: 2§ ⇒ ^there are only 1 initial spikes (write 2, or correct the
4: 2 1 §0 ⇒ ^there are more initial spikes than neurons
4: 2 §-1 ⇒ ^the spikes of neuron 1 is '-1' (write 0 or more)
4: 2 §1.5 ⇒ ^the spikes of neuron 1 is '1.5' (write an integer
4: 2 §١ ⇒ ^the spikes of neuron 1 is
5: §2 1 ⇒ ^the out-degree of neuron 0 is 2, but 1 target follows
5: §0 1 ⇒ ^the out-degree of neuron 0 is 0, but 1 target follows
5: 1 §2 ⇒ ^there is no neuron 2 (they are numbered 0 to 1)
5: 1 §-1 ⇒ ^a target of neuron 0 is '-1'
5: 2 1 §1 ⇒ ^synapse (0, 1) is listed twice (remove one)
7: 0 §a+ 1 1 1 ⇒ ^unknown guard 'a+' (write a*: a rule also needs
7: 0 §a 1 1 1 ⇒ ^unknown guard 'a' (write a1 for exactly 1)
7: 0 §a(aa)* 1 1 1 ⇒ ^unknown guard 'a(aa)*' (write a* for any count
8: 0 §2 1 1 1 ⇒ ^unknown guard '2'
7: 0 a§9999999 1 1 1 ⇒ ^the guard needs a tail + period above the limit
7: §2 a2 1 1 1 ⇒ ^there is no neuron 2 (they are numbered 0 to 1)
7: §x a2 1 1 1 ⇒ ^the neuron of a rule is 'x'
7: 0 a2 §x 1 1 ⇒ ^the number of spikes consumed is 'x'
7: 0 a2 1 §-1 1 ⇒ ^the number of spikes produced is '-1' (write 0 or
7: 0 a2 1 1 §0.5 ⇒ ^the delay is '0.5'
7: §0 a2 0 1 0 ⇒ ^neuron '0', rule 1: the number of spikes consumed is 0
7: §0 a2 1 1 ⇒ ^expected a rule (write five words: neuron guard consume
7: 0 a2 1 1 1 §1 ⇒ ^there is text after the rule: expected a rule
8: 0 a1 1 0 §2 ⇒ ^neuron '0', rule 2: a forgetting rule has no delay
5: 3 1 0 §1 ⇒ ; first at 5:3
"""
STRICT = r"""
9: 1 a1 1 §2 0 ⇒ ^neuron '1', rule 1 produces 2 but consumes 1
10: 1 §a3 2 0 0 ⇒ ^neuron '1', rule 2: the guard a{3} of a forgetting rule
10: 1 a1 §1 0 0 ⇒ ^neuron '1', rule 2 forgets 1 spikes, at which a firing rule
5: 2 1 §0 ⇒ ^synapse (0, 0) leads to its own neuron
"""
WARNINGS = r"""
8: §0 a2 1 1 1 ⇒ neuron '0', rule 2 repeats a^2/a -> a; 1 (remove one; it counts once); first at 7:1
9: 1 §a1 2 1 0 ⇒ can never apply
"""

MISTAKES = {
    "cusnp": [
        Mistakes(WHOLE),
        Mistakes(LINES, changed),
        Mistakes(STRICT, changed, level="strict"),
        Mistakes(WARNINGS, changed, of="warnings"),
    ]
}
LIMITS = {
    "cusnp": [
        Limit(
            "cusnp.most_listed",
            lambda: 5,
            [
                (changed("6: §1 0"), "^there are 2 neurons and more than 1 synapse, and memory is"),
                ("§3\n1\n1\n", ""),
            ],
        ),
        Limit(
            "rule_lines.MAX_KINDS",
            3,
            [(changed("10: §1 a2 2 0 0"), "^from here on there are more than 3 different")],
        ),
    ]
}
