"""The rules of a neuron, and how they are written. `rule_syntax` reads them."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, get_args

from ..._text.pickling import PickledError
from .guard import Guard, as_integer


GuardLike: TypeAlias = (
    Guard | str | int | range | set[int] | frozenset[int] | tuple[int, int | None]
)
Alpha: TypeAlias = Literal["+", "-", "+-", "-+"]

#: A name as rule texts hold it; any other name is quoted, as in JSON.
PLAIN_NAME = re.compile(r"[\w#.]+(?:\{[\w,+-]*\})?")

#: What to do where a rule would name several channels.
ONE_CHANNEL = "for several, give their synapses to one more channel and name that"

#: A label of a channel as rule texts hold it; any other label is quoted, too.
PLAIN_CHANNEL = re.compile(r"(?![aā]+(?![\w#.]))[\w#.]+")

#: The letter of anti-spikes.
ANTI_SPIKE = "ā"


class RuleError(PickledError, ValueError):
    """A rule text that does not parse: `message`, `text` and the 0-based `position` in it."""

    def __init__(self, message: str, text: str, position: int):
        self.message, self.text, self.position = message, text, position
        super().__init__(f"rule {text!r}: {message}, at character {position + 1}")


@dataclass(frozen=True, slots=True)
class Rule:
    """A spiking rule `E/a^c -> a^p; d`, or a forgetting rule `E/a^c -> lambda` when `produce` is 0.

    Applicable in an open neuron with k spikes iff k is in L(E) **and** k >= c. It removes `consume`
    spikes when it is selected; `produce` spikes leave `delay` steps later, and until then the
    neuron is closed.

    **Arguments:**

    - `guard`: the regular expression E as text, or anything `Guard.of` takes; `None` means exactly
      `consume` spikes.
    - `consume`: c >= 1, spikes.
    - `produce`: p >= 0, spikes.
    - `delay`: d >= 0, steps.
    - `channel`: the label l of a rule `E/a^c -> a^p(l)` (only with the variant `Channels`): its
      spikes leave along the synapses of that channel.
    - `sign`: -1 for a rule of anti-spikes, which are negative spikes (only with the variant
      `AntiSpikes`): its guard is tested on their number, `consume` of them are removed, and both
      are written with `ā`. A negative `produce` sends anti-spikes, whatever the sign.

    The numbers are checked where the neuron's name is known: when a `SpikingSystem` is built.

    ??? cite "Source"
        Ionescu, Paun, Yokomori 2006, section 2. Differs from it in: 1. p > c and E/a^c -> lambda
        with any E are rules too (level *extended*).
    """

    guard: Guard
    consume: int
    produce: int
    delay: int
    sign: int
    channel: str | None

    def __init__(
        self,
        guard: GuardLike | None,
        consume: int,
        produce: int = 0,
        delay: int = 0,
        sign: int = 1,
        channel: str | None = None,
    ) -> None:
        object.__setattr__(self, "guard", _guard_or_exactly(guard, consume))
        object.__setattr__(self, "consume", consume)
        object.__setattr__(self, "produce", produce)
        object.__setattr__(self, "delay", delay)
        object.__setattr__(self, "sign", sign)
        object.__setattr__(self, "channel", channel)

    @classmethod
    def parse(cls, text: str) -> "Rule":
        r"""Read `"a^2/a -> a; 1"`, `"a^3 -> lambda"`, `"a(aa)*/a -> a^2"`, `"ā^2/ā -> a"`,
        `"a^2/a -> a(1)"`.

        The arrow may be `->`, `-->`, `→`, `\to`; nothing produced is `lambda`, `λ`, `\lambda`, `#`
        or `0`. Counts are written `a`, `aaa`, `a^3` or `a{3}`.

        **Raises:** `RuleError` with the position of the mistake, and for a text that is a rule of
        another kind.
        """
        from .rule_syntax import parse_rule  # which makes rules

        rule = parse_rule(text)
        if not isinstance(rule, Rule):
            does = "is a request" if isinstance(rule, RequestRule) else "changes the network"
            message = (
                f"only spiking and forgetting rules are read here, and this rule {does} "
                f"(give it to a neuron, or write {type(rule).__name__}(...))"
            )
            raise RuleError(message, text, len(text) - len(text.lstrip()))
        return rule

    @property
    def is_forgetting(self) -> bool:
        return self.produce == 0

    @property
    def has_anti_spikes(self) -> bool:
        """Return whether the rule consumes or produces anti-spikes."""
        return self.sign < 0 or self.produce < 0

    def __str__(self) -> str:
        return rule_text(self)


@dataclass(frozen=True, slots=True)
class DivisionRule:
    """A division rule `[E]_i -> []_j || []_k`: the neuron becomes two empty neurons labelled `left`
    and `right`.

    ??? cite "Source"
        Pan, Paun, Perez-Jimenez 2011. Division and budding rules have no delay.
    """

    guard: Guard
    left: str
    right: str

    def __init__(self, guard: GuardLike, left: str, right: str) -> None:
        object.__setattr__(self, "guard", Guard.of(guard))
        object.__setattr__(self, "left", left)
        object.__setattr__(self, "right", right)

    @property
    def born(self) -> tuple[str, ...]:
        """The labels of the two neurons."""
        return self.left, self.right

    def __str__(self) -> str:
        return rule_text(self)


@dataclass(frozen=True, slots=True)
class BuddingRule:
    """A budding rule `[E]_i -> []_x / []_y`: the neuron keeps its incoming synapses, the bud takes
    the outgoing ones.

    `parent` is the label x; `None` means that the neuron keeps its own label i, which is the only
    form of level *strict*.

    ??? cite "Source"
        Pan, Paun, Perez-Jimenez 2011.
    """

    guard: Guard
    bud: str
    parent: str | None

    def __init__(self, guard: GuardLike, bud: str, parent: str | None = None) -> None:
        object.__setattr__(self, "guard", Guard.of(guard))
        object.__setattr__(self, "bud", bud)
        object.__setattr__(self, "parent", parent)

    @property
    def born(self) -> tuple[str, ...]:
        """The new label of the parent, if any, and that of the bud."""
        return (self.bud,) if self.parent is None else (self.parent, self.bud)

    def __str__(self) -> str:
        return rule_text(self)


@dataclass(frozen=True, slots=True)
class PlasticityRule:
    """A plasticity rule `E/a^c -> alpha k (i, N)`: create or delete up to `k` synapses from this
    neuron to `targets`.

    **Arguments:**

    - `alpha`: `"+"` creates, `"-"` deletes, `"+-"` creates and deletes one step later, `"-+"` the
      reverse.
    - `k`: how many synapses, at least 1.
    - `targets`: the set N of neuron names, without the neuron itself.

    ??? cite "Source"
        Cabarle, Adorna, Perez-Jimenez, Song 2015.
    """

    guard: Guard
    consume: int
    alpha: Alpha
    k: int
    targets: tuple[str, ...]

    def __init__(
        self,
        guard: GuardLike | None,
        consume: int,
        alpha: Alpha,
        k: int,
        targets: Sequence[str],
    ) -> None:
        object.__setattr__(self, "guard", _guard_or_exactly(guard, consume))
        object.__setattr__(self, "consume", consume)
        object.__setattr__(self, "alpha", alpha)
        object.__setattr__(self, "k", k)
        object.__setattr__(self, "targets", tuple(targets))

    def __str__(self) -> str:
        return rule_text(self)


class SpikeQuery(NamedTuple):
    """Asks a neuron for this many of its spikes, or for all of them if `None`."""

    spikes: int | None
    neuron: str

    def __str__(self) -> str:
        spikes = "a^inf" if self.spikes is None else spikes_text(self.spikes)
        return f"({spikes}, {name_text(self.neuron)})"


@dataclass(frozen=True, slots=True)
class RequestRule:
    """A request `E/Q(a^n, j)(a^inf, k)`: a neuron whose spikes are in L(E) asks n spikes of neuron
    j, and all those of neuron k, according to `Requests`.

    **Arguments:**

    - `queries`: `SpikeQuery(n, "j")` and `SpikeQuery(None, "k")`, or such pairs; one for each
      neuron asked.
    """

    guard: Guard
    queries: tuple[SpikeQuery, ...]

    def __init__(self, guard: GuardLike, queries: Sequence[tuple[int | None, str]]) -> None:
        object.__setattr__(self, "guard", Guard.of(guard))
        object.__setattr__(self, "queries", tuple(SpikeQuery(*query) for query in queries))

    def __str__(self) -> str:
        return rule_text(self)


AnyRule: TypeAlias = Rule | DivisionRule | BuddingRule | PlasticityRule | RequestRule
ALPHAS: tuple[str, ...] = get_args(Alpha)


def rule_text(rule: AnyRule, label: str | None = None) -> str:
    """A rule in the usual notation, which `rule_syntax.parse_rule` reads again.

    **Arguments:**

    - `label`: that of its neuron, which rules that change the network name: `[a^2]_i -> []_j ||
      []_k`. Without it they read `[a^2] -> []_j || []_k`.
    """
    owner = "" if label is None else f"_{name_text(label)}"
    match rule:
        case DivisionRule():
            guard = _counts_text(rule.guard)
            return f"[{guard}]{owner} -> []_{name_text(rule.left)} || []_{name_text(rule.right)}"
        case BuddingRule():
            guard = _counts_text(rule.guard)
            parent = owner if rule.parent is None else f"_{name_text(rule.parent)}"
            return f"[{guard}]{owner} -> []{parent} / []_{name_text(rule.bud)}"
        case RequestRule():
            return f"{_counts_text(rule.guard)}/Q{''.join(map(str, rule.queries))}"
        case PlasticityRule():
            targets = f"{{{', '.join(map(name_text, rule.targets))}}}"
            change = f" {targets}" if label is None else f"({name_text(label)}, {targets})"
            return f"{_left_text(rule)} -> {rule.alpha}{rule.k}{change}"
    produce = "lambda"
    if rule.produce:
        is_negative = (as_integer(rule.produce) or 0) < 0
        produce = _anti(spikes_text(-rule.produce)) if is_negative else spikes_text(rule.produce)
    channel = "" if rule.channel is None else f"({channel_text(str(rule.channel))})"
    delay = f"; {rule.delay}" if rule.delay else ""
    return f"{_left_text(rule)} -> {produce}{channel}{delay}"


def _guard_or_exactly(guard: GuardLike | None, consume: int) -> Guard:
    if guard is not None:
        return Guard.of(guard)
    # A consumption that is not a count is reported by the system, which knows the neuron; until
    # then no k matches.
    return Guard.exactly(consume) if is_count(consume) else Guard.from_lengths(())


def is_count(value: object) -> bool:
    """Whether `value` is an integer >= 0. NumPy integers are; `True` and `2.0` are not."""
    count = None if isinstance(value, bool) else as_integer(value)
    return count is not None and count >= 0


def _left_text(rule: Rule | PlasticityRule) -> str:
    """What stands before the arrow: no guard where it is exactly the spikes consumed."""
    guard = "" if rule.guard.is_exactly(rule.consume) else f"{_counts_text(rule.guard)}/"
    left = guard + spikes_text(rule.consume)
    return _anti(left) if isinstance(rule, Rule) and rule.sign == -1 else left


def _counts_text(guard: Guard) -> str:
    least = guard.minimum
    return spikes_text(least) if least and guard.is_exactly(least) else str(guard)


def _anti(text: str) -> str:
    """A text of spikes as that of anti-spikes."""
    return text.replace("a", ANTI_SPIKE)


def spikes_text(count: int) -> str:
    """A number of spikes, as `a^3`."""
    return "a" if count == 1 else f"a^{count}"


def channel_text(label: str) -> str:
    """The label of a channel as rules hold it; `a` alone would be spikes."""
    return label if PLAIN_CHANNEL.fullmatch(label) else json.dumps(label, ensure_ascii=False)


def name_text(name: str) -> str:
    """A name as rules hold it."""
    return name if PLAIN_NAME.fullmatch(name) else json.dumps(name, ensure_ascii=False)
