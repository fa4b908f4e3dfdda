"""Mistakes in WebSnapse `.xmp` and the XML of sn-p-factory."""

from tests.io.tables.mistakes import Limit, Mistakes
from tests.io.tables.pairs import PAIRS


PAIR = PAIRS["xmp"]
RULE = "<content>\n<x><id>x</id><rules>¤</rules></x>\n</content>"
RULES = r"""
a/a-&gt;a§ ⇒ ";" and the delay are expected here
a/aa;0§ ⇒ "->" is expected here
a/§-&gt;a;0 ⇒ a number of spikes is missing
a/a-&gt;§;0 ⇒ a number of spikes is missing
a/a-&gt;§b;0 ⇒ 'b' is not part of a number of spikes
a/§2-&gt;a;0 ⇒ '2' is not part of a number of spikes
a/2aa§3-&gt;a;0 ⇒ '3' is not part of a number of spikes
a/§0a-&gt;a;0 ⇒ 0a is no spike at all
a/a-&gt;a;§ ⇒ and is missing
a/a-&gt;a;1§x ⇒ not 'x'
a/a-&gt;a;§-1 ⇒ not '-'
a/a-&gt;a;§99999999999 ⇒ the delay is 'too large'
a/a-&gt;a;§⟨9*200⟩ ⇒ a delay of 200 digits
a/a-&gt;0;§1 ⇒ a forgetting rule has no delay
§/a-&gt;a;0 ⇒ an expression is missing
a§()/a-&gt;a;0 ⇒ the group is empty (write "3a"
a§(2a/a-&gt;a;0 ⇒ is not closed
a2a§)*/a-&gt;a;0 ⇒ the ")" closes nothing
a+§*/a-&gt;a;0 ⇒ the guard does not parse
3a+§+/a-&gt;a;0 ⇒ the guard does not parse
a§{2}/a-&gt;a;0 ⇒ '{' is not part of a guard
aa§2/a-&gt;a;0 ⇒ '2' is not part of a guard
§0a+/a-&gt;a;0 ⇒ 0a is no spike at all
a|§9999999a/a-&gt;a;0 ⇒ the guard does not parse
§⟨9*200⟩a/a-&gt;a;0 ⇒ a number of 200 digits
§9999999a-&gt;a;0 ⇒ the guard needs
⟨(*100⟩§⟨(*100⟩a⟨)*200⟩/a-&gt;a;0 ⇒ is nested deeper than
§⟨a*100001⟩/a-&gt;a;0 ⇒ the guard has 100001 characters
§2b/§c-&gt;§d;§e f§ ⇒ ⇒ ⇒ ⇒ ⇒
éé§ a/a->a;0 &#97;/a-&gt;2a;0⏎2a/2a-&gt;<![CDATA[a;§x]]> ⇒ is expected here ⇒ not 'x'
"""
STRICT = r"""
<x><id>x</id><out>§x</out><out>y</out><outWeights><y>§2</y></outWeights><rules>a/a->§2a;0 §2a+/3a->0;0</rules></x>⏎<y><id>y</id></y> ⇒ leads to its own neuron ⇒ has weight 2 ⇒ produces 2 but consumes 1 ⇒ of a forgetting rule is not exactly
<é><id>é</id><rules>&#97;/a->§2a;0</rules></é> ⇒ produces 2 but consumes 1
"""  # noqa: E501
NEURON = "<content>\n<x><id>x</id>¤</x>\n<n><id>n</id></n>\n<i><id>i</id><isInput>true</isInput></i>\n</content>"  # noqa: E501
NEURONS = r"""
§<spikes/> ⇒ the number of spikes is missing
<spikes>§1.5</spikes> ⇒ the number of spikes is '1.5' (write an integer)
<spikes>§1e3</spikes> ⇒ write an integer
<spikes>§NaN</spikes> ⇒ write an integer
<spikes>§٣</spikes> ⇒ write an integer
<spikes>§⟨9*5000⟩</spikes> ⇒ has 5000 digits
<spikes> §-1</spikes> ⇒ starts with -1 spikes
<spikes>1</spikes>§<spikes>1</spikes> ⇒ appears twice in a neuron (remove one); first at 2:14
<spikes>1§<b/></spikes> ⇒ unknown element <b> in <spikes>
<position>§1</position> ⇒ '1' stands outside of all parts
<position>§<z>1</z></position> ⇒ unknown element <z> in <position>
<position><x>1</x>§<x>1</x></position> ⇒ <x> appears twice in a position
§text ⇒ 'text' stands outside of all parts
<out>§nowhere</out> ⇒ there is no neuron 'nowhere'
<out>n</out><out>§n</out> ⇒ listed twice (write one synapse with a weight instead); first at 2:19
<out>n</out><outWeights><n>§-1</n></outWeights> ⇒ the negative weight -1
<out>n</out><outWeights>§<n/></outWeights> ⇒ the weight of a synapse is missing
<out>n</out><outWeights><n>1</n>§<n>1</n></outWeights> ⇒ twice (remove one); first at 2:41
<out>n</out><outWeights><n>1§<b/></n></outWeights> ⇒ unknown element <b> in <n>
<out>n</out><outWeights>§1</outWeights> ⇒ '1' stands outside
<out>n§<b/></out> ⇒ unknown element <b> in <out>
<out>§i</out> ⇒ synapse (x, i) enters the input node 'i'
<isOutput>true</isOutput><out>§n</out> ⇒ synapse (x, n) leaves the output node 'x'
</x><y><id>§y</id><isOutput>true</isOutput><isInput>true</isInput></y><x><id>z</id> ⇒ neuron 'y' is both input and output
<isInput>true</isInput><bitstring>1,§,1</bitstring> ⇒ the bitstring is missing
<isInput>true</isInput><bitstring>1,0,§</bitstring> ⇒ the bitstring is missing
<isInput>true</isInput><bitstring>1,§x</bitstring> ⇒ the bitstring is 'x'
<isInput>true</isInput><bitstring>1, §-2</bitstring> ⇒ is -2 (write an integer
"""  # noqa: E501
WARNING = "<content>\n<x><id>x</id>¤</x>\n<o><id>o</id><isOutput>true</isOutput></o>\n</content>"
WARNINGS = r"""
<out>o</out><outWeights><o>§4</o></outWeights> ⇒ has weight 4, but an output
<delay>§2</delay><startingSpikes>1</startingSpikes> ⇒ with its <startingSpikes>
<currentRule>§a/a</currentRule> ⇒ saved while this neuron was closed
<bitstring>§1,0</bitstring> ⇒ not an input is not read
§<position unit="px"><x>1</x><y>1</y></position> ⇒ attributes are not read
<position><x>§NaN</x><y>1</y></position> ⇒ the position is 'NaN'
<isOutput>true</isOutput><rules>§a</rules> ⇒ an output node has no rules
<isInput>true</isInput><bitstring>§1011</bitstring> ⇒ by commas: 1,0,1
<rules>§2a/3a-&gt;a;0</rules> ⇒ can never apply
<rules>a/a-&gt;a;0 §a->a;0</rules> ⇒ repeats a -> a (remove one; it counts once); first at 2:21
"""
WHOLE = r"""
<content>⏎§<x/>⏎</content> ⇒ the neuron <x> has no <id>
<content>⏎<x>§<id> </id><out>y</out></x>⏎</content> ⇒ the <id> is empty
<content>⏎<x><id>§⟨x*2000⟩</id></x>⏎</content> ⇒ the <id> has 2000 characters
<content>⏎<x><id>x</id></x>⏎<x><id>§x</id><isOutput>true</isOutput></x>⏎</content> ⇒ declared twice (give each neuron its own name); first at 2:8
<content>⏎⏎  §stray</content> ⇒ 'stray' stands outside of all neurons
§<pnml>⏎<net/></pnml> ⇒ the root element is <pnml> (read are the files of
§{"neurons": []} ⇒ not well-formed XML
<content>⏎<x><id>x</id>⏎</§y></content> ⇒ mismatched tag
<content>⏎<x><id>x</id>§ ⇒ no element found
<content></content>⏎§<content/> ⇒ junk after document element
<content>⏎ <c§'0/></content> ⇒ inside <content> (fix the syntax here; an id
<content>⏎§&foo;</content> ⇒ undefined entity
<content>⏎§⟨\x00⟩</content> ⇒ not well-formed XML
<⟨\x00⟩⟨\x00⟩contst§</o</o⟨\x1c⟩1⏎⟨\x00⟩ ⇒ not well-formed XML
<content>⏎⟨<x>*20⟩§⟨<x>*80⟩⏎</content> ⇒ nested more than 20 deep
<content>⏎§<x/>⏎§<x/>⏎<y><id>y</id><out>x</out><out>z</out></y></content> ⇒ ⇒
<content>⏎<x><id>x</id><spikes>§many</spikes><out>§z</out><out>y</out>§<colour/><rules>a->a;0 a->§;0</rules></x>⏎<y><id>y</id><isInput>§no</isInput><out>x</out><outWeights><x>§0</x></outWeights></y></content> ⇒ the number of spikes is 'many' ⇒ there is no neuron 'z' (the neurons are 'x', 'y') ⇒ known: id, position, rules, startingSpikes ⇒ a number of spikes is missing ⇒ write true or false ⇒ synapse (y, x) has weight 0
§<!DOCTYPE content SYSTEM "http://localhost:9/x.dtd"><content/> ⇒ a document type declaration
§<!DOCTYPE content [<!ENTITY x SYSTEM "file:///etc/x">]><content>&x;</content> ⇒ a document type declaration
⏎§<!DOCTYPE content [<!ENTITY % x SYSTEM "http://localhost:9/"> %x;]><content/> ⇒ a document type declaration
§<!DOCTYPE content><content/> ⇒ a document type declaration
"""  # noqa: E501
BOMB = f"""<?xml version="1.0"?>
§<!DOCTYPE content [
 <!ENTITY a "aaaaaaaaaa">
 {"".join(f'<!ENTITY {chr(c + 1)} "{f"&{chr(c)};" * 10}">' for c in range(97, 106))}
]>
<content><x><id>&j;</id></x></content>"""
OTHER_WARNINGS = r"""
<?xml version="1.0" encoding="§latin-1"?>⏎<content><x><id>é</id></x></content> ⇒ read as UTF-8
<content>⏎<x><id>x</id><outWeights><y>§2</y></outWeights></x>⏎<y><id>y</id></y></content> ⇒ add <out>y</out>
<content>⏎<i><id>i</id><isInput>true</isInput><bitstring>1,0,1</bitstring><out>§o</out><out>x</out></i>⏎<x><id>x</id></x>⏎<o><id>o</id><isOutput>true</isOutput></o></content> ⇒ past all neurons (kept only in notes["direct"])
"""  # noqa: E501
_BOTH = [
    Mistakes(RULES, RULE),
    Mistakes(WHOLE),
    Mistakes([(BOMB, "a document type declaration")]),
]
_INPUT = "<isInput>true</isInput><bitstring>¤</bitstring><out>x</out><out>y</out>"
ENTRIES = (
    f"<content>\n<i><id>i</id>{_INPUT.replace('¤', '1,1,1')}</i>\n<j><id>j</id>"
    f"{_INPUT.replace('¤', '1,1,1').replace('x</out><out>y', '§x')}</j>\n"
    "<x><id>x</id></x><y><id>y</id></y></content>"
)
MISTAKES = {
    "xmp": [
        *_BOTH,
        Mistakes(STRICT, "<content>\n¤\n</content>", level="strict"),
        Mistakes(NEURONS, NEURON),
        Mistakes(WARNINGS, WARNING, of="warnings"),
        Mistakes(OTHER_WARNINGS, of="warnings"),
    ],
    "factory-xml": _BOTH,
}
LIMITS = {
    "xmp": [
        Limit("xmp.elements.MAX_CHARACTERS", len(PAIR) - 1, [("§" + PAIR, "of XML")]),
        Limit("environment.MAX_INPUT_ENTRIES", 8, [(ENTRIES, "more than 8 entries")]),
    ]
}
