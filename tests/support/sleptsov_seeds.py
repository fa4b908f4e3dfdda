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

PM4PY = """<?xml version='1.0' encoding='UTF-8'?>
<pnml>
  <net id="imported" type="http://www.pnml.org/version-2009/grammar/pnmlcoremodel">
    <name><text>imported</text></name>
    <page id="n0">
      <place id="source"><name><text>start</text></name>
        <initialMarking><text>1</text></initialMarking>
        <graphics><position x="10" y="20"/><dimension x="5" y="5"/></graphics></place>
      <place id="sink"><name><text>end</text></name></place>
      <transition id="hidden"><name><text>hidden</text></name>
        <toolspecific tool="ProM" version="6.4" activity="$invisible$" localNodeID="1"/>
      </transition>
      <arc id="-17" source="source" target="hidden"><name><text>1</text></name>
        <arctype><text>normal</text></arctype></arc>
      <arc id="18" source="hidden" target="sink"><inscription><text>2</text></inscription></arc>
    </page>
    <finalmarkings>
      <marking><place idref="source"><text>0</text></place>
        <place idref="sink"><text>2</text></place></marking>
    </finalmarkings>
  </net>
</pnml>
"""
PNML.append(PM4PY)

TAPN = [
    """<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<pnml xmlns="http://www.informatik.hu-berlin.de/top/pnml/ptNetb">
  <shared-place initialMarking="2" invariant="&lt; inf" name="stock"/>
  <constant name="batch" value="2"/>
  <feature isColored="false" isGame="false" isTimed="false"/>
  <net active="false" id="off" type="P/T net"><place id="x" initialMarking="1" name="x"/></net>
  <net active="true" id="on" type="P/T net">
    <labels border="true" height="9" positionX="0" positionY="0" width="9">a note</labels>
    <place displayName="true" id="stock" initialMarking="2" invariant="&lt; inf" name="stock"
           nameOffsetX="0" nameOffsetY="0" positionX="15" positionY="15"/>
    <place id="done" initialMarking="0" invariant="&lt; inf" name="done"/>
    <transition angle="0" displayName="true" id="take" infiniteServer="false" name="take"
                nameOffsetX="0" nameOffsetY="0" player="0" positionX="30" positionY="15"
                priority="0" urgent="false"/>
    <arc id="i" inscription="[0,inf)" nameOffsetX="0" nameOffsetY="0" source="stock"
         target="take" type="timed" weight="1"/>
    <arc id="o" inscription="1" source="take" target="done" type="normal" weight="batch">
      <arcpath arcPointType="false" id="0" xCoord="45" yCoord="30"/></arc>
    <arc id="h" inscription="[0,inf)" source="done" target="take" type="tapnInhibitor" weight="4"/>
  </net>
  <query active="true" name="q" query="EF done &gt; 3"/>
  <k-bound bound="3"/>
</pnml>
"""
]

PIPE = [
    """<?xml version="1.0" encoding="iso-8859-1"?>
<!-- a net --><pnml>
<net id="Net-One" type="P/T net">
<token id="Default" enabled="true" red="0" green="0" blue="0"/>
<labels x="1" y="1" width="9" height="9" border="true"><text>a note</text></labels>
<place id="P0"><graphics><position x="1.0" y="2.0"/></graphics>
 <name><value>P0</value><graphics/></name><capacity><value>0</value></capacity>
 <initialMarking><value>Default,2,Red,0</value><graphics/></initialMarking></place>
<place id="P1"><name><value>P1</value></name>
 <initialMarking><value></value></initialMarking></place>
<transition id="T0"><name><value>T0</value></name><orientation><value>90</value></orientation>
 <rate><value>1.0</value></rate><timed><value>true</value></timed>
 <infiniteServer><value>false</value></infiniteServer><priority><value>1</value></priority>
</transition>
<transition id="T1"><rate><value>1</value></rate><timed><value>false</value></timed>
 <priority><value>1</value></priority></transition>
<transition id="T2"><rate><value>1</value></rate><timed><value>false</value></timed>
 <priority><value>2</value></priority></transition>
<arc id="a" source="P0" target="T0"><inscription><value>Default,1</value></inscription>
 <tagged><value>false</value></tagged><arcpath id="000" x="1" y="2" curvePoint="false"/>
 <type value="normal"/></arc>
<arc id="b" source="P0" target="T1"><inscription><value>1</value></inscription></arc>
<arc id="c" source="T1" target="P1"><inscription><value>2</value></inscription></arc>
<arc id="d" source="P1" target="T2"><inscription><value></value></inscription>
 <type value="inhibitor"/></arc>
<arc id="e" source="P0" target="T2"><inscription><value>2</value></inscription></arc>
</net>
</pnml>
"""
]

GREATSPN = [
    """|0|
a comment
|
f   1   3   1   4   2   0   0
K 3 0.5 0.5 0
idle|tag  -1 1.0 1.0 1.2 1.1 0
busy       2 2.0 1.0 2.2 1.1 1 2 0
done       0 3.0 1.0 3.2 1.1 0
R 1.000000e+00 0.5 0.7 0
G1 0.0 0.0 1
G2 0.0 0.0 5
slow    1.0 1 0   1 0 1.5 1.0 1.5 1.1 1.5 0.9 0
   2 1 1 0
1.2 1.0
   1
  -1 3 0 0
   0
fast|x|y -1.0 0   0   1 0 1.5 1.0 1.5 1.1 1.5 0.9 0
   1 2 0 0
   0
   1
   20000 3 0 0
weak    1.0 1 1   1 0 1.5 1.0 1.5 1.1 1.5 0.9 0
   1 1 0 0
   1
   1 2 0 0
   0
strong  1   1 2   1 0 1.5 1.0 1.5 1.1 1.5 0.9 0
   3 2 0 0
   0
   0
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
    "tapn": TAPN,
    "pipe": PIPE,
    "greatspn": GREATSPN,
}
