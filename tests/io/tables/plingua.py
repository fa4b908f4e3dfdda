"""Mistakes in P-Lingua files."""

from tests.io.tables.mistakes import Limit, Mistakes


MAIN = "@model<spiking_psystems>\ndef main() {\n¤\n}\n"
BODIES = r"""
§@mz = x; ⇒ unknown keyword @mz (did you mean @mu
@mu = x§⏎@ms(x) = a; ⇒ expected ';'
@mu = x; @mout = x§ ⇒ expected ';'
@mu = x; @ms(x) = §a2; ⇒ write a*2
@mu = x; §// a neuron ⇒ comments are written /* ... */
@mu = x; [a §-> a]'x; ⇒ the arrow is written -->
@mu = x; [a --> a]'x :: 1 §"a+"; ⇒ (a guard stands before the delay of its
@mu = x; [§aaa --> a]'x; ⇒ write a*3
@mu = x; [a --> §lambda]'x; ⇒ write #
@mu = x; @ms(x) = a*2§-1; ⇒ parentheses
@mu = x; §n = 3; ⇒ defined by let
@mu = i; []'i --> []'j || []'k§; ⇒ a guard in quotes
@mu = x; [a --> a]'x §"a : 1<=i<=2; ⇒ not closed
@mu = x; [a --> a]'x "a{§i}"; ⇒ the variable i is not defined
@mu = x; [a --> a]'x "a{§i-2}": 1<=i<=1; ⇒ the number in braces is -1
@mu = x; [a --> a]'x "a{1+§,3}"; ⇒ expected a number, a variable or '(', not ','
@mu = x; [a --> a]'x "a{2*i}a§)": 6<=i<=6; ⇒ the guard does not parse
@mu = x; call m("a{§i}"); } def m(g) { [a --> a]'x g; ⇒ is not defined
@mu = x; §/* a comment ⇒ not closed
@mu = x; @ms(x) = §2; ⇒ write a*2
@mu = x; [a§^2 --> a]'x; ⇒ spikes are written a*2
@mu = x{i} : 1<=i<=3; @ms(§x{4}) = a; ⇒ are x{1} to x{3})
@mu = x{i} : 1<=i<=1; @marcs = (x{1}, §x{i+1}) : 1<=i<=1; ⇒ is x{1})
@mu = x{i} : §1<=i<=1000000000; ⇒ 3,000,000
@mu = x; §@moutres_natural(1,true,true,2); ⇒ too many values
@mu = x; §@moutres_binary(1); ⇒ too many values
@mu = x; @moutres_natural(§1/2); ⇒ is 1/2, not an integer
@mu = x; call g(); } def g() { call h(); } def h() { §call g(); ⇒ do not end
@ms(§y) = a; @mu = x; ⇒ no neuron 'y' (the only one is 'x')
@mu = x; @mout = §y; ⇒ no neuron 'y'
@mu = x; @min = §y; ⇒ no neuron 'y'
@mu = x; §@minst = (1,1); ⇒ no input neuron
@mu = x; @min = x; @minst = (§0,1); ⇒ the step of an input spike is 0
@mu = x; §call net(); ⇒ no module net (the only one is 'main')
@mu = x; §call main(1); ⇒ takes 0 parameters, but the call gives 1
@mu = x; §call main(); ⇒ do not end
@mu = x; @ms(x) = a*§k; ⇒ variable k is not defined
@mu = x; @ms(x) = a*§(1/2); ⇒ is 1/2, not an integer
@mu = x; @ms(x) = a*§(1-2); ⇒ is -1
@mu = x; [a --> a]'x :: §0-1; ⇒ the delay is -1
@mu = x{i} : 1<=i<=§1/2; ⇒ is 1/2, not an integer
@mu = x{i} : 1<=i<=§0-1; ⇒ is -1
@mu = x; @ms(x) = a*(1//§0); ⇒ division by zero
@mu = x; @ms(x) = a*(2^§99999); ⇒ bits
@mu = x; @ms(x) = a*§⟨1*101⟩; ⇒ 101 digits
@mu = x; @ms(x) = a*⟨(*50⟩§(1⟨)*51⟩; ⇒ nested
@mu = x{i,j} : 1<=i<=100000, §1<=j<=100000; ⇒ 3,000,000
{ @mu = x{i,j} : 1<=i<=100000; } : §1<=j<=100000; ⇒ 3,000,000
@mu = x{i,j} : i<=j<=100000, §1<=i<=100000; ⇒ 3,000,000
@mu = x; [a --> a]'x "a*§3"; ⇒ the guard does not parse
@mu = x; [§a*9999999 --> a]'x; ⇒ the guard needs
@mu = x; [a --> #]'x :: §2; ⇒ a forgetting rule has no delay
@mu = x; [§a*0 --> a]'x; ⇒ consumed is 0
@mu = x, y; @marcs = (x,y),⏎ §(x,y); ⇒ synapse (x, y) is listed twice (remove one); first
@mu = x : 1<=i<=5000; @marcs = §(x,x); ⇒ the repeated labels make more than
@mu = x; @marcs = (x,x{§k}); ⇒ variable k is not defined
§@mseq = 3; @mu = x; ⇒ not supported: sequential mode (@mseq)
§@masynch = 1; @mu = x; ⇒ not supported: asynchronous mode (@masynch)
@mu = x; §@masth = (s, {(x,x)}, 1); ⇒ not supported: astrocytes
@mu = x; @ms(x) = §_a*2; ⇒ not supported: anti-spikes
@mu = x; [a --> §_a]'x; ⇒ not supported: anti-spikes
"""
STRICT = r"""
@mu = x, y; @marcs = §(x,x); [a --> a]'x "a+"; §[a*2 --> #]'x; ⇒ ⇒
@mu = x, y; @marcs = (x,y), §(x,x); @mout = §z, x; ⇒ ⇒
@mu = x, y;⏎@marcs = (x, §z);⏎[a --> §a*2]'x "a§{2"; ⇒ no neuron 'z' (the neurons are 'x', 'y') ⇒ produces 2 but consumes 1 ⇒ not closed
@mu = i; []'i --> []'§x / []'y "a"; [a --> a]'x; ⇒ relabels its parent
@mu = x; [a --> #]'x "§b"; [a --> a]'x "§c"; [a --> §a*2]'x;
@mu = x{i} : 1<=i<=9; [a --> §a*2]'x{i} : 1<=i<=9; ⇒ ; and 8 more like it
"""  # noqa: E501
#: A mistake has no follow-up errors, and those of several statements are told together.
TOGETHER = r"""
@mu = x{§k}; @ms(x{1}) = a; @mout = x{1};
let n = 1/§0; @mu = x; @ms(x) = a*n;
let n = §; @mu = x; @ms(x) = a*n;
@mu = x; @mout §x; @ms(q) = a; call f();⏎}⏎def f() { @marcs = (x §x); @ms(x) = a*(1/0);
@mu = x; @mout = x; @ms(§q) = a; call f();⏎}⏎def f() { @marcs = (x,x); @ms(x) = a*(1/§0);
@mu = x, y; @marcs = (x,y),⏎ §(x,y); ⇒ ; first at 3:22
@mu = x; @marcs = (x, §y{i}) : 1<=i<=9;
"""
WHOLE = r"""
@model<spiking_psystems>⏎def main() {}⏎def §MAIN() {} ⇒ ^the module MAIN is defined twice, first at 2:5
@model<§transition_psystems>⏎def main() {} ⇒ a model of 'transition_psystems'
§def main() {} @model<spiking_psystems> ⇒ does not begin with a model line
@model(§transition) = evolution;⏎def main() {} ⇒ a model of 'transition'
§@model(spiking_psystems) = a⏎def main() {} ⇒ the model line is not complete
!a { [a -> b]'h; }⏎@model<§pdp> ⇒ a model of 'pdp'
/* */ §def main() {} ⇒ there is no @model<spiking_psystems>, so this is no
 §[{"id": 1}] ⇒ this is JSON, not P-Lingua (name it .json, or give format=)
§@model<spiking_psystems>⏎def start() {} ⇒ no module main
@model<spiking_psystems>⏎def main() { @mu = x;§ ⇒ opened at 2:12
@model<spiking_psystems>⏎def main() { @mu = x;⏎§def f() { } ⇒ opened at 2:12
@model<spiking_psystems>⏎def main( §{ } ⇒ expected a name or ')'
@model<spiking_psystems>⏎let n = 3§⏎def main() { } ⇒ expected ';'
@model<spiking_psystems>⏎n = 3/§0;⏎def main() { } ⇒ division by zero
@model<spiking_psystems>⏎def main() { }⏎def f(n, §n) { } ⇒ named twice
@model<spiking_psystems>⏎def main() {⏎@mu = x; }⏎§}⏎ ⇒ closes nothing
@model<spiking_psystems>⏎def main() {⏎@mu = x; {⏎}§⏎ ⇒ opened at 2:12
"""  # noqa: E501
#: Names that are not labels, in a comment.
TABLES = r"""
⟨head⟩ §p_1 = p 1 */⏎ ⇒ ^table of names: p_1 = p 1 is not `label = "name"` (correct the line, or remove
⟨head⟩ §p_1 = "p\q" */⏎ ⇒ is not `label
⟨head⟩ §p-1 = "p" */⏎ ⇒ is not `label
⟨head⟩ §p_1 = "" */⏎ ⇒ is not `label
⟨head⟩ §p_1 = "\ud800" */⏎ ⇒ half of a character
⟨head⟩ §p_1 = "q" */⏎ ⇒ two labels have the name 'q'
⟨head⟩ §q = "p_1" */⏎ ⇒ two labels have the name 'p_1'
⟨head⟩ §fam = "q" */⏎ ⇒ two labels have the name 'q{1}'
⟨head⟩ p_1 = "p 1"⏎§p_1 = "p 2" */⏎ ⇒ ^table of names: label 'p_1' is listed twice (remove one of the lines); first at 3:2
⟨head⟩ p_1 = "p 1" */⏎§⟨head⟩ q = "q 1" */⏎ ⇒ ^table of names: a file has only one (move the lines of this one into the first one); first at 2:1
⟨head⟩ p_1 = "p 1" */⏎§⟨head⟩ §p_1 = "p 1" */⏎ ⇒ ^table of names: a file has only one ⇒ is listed twice (remove one of the lines); first at 3:2
§/* names that are not labels of P-Lingua:*/⏎ ⇒ ^table of names: it has no entries (write `label = "name"` on a line for each label, or remove the comment)
§/* names that are not labels of P-Lingua: */⏎ ⇒ it has no entries
§/* names that are not labels of P-Lingua:⏎⏎ */⏎ ⇒ it has no entries
⟨head⟩ p_1 = "p 1" */⏎§/* names that are not labels of P-Lingua:⏎⏎ */⏎ ⇒
"""  # noqa: E501
UNKNOWN = r"""
⟨head⟩ p_1 = "p 1"⏎   §other = "x"⏎   §q{2} = "y" */⏎ ⇒ ^table of names: unknown label 'other' (remove the line, or correct the label) ⇒ unknown label 'q{2}'
"""  # noqa: E501
_NAMED = "@model<spiking_psystems>\n¤def main()\n{\n  @mu = p_1, q, fam{1}, q{1};\n}\n"
_HEAD = {"head": "/* names that are not labels of P-Lingua:\n"}
MISTAKES = {
    "plingua": [
        Mistakes(TABLES, _NAMED, names=_HEAD),
        Mistakes(UNKNOWN, _NAMED, names=_HEAD, of="warnings"),
        Mistakes(BODIES, MAIN),
        Mistakes(STRICT, MAIN, level="strict"),
        Mistakes(WHOLE),
        Mistakes(TOGETHER, MAIN),
    ]
}
_SUMS = "@model<spiking_psystems>\ndef main() {\n@mu = x;\n¤}\n"
_LONG = "@mu = x; @ms(x) = a*(1+1);\n §@ms(x) = a*(1+1+1+1+1+1+1+1+1+1+1+1+1+1+1);"
_CALLS = MAIN.replace("¤", "§call f() : 1<=i<=500;\n}\ndef f() { @mu = x, y, z;")
FAMILIES = r"""
@mu = x{i} : 1<=i<=2000; @ms(§x{0}) = a; ⇒ there is no neuron 'x{0}' (the
@mu = x{i} : 1<=i<=2000; @ms(x{i}) = a*(1//§(i-1)) : 1<=i<=9; ⇒ by zero
@mu = x{i} : 1<=i<=2000; @ms(x{i}) = a*§(i-7) : 1<=i<=9; ⇒ spikes is -6
@mu = x{i} : 1<=i<=2000; @ms(x{i}) = a*§(i/2) : 1<=i<=9; ⇒ 1/2, not an
@mu = x{i} : §1<=i<=1000000000; ⇒ more than 3,000,000
@mu = x{i} : §1<=i<=100000000000000000000000; ⇒ more than 3,000,000
@mu = x{i,j} : 1<=i<=1800, §1<=j<=1800; @ms(y) = a; ⇒ more than 3,000,000
"""
LIMITS = {
    "plingua": [
        Limit("plingua.read.LISTED_INSTANCES", 10, Mistakes(FAMILIES, MAIN)),
        Limit(
            "plingua.syntax.MAX_WORDS",
            60,
            [
                (
                    _SUMS.replace("¤", "§" + "@ms(x) += a*(1+1);\n" * 500),
                    "more than 60 words of statements",
                )
            ],
        ),
        Limit(
            "plingua.syntax.MAX_STATEMENT",
            40,
            [(MAIN.replace("¤", _LONG), "^up to here there are more than")],
        ),
        Limit("plingua.expand.MAX_LISTED", 1_000, [(_CALLS, "make more than 1,000 neurons")]),
    ]
}
