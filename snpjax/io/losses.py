"""What a file format cannot hold of a system, every item named before a file is touched."""

import json
import re
import warnings
from collections.abc import Sequence
from dataclasses import replace

from .._text.pickling import PickledError
from .._text.surrogates import HALF, lone_escape
from ..spiking.model.guard import Guard
from ..spiking.model.population import PopulationSystem
from ..spiking.model.rule import RequestRule, Rule
from ..spiking.model.rule_syntax import parse_rule
from ..spiking.model.system import Neuron, SpikingSystem
from ..spiking.model.validity import ModelWarning


#: What items of one kind differ in: pairs of names, quoted names, and numbers.
_OF_ONE = re.compile(r"\([^()]*,[^()]*\)|'[^']*'|-?[0-9]+")
_MAX_KINDS = 20


class Losses:
    """Collects what one format cannot hold, while its writer makes the text without it.

    - `instead`: what messages advise to write.

    A file is refused for `items` that are lost, but not for names that the format replaces, which
    are in `renamed`, and in `notes` with the name of the format.
    """

    def __init__(self, format_name: str, instead: str = "another format"):
        self.format_name, self.instead = format_name, instead
        self.items: list[str] = []
        self.renamed: list[str] = []
        self.notes: list[str] = []

    def add(self, item: str, instead: str) -> None:
        """Note something that the format cannot hold.

        **Arguments:**

        - `item`: such as "guard a(aa)+ of neuron 'r'".
        - `instead`: what is written in its place.
        """
        self.items.append(f"{item} ({instead})")

    def rename(self, item: str, instead: str) -> None:
        """Note a name that the file does not have, or names.

        **Arguments:**

        - `item`: such as "name 'in 1' of a neuron".
        - `instead`: what is written in its place.
        """
        self.renamed.append(f"{item} ({instead})")
        self.notes.append(f"not kept in {self.format_name}: {item} ({instead})")

    def remark(self, text: str) -> None:
        """Note something that other tools do not see.

        **Arguments:**

        - `text`: a clause about what is written.
        """
        self.notes.append(text)

    def note_text(self, name: str, note: object) -> str | None:
        """Format a note of a system as JSON; one that JSON cannot hold is a loss.

        **Arguments:**

        - `name`: the name of the note.
        - `note`: its value.

        **Returns:** the text; `None` for a loss.
        """
        try:
            text = json.dumps(note, allow_nan=False)
            if lone_escape(text) is None:
                return text
            self.add(f"note {name!r}, which contains {HALF}", "left out")
            return None
        except (TypeError, ValueError, RecursionError) as error:  # ValueError: NaN, or a circle
            self.add(f"note {name!r}, which is no JSON: {error}", "left out")
            return None


class WriteError(PickledError, ValueError):
    """A system that a format cannot hold, with every offending item in `items`. The message lists
    one of each kind."""

    def __init__(self, losses: Losses):
        self.items = tuple(losses.items)
        listing = "\n".join(f"  {item}" for item in _by_kind(self.items))
        super().__init__(
            f"{losses.format_name} cannot hold:\n{listing}\n"
            f"Write {losses.instead}, or write with these losses (lossy=True, --lossy)."
        )


class WriteWarning(PickledError, ModelWarning):
    """What was lost in writing with `lossy=True`, every item in `items`."""

    def __init__(self, losses: Losses):
        self.items = tuple(losses.items)
        listing = "\n".join(f"  {item}" for item in self.items)
        super().__init__(f"lost in {losses.format_name}:\n{listing}")


def _by_kind(items: Sequence[str]) -> list[str]:
    """The first of the items that differ in names and numbers only, and how many more there are."""
    kinds: dict[str, list[str]] = {}
    for item in items:
        kinds.setdefault(_OF_ONE.sub("", item), []).append(item)
    found = [
        f"{first}; and {len(others):,} more like it" if others else first
        for first, *others in kinds.values()
    ]
    left = len(found) - _MAX_KINDS
    return [*found[:_MAX_KINDS], *([f"and {left:,} more"] if left > 0 else [])]


def reads_back(value: Guard | Rule | RequestRule) -> bool:
    """Whether the text of a guard or rule is that again."""
    try:
        parse = Guard.parse if isinstance(value, Guard) else parse_rule
        return parse(str(value)) == value
    except ValueError:  # a count above the limit of guards, which is fine as a number
        return False


def with_plain_rules(system: SpikingSystem) -> SpikingSystem:
    """The system without its variant, without requests, and with rules that send everywhere."""
    neurons = [
        Neuron(
            neuron.name,
            neuron.spikes,
            [replace(rule, channel=None) for rule in neuron.rules if isinstance(rule, Rule)],
        )
        for neuron in system.neurons
    ]
    return system.replace(neurons=neurons, variant=None)


def expanded(system: PopulationSystem, losses: Losses) -> SpikingSystem:
    """The system neuron by neuron, for a format without populations; empty after a loss: a rule
    that consumes all without end, or a guard larger than they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        try:
            return system.expand()
        except ValueError as error:
            losses.add(str(error), "nothing is written")
            return SpikingSystem([])
