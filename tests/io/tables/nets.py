"""Mistakes in files of nets."""

from tests.io.tables.mistakes import Limit, Mistakes, line_of
from tests.support.sleptsov_seeds import GREATSPN, HSN, PIPE, TAPN


def page(inside: str) -> str:
    return PAGE.replace("¤", inside)


PAGE = '<pnml><net id="n" type="ptnet"><page id="g">¤</page></net></pnml>'
NODES = '<place id="p"/><transition id="t"/>'
ARC = '<arc id="a" source="p" target="t"></arc>'

LSN = r"""
§ ⇒ no header
; only⏎; comments§⏎ ⇒ no header
§1 1 0 0 0 0 ⇒ 6 numbers
§99999999999 1 0 0 0 ⇒ 99999999999 places are more
1 1 9999999999999999 0 0§⏎ ⇒ unexpected end of file after 0 lines
1 1 1 0 0⏎§-9223372036854775808 1 1 ⇒ does not fit
1 1 1 0 0⏎§-9223372036854775807 1 1 ⇒ place 9223372036854775807 is out
1 1 1 0 0⏎§+1 1 1 ⇒ '+1' is not an integer
1 1 0 1 0⏎§0 5 ⇒ indices start at 1
1 0 0 0 0⏎§; snpjax {"places": ["a", "b"]} ⇒ 2 names for 1
1 0 0 0 0⏎; snpjax [§ ⇒ not well-formed JSON
2 0 0 0 0⏎§; snpjax {"places": ["a", "a"]} ⇒ twice
2 0 0 0 0⏎§; snpjax {"positions": [[1, 2]]} ⇒ list of 2 pairs
1 0 0 0 0⏎; snpjax {"positions": [[1, §NaN]]} ⇒ NaN is not a number
1 0 0 0 0⏎; snpjax {"places": ["§\ud800"]} ⇒ half of a character
; é⏎2 2 11 3 0⏎1 1 1⏎§3 1 1⏎§1 3 -1⏎§0 1 1⏎§1 -1 1⏎§1 2 0⏎§-1 2 -1⏎§-1 -2 1⏎§-1 -3 0⏎§⏎§1 1 2⏎§x 1 1⏎1 5⏎§1 -6⏎§4 1⏎ ⇒ ⇒ ⇒ ⇒ ⇒ ⇒ ⇒ ⇒ ⇒ blank line ⇒ first in line 3 ⇒ ⇒ ⇒
"""  # noqa: E501
MCC = r"""
§ ⇒ the header `m n mm`
1 §1 ⇒ the header `m n mm`
1 §x 1 ⇒ 'x' is not an integer
1 §-1 1 ⇒ n is -1
1 §99999999 1 ⇒ more than
1 1 1⏎0 1⏎§0 ⇒ D-value has 0 of its 1
1 1 1⏎0 1 0 1 5⏎§# permutation of transitions:⏎1 ⇒ permutation
1 1 1⏎0 1 0 1 5⏎§# snpjax {"priorities": [[0, 1]]} ⇒ list of pairs
1 1 1⏎0 1 0 1 5⏎§# snpjax {"priorities": [[0, 0]]} ⇒ not in an order
2 1 2⏎0 1⏎1 §-2⏎0 §0⏎1 2 5 5 ⇒ -2 of column 0 ⇒
"""
MSN = r"""
1 1 §-2 0 0 5 ⇒ B of p0 and t0
1 1 1 §-1 0 5 ⇒ D of p0 and t0
1 1 1 0 §2 5 ⇒ R of t0 and t0
1 1 1 0 §1 5 ⇒ over itself
1 1 1 0 0 §-5 ⇒ the marking of p0
0 2 0 1 §1 0 ⇒ cycle of priorities: t0, t1
"""
TINA = r"""
tr t a -> b⏎§tr ⇒ a name is expected
tr §t*2 a -> b ⇒ a name is expected
tr t §a -> b -> c ⇒ more than one `->`
tr t a -> §b?1 ⇒ only input arcs test
tr t §a*x -> b ⇒ not a mark of an arc
tr t §a*99999999999999999999 -> b ⇒ not a mark of an arc
tr t §a!-2 -> b ⇒ stopwatch
tr t a?2 §a?3 -> b ⇒ two thresholds, 2 and 3 (remove one); first at 1:6
tr t a*9223372036854775807 §a ->  ⇒ do not fit
tr t (§3) a -> b ⇒ not expected here
tr t §: -> b ⇒ a label is expected
tr t §]0,w[ a -> b ⇒ the interval ]0,w[ of transition 't': times
pl p (§x) ⇒ not a marking
pl p (§-1) ⇒ not a marking
pl p (1)⏎pl p (§2) ⇒ marked twice (remove one); first at 1:7
tr t ->⏎§pr t ⇒ a priority is written
tr t ->⏎§pr > t ⇒ a priority is written
tr t ->⏎pr t > §t*2 ⇒ not a transition
tr §{} -> a ⇒ empty
tr t §{} -> a ⇒ empty
net n §m ⇒ not expected here
pl p §& -> t ⇒ not expected in a declaration
"""
NDR = r"""
§q 1 2 ⇒ begins no line of a drawing
§p 1 2 a ⇒ `p x y name marking anchor` is expected
p §x 2 a 1 n ⇒ not a coordinate
p 1 §nan a 1 n ⇒ not a coordinate
p 1 2 a §-1 n ⇒ not a marking
p 1 2 §{} 0 n ⇒ empty name
p 1 2 §{a 0 n ⇒ '}'
p 1 2 a 0 n⏎t 1 2 t 0 w n⏎e t a §?1 n ⇒ only input arcs test
p 1 2 a 0 n⏎t 1 2 t 0 w n⏎e a t §x n ⇒ not a mark
t 1 2 t 0 w n⏎t 1 2 u 0 w n⏎e t u §2 n ⇒ weight 1
t 1 2 t 0 w n⏎t 1 2 u 0 w n⏎e t u 1 n⏎§e u t 1 n ⇒ cycle
t 1 2 t c 0 w n §{*HSN(add.lsn i a)} s ⇒ is not a substitution
t 1 2 t c 0 w n §{*HSN(add.lsn i a 1)} s ⇒ no place 'a'
p 1 2 a 0 n⏎t 1 2 t c 0 w n §{*HSN(add.lsn q a 1)} s ⇒ none of i, o, s
p 1 2 a 0 n⏎t 1 2 t c 0 w n §{*HSN(add.lsn i a 0)} s ⇒ not a place of a sub
"""
#: What could change how a net behaves is refused.
PAGES = r"""
§<place/> ⇒ has no id
⟨nodes⟩<arc source="p" target="t" §type="transport"/> ⇒ nets with time
⟨nodes⟩<arc source="p" target="t" §weight="0"/> ⇒ is 0 (write 1 or more)
⟨nodes⟩§<inhibitorArc source="t" target="p"/> ⇒ leads to a place
⟨nodes⟩§<arc source="t" target="t"/> ⇒ joins two transitions
§<referencePlace id="r" ref="q"/> ⇒ refers to 'q', which there is not
§<referencePlace id="r" ref="r"/> ⇒ refers to itself
⟨nodes⟩§<referencePlace id="r" ref="t"/> ⇒ refers to a transition
<transition id="t"><toolspecific tool="snpjax">§<beats ref="u"/></toolspecific></transition> ⇒ both must be transitions
⟨nodes⟩<arc source="p" target="t"><arctype><text>read</text></arctype></arc>§<arc source="p" target="t"><arctype><text>read</text></arctype><inscription><text>2</text></inscription></arc> ⇒ two thresholds
§<post-it/> ⇒ <post-it> in <page> is not known
<place id="p">§<bound><text>3</text></bound></place>⟨rest⟩ ⇒ <bound> in <place> is not known
<place id="p" §colour="red"></place>⟨rest⟩ ⇒ the attribute 'colour' of <place> is not known
<place id="p"/><transition id="t">§<clock/></transition>⟨arc⟩ ⇒ <clock> in <transition> is not known
⟨nodes⟩<arc id="a" source="p" target="t">§<speed><text>9</text></speed></arc> ⇒ <speed> in <arc> is not known
⟨nodes⟩<arc id="a" source="p" target="t" §flow="2"></arc> ⇒ the attribute 'flow' of <arc> is not known
<place id="p"><name §lang='en'/></place>⟨rest⟩ ⇒ the attribute 'lang' of <name> is not known
<place id="p"><name><text>§<b/></text></name></place>⟨rest⟩ ⇒ <b> in <text> is not known
<place id="p"><name>§<letters/></name></place>⟨rest⟩ ⇒ <letters> in <name> is not known
<place id="p">§<q:name xmlns:q='other'/></place>⟨rest⟩ ⇒ <q:name> in <place> is not known
<place id="p" §xmlns="other"></place>⟨rest⟩ ⇒ the attribute 'xmlns' of <place>
<place id="p">§<initialMarking>5</initialMarking></place>⟨rest⟩ ⇒ '5' stands in <initialMarking> (write
§<place id="p">5</place> ⇒ the text '5' stands in <place> (remove it)
<place id="p">§<initialMarking/></place>⟨rest⟩ ⇒ <initialMarking> has no <text>
<place id="p"><initialMarking>§<text/></initialMarking></place>⟨rest⟩ ⇒ the marking of 'p': '' is no
<place id="p"><initialMarking><text>1</text>§<text>2</text></initialMarking></place>⟨rest⟩ ⇒ a second <text> in <initialMarking>
<place id="p"><initialMarking><text>1</text></initialMarking>§<initialMarking/></place>⟨rest⟩ ⇒ a second <initialMarking> in <place> (remove one); first at
<place id="p" initialMarking="2"><initialMarking>§<text>1</text></initialMarking></place>⟨rest⟩ ⇒ the marking of 'p' is declared twice, 1 and 2 tokens
§<net id='inner'/> ⇒ <net> in <page> is a net inside a net
<place id="p">§<hlinitialMarking/></place>⟨rest⟩ ⇒ <hlinitialMarking> in <place> is coloured content
<place id="p">§<type><text>dot</text></type></place>⟨rest⟩ ⇒ <type> in <place> is coloured content
⟨nodes⟩<arc id="a" source="p" target="t">§<hlinscription/></arc> ⇒ <hlinscription> in <arc> is coloured content
<place id="p"/><transition id="t">§<condition/></transition>⟨arc⟩ ⇒ <condition> in <transition> is coloured content
§<declaration/> ⇒ <declaration> in <page> is coloured content
<place id="p"><initialMarking><text>0</text>§<structure/></initialMarking></place>⟨rest⟩ ⇒ <structure> in <initialMarking> is coloured content
<place id="p"/><transition id="t" §guard="x &gt; 1"></transition>⟨arc⟩ ⇒ 'guard' of <transition> is part of a net
<place id="p"/><transition id="t">§<readVariable/></transition>⟨arc⟩ ⇒ <readVariable> in <transition> is part of a net
<place id="p" §invariant="&lt;= 3"></place>⟨rest⟩ ⇒ the invariant '<= 3' of place 'p': times
<place id="p"/><transition id="t" §urgent="true"></transition>⟨arc⟩ ⇒ the urgent 'true' of transition 't': tim
<place id="p"/><transition id="t" §player="1"></transition>⟨arc⟩ ⇒ games of two players are not supported
<place id="p"/><transition id="t"><player>§<value>1</value></player></transition>⟨arc⟩ ⇒ games of two players are not
<place id="p"/><transition id="t" §distribution="uniform"></transition>⟨arc⟩ ⇒ distribution 'uniform' of trans
<place id="p"/><transition id="t" §weight="2.0"></transition>⟨arc⟩ ⇒ the weight '2.0' of transition 't'
§<transportArc source="p" target="t"/> ⇒ <transportArc> in <page> is a transport arc
⟨nodes⟩<arc id="a" source="p" target="t" §inscription="[1,4]"></arc> ⇒ the interval [1,4] of arc 'a'
⟨nodes⟩<arc id="a" source="p" target="t" inscription="[0,inf):1" §type="transport"></arc> ⇒ is a transport arc
⟨nodes⟩<arc id="a" source="p" target="t" §inscription="2" weight="3"></arc> ⇒ two weights, 3 and 2
⟨nodes⟩<arc id="a" source="p" target="t" §weight="batch"></arc> ⇒ the inscription of arc 'a': 'batch' is no
⟨nodes⟩§<inputArc id="a" source="t" target="p"/> ⇒ is an <inputArc>, but leads to a place (it must leave a place)
⟨nodes⟩§<outputArc id="a" source="p" target="t"/> ⇒ is an <outputArc>, but leads to a transition (it must leave a transition)
⟨nodes⟩<arc id="a" source="p" target="t" §type="inhibitor"><arctype><text>read</text></arctype></arc> ⇒ two kinds, 'read' and 'inhibitor'
<place id="p"><capacity>§<value>3</value></capacity></place>⟨rest⟩ ⇒ bounded places are not supported
<place id="p"><tagged>§<value>true</value></tagged></place>⟨rest⟩ ⇒ tagged tokens are not supported
<place id="p"/><transition id="t"><rate>§<value>0.5</value></rate></transition>⟨arc⟩ ⇒ the rate '0.5' of transition 't': times
<place id="p"/><transition id="t"><infiniteServer>§<value>true</value></infiniteServer></transition>⟨arc⟩ ⇒ the infiniteServer 'true' of transition 't': times, rates and weights are not read
<place id="p"/><transition id="t"><timed>§<value>maybe</value></timed></transition>⟨arc⟩ ⇒ is 'maybe' (write true or false)
<place id="p"/><transition id="t"><priority>§<value>3</value></priority></transition>⟨arc⟩<transition id="u"/> ⇒ a <priority> without a <timed>
<place id="p"/><transition id="t" §priority="3"></transition>⟨arc⟩ ⇒ attributes `priority` that differ
<place id="p"/><transition id="t" §priority="1"></transition>⟨arc⟩<transition id="u" priority="0"/> ⇒ attributes `priority` that differ
<place id="p"/><transition id="t"><timed><value>true</value></timed></transition>⟨arc⟩§<transition id="u"/> ⇒ transition 'u' has no <timed>, but others have
<place id="p"><initialMarking>§<value>Red,1,Blue,2</value></initialMarking></place>⟨rest⟩ ⇒ the marking of 'p' has tokens of another colour: coloured content (Red, Blue)
<place id="p"><initialMarking><value>Red,1</value></initialMarking></place>⟨rest⟩<place id="q"><initialMarking>§<value>Blue,1</value></initialMarking></place> ⇒ coloured content (Red, Blue)
<place id="p"><initialMarking>§<value>Red,1,2</value></initialMarking></place>⟨rest⟩ ⇒ 'Red,1,2' is not a number, nor colours with the number of each
⟨nodes⟩<arc id="a" source="p" target="t"><inscription>§<value></value></inscription></arc> ⇒ '' is not an integer
<place id="p"/><transition id="t">§<delay><interval/></delay></transition>⟨arc⟩ ⇒ <delay> in <transition>: times, rates
"""  # noqa: E501
FINAL = r"""
§<place idref="x"><text>1</text></place> ⇒ names 'x', which is not a place
§<place idref="t"><text>1</text></place> ⇒ names 't', which is not a place
<place idref="p">§<text>-1</text></place> ⇒ a final marking of 'p' is -1
§<place idref="p"/> ⇒ does not set the tokens of 'p'
<place idref="p"><text>1</text></place>§<place idref="p"><text>1</text></place> ⇒ names 'p' twice
<place idref="p" §weight="2"><text>1</text></place> ⇒ 'weight' of <place>
§<transition/> ⇒ <transition> in <marking> is not known
"""
PNML = r"""
§<net/> ⇒ the root element is <net>
§<pnml/> ⇒ no <net>
<pnml>§<place id='p'/></pnml> ⇒ outside of a <net>
<pnml><net id='n' §type='unheard-of'/></pnml> ⇒ unknown type
§⟨<a>*101⟩§⟨<a>*99⟩ ⇒ the root element ⇒
<pnml><net⟨><page*99⟩>§⟨<page>*101⟩ ⇒ nested more than
§ ⇒ no element found
<pnml><net id="n" §type="http://www.pnml.org/version-2009/grammar/symmetricnet"/></pnml> ⇒ high-level net
"""  # noqa: E501
GREATSPN_LINES = r"""
1: §0 ⇒ this is no GreatSPN net
4: §g   1   3   1   4   2   0   0 ⇒ the header begins with f
4: f   1   §x   1   4   2   0   0 ⇒ the number of places: 'x' is not an integer
4: f   1   §-3   1   4   2   0   0 ⇒ the number of places is -3
4: f   1   §99999999999   1   4   2   0   0 ⇒ the number of places is 99999999999
5: K §-7134 0.5 0.5 0 ⇒ the parameter 'K' has no value
5: K §3.5 0.5 0.5 0 ⇒ its value: '3.5' is not an integer
6: idle|tag  §-2 1.0 1.0 1.2 1.1 0 ⇒ there is no marking parameter 2 (there are 1;
6: idle|tag  §-10001 1.0 1.0 1.2 1.1 0 ⇒ place 'idle' is coloured content
6: idle|tag  -1 1.0 §here 1.2 1.1 0 ⇒ a coordinate: 'here' is not a number
8: done       0 3.0 1.0 3.2 1.1 0 §1.0 1.0 C ⇒ place 'done' is coloured content
8: done       0 3.0 1.0 3.2 1.§1 ⇒ a layer, or the 0 after the last one is expected at the end
7: §idle       2 2.0 1.0 2.2 1.1 1 2 0 ⇒ the name 'idle' of a place is there twice
18: fast|x|y §-2.0 0   0   1 0 1.5 1.0 1.5 1.1 1.5 0.9 0 ⇒ there is no rate parameter 2 (there are 1)
18: fast|x|y §-1.5 0   0   1 0 1.5 1.0 1.5 1.1 1.5 0.9 0 ⇒ there is no rate parameter 1.5
18: fast|x|y §-inf 0   0   1 0 1.5 1.0 1.5 1.1 1.5 0.9 0 ⇒ there is no rate parameter inf
18: fast|x|y §nan 0   0   1 0 1.5 1.0 1.5 1.1 1.5 0.9 0 ⇒ the rate nan of transition 'fast'
18: fast|x|y §-510 0   0   1 0 1.5 1.0 1.5 1.1 1.5 0.9 0 ⇒ the function of the marking as the rate of trans
18: fast|x|y §fast 0   0   1 0 1.5 1.0 1.5 1.1 1.5 0.9 0 ⇒ 'fast' is not a number
12: slow    1.0 §4 0   1 0 1.5 1.0 1.5 1.1 1.5 0.9 0 ⇒ 4 as the number of servers of transition 'slow'
12: slow    1.0 0 §127   1 0 1.5 1.0 1.5 1.1 1.5 0.9 0 ⇒ the distribution of transition 'slow'
12: slow    1.0 0 §3   1 0 1.5 1.0 1.5 1.1 1.5 0.9 0 ⇒ there is no group 3 (there are 2)
12: slow    1.0 1 0   1 0 1.5 1.0 1.5 1.1 1.5 0.9 0 §1.0 1.0 [x=y] ⇒ has a guard, coloured content
13:    2 §4 1 0 ⇒ there is no place 4 (there are 3)
13:    §0 1 1 0 ⇒ the weight of the input arc of transition 'slow' is 0
13:    2 1 1 0 §0.0 0.0 <x> ⇒ has a function, of colours or of the marking
15:    §1x ⇒ the number of output arcs: '1x' is not an integer
11: G2 0.0 0.0 §1 ⇒ a group of priority 1 after one of priority 1
32: §more ⇒ there is more after the la
"""  # noqa: E501
GREATSPN_WHOLE = [
    (
        GREATSPN[0].replace("R 1.0", "R 2.0").replace("y -1.0", "y §-1.0"),
        "the rate 2 of transition 'fast': times, rates and weights",
    ),
    (GREATSPN[0][: -len("0\n   0\n")] + "§0", "unexpected end of file: the number of"),
]
_FINAL = f"{NODES}</page><finalmarkings><marking>¤</marking></finalmarkings>"
MISTAKES = {
    "lsn": [Mistakes(LSN)],
    "hsn": [Mistakes([(HSN[0].replace("add.lsn", "§nothing.lsn"), "no sub-net")])],
    "mcc": [Mistakes(MCC)],
    "msn": [Mistakes(MSN)],
    "net": [Mistakes(TINA)],
    "ndr": [Mistakes(NDR)],
    "pnml": [
        Mistakes(PNML),
        Mistakes(
            PAGES,
            PAGE,
            names={"nodes": NODES, "arc": ARC, "rest": '<transition id="t"/>' + ARC},
        ),
        Mistakes(FINAL, PAGE.replace("¤</page>", _FINAL)),
    ],
    "tapn": [
        Mistakes(
            [
                (
                    TAPN[0]
                    .replace('e initialMarking="2"', 'e initialMarking="3"')
                    .replace('"stock" initialMarking', '"stock" §initialMarking'),
                    "the marking of 'stock' is declared twice, 2 and 3 tokens",
                )
            ]
        )
    ],
    "pipe": [
        Mistakes([(PIPE[0].replace("a note", "é").replace('g="iso', 'g="§iso'), "read as UTF-8")])
    ],
    "greatspn": [Mistakes(GREATSPN_LINES, line_of(GREATSPN[0])), Mistakes(GREATSPN_WHOLE)],
}
LIMITS: dict[str, list[Limit]] = {}
