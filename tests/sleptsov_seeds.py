"""A text of each format of nets that uses most of what the format has, for fuzzing."""

LSN = [
    """; m n k l nst
3 2 8 2 0
1 1 1
3 1 -1
-2 1 2
1 2 3
2 2 -1
; in between
-3 2 1
-1 -2 0
-1 2 1
1 4
3 0
; snpjax {"name": "pair", "places": ["a", "b", "c"]}
"""
]

HSN = [
    """; m n k l nst
5 1 6 3 1
1 1 -1
-1 1 1
2 1 1
3 1 1
4 1 1
-5 1 1
2 1
3 7
4 5
1 5 add.lsn
3 1
4 2
5 -3
-1 4
-2 -5
"""
]

MCC = [
    """3 2 3
0 0
2 1
0 0
1 3
-1 -1
0 0
1 2
0 0
0 0
2 1
0 0
0 0
4 0 1
# permutation of transitions:
1 0
# snpjax {"priorities": [[1, 0]]}
"""
]

MSN = [
    """3 2
1 3
0 -1
-1 0
0 0
2 0
0 1
0 1
0 0
4 0 0
"""
]

NET = [
    """# every construct
net {fuzzed net}
pl {in put} (2K)
pl out : {label of out} (1)
tr work : {do it} [0,w[ {in put}*3 -> out*2
tr watch guard?2 stop?-3 out -> seen
tr 'a_1 seen*2 -> {br\\}ace}
pl guard (2) work*3 -> late*2 watch?2
pl stop (2) work -> late?-1
lb stop {a label}
nt n 0 {a note}
pr work > watch 'a_1
pr 'a_1 < watch
"""
]

NDR = [
    r"""# a drawing
p 10.0 20.0 src 1K n {source place} e
p 70.0 20.0 dst 0 s
p 40.0 60.0 guard 2 n
p 40 9e1 {stop it} 2 n
t 40.0 20.0 go 0 w n
t 40.0 120.0 late c 0 w e {second} n
t 40.0 120.0 sum c 0 w n {*HSN(add.lsn i src 1 i dst 2 o guard 3 s \{stop it\} 4 f c 5)} s
p 0 0 c 1 n
e src 0.31 41.5 go 0.62 38.0 4 n
e go dst 1 n
e guard go ?2 n
e {stop it} go ?-3 n
e src late 0.5 3.25 1 n
e late dst 1 n
e go late 1 n
h fuzzed small black
"""
]

PNML = [
    """<?xml version="1.0" encoding="UTF-8"?>
<pnml xmlns="http://www.pnml.org/version-2009/grammar/pnml">
 <net id="n" type="http://www.pnml.org/version-2009/grammar/ptnet">
  <name><text>two pages</text></name>
  <page id="one">
   <place id="a"><name><text>first</text><graphics><offset x="1" y="2"/></graphics></name>
    <initialMarking><text> 9 </text></initialMarking></place>
   <place id="g"><initialMarking><text>1</text></initialMarking></place>
   <transition id="t"><name><text>move</text></name>
    <toolspecific tool="snpjax" version="1.0"><beats ref="u"/></toolspecific></transition>
   <transition id="u"/>
   <arc id="x1" source="a" target="t"><inscription><text>2</text></inscription></arc>
   <page id="inner">
    <place id="h"/>
    <arc id="x2" source="h" target="t"><arctype><text>inhibitor</text></arctype></arc>
    <arc id="x5" source="a" target="u"><type value="normal"/></arc>
    <arc id="x6" source="g" target="u" type="tapnInhibitor" weight="3"/>
    <inhibitorArc id="x7" source="h" target="u"/>
   </page>
  </page>
  <page id="two">
   <place id="b"/>
   <referencePlace id="ga" ref="g"/>
   <arc id="x3" source="t" target="b"><inscription><text>3</text></inscription></arc>
   <arc id="x4" source="ga" target="t"><arctype><text>read</text></arctype></arc>
  </page>
 </net>
</pnml>
"""
]

SEEDS = {
    "lsn": LSN,
    "hsn": HSN,
    "mcc": MCC,
    "msn": MSN,
    "net": NET,
    "ndr": NDR,
    "pnml": PNML,
}
