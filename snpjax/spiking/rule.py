"""The rules of a neuron, and the text people write them in."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from .guard import Guard, GuardError


GuardLike: TypeAlias = (
    Guard | str | int | range | set[int] | frozenset[int] | tuple[int, int | None]
)
Alpha: TypeAlias = Literal["+", "-", "+-", "-+"]

_ARROW = re.compile(r"-+>|→|\\to(?![a-z])|\\rightarrow")
_LAMBDA = frozenset({"lambda", "λ", r"\lambda", "#", "0", "empty"})


class RuleError(ValueError):
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

    The numbers are checked where the neuron's name is known: when a `SpikingSystem` is built.

    ??? cite "Source"
        Ionescu, Paun, Yokomori 2006, section 2. Differs from it in: 1. p > c and E/a^c -> lambda
        with any E are rules too (level *extended*).
    """

    guard: Guard
    consume: int
    produce: int
    delay: int

    def __init__(
        self, guard: GuardLike | None, consume: int, produce: int = 0, delay: int = 0
    ) -> None:
        object.__setattr__(self, "guard", _guard_or_exactly(guard, consume))
        object.__setattr__(self, "consume", consume)
        object.__setattr__(self, "produce", produce)
        object.__setattr__(self, "delay", delay)

    @classmethod
    def parse(cls, text: str) -> "Rule":
        r"""Read `"a^2/a -> a; 1"`, `"a^3 -> lambda"`, `"a(aa)*/a -> a^2"`.

        The arrow may be `->`, `-->`, `→`, `\to`; nothing produced is `lambda`, `λ`, `\lambda`, `#`
        or `0`. Counts are written `a`, `aaa`, `a^3` or `a{3}`.

        **Raises:** `RuleError` with the position of the mistake.
        """
        return _parse(text)

    @property
    def is_forgetting(self) -> bool:
        return self.produce == 0

    def __str__(self) -> str:
        guard = _guard_text(self.guard, self.consume)
        delay = f"; {self.delay}" if self.delay else ""
        produce = _spikes(self.produce) if self.produce else "lambda"
        return f"{guard}{_spikes(self.consume)} -> {produce}{delay}"


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

    def __str__(self) -> str:
        return f"[{self.guard}] -> []_{self.left} || []_{self.right}"


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

    def __str__(self) -> str:
        parent = "" if self.parent is None else f"_{self.parent}"
        return f"[{self.guard}] -> []{parent} / []_{self.bud}"


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
        guard = _guard_text(self.guard, self.consume)
        targets = ", ".join(self.targets)
        return f"{guard}{_spikes(self.consume)} -> {self.alpha}{self.k} {{{targets}}}"


AnyRule: TypeAlias = Rule | DivisionRule | BuddingRule | PlasticityRule
ALPHAS: tuple[str, ...] = get_args(Alpha)


def _guard_or_exactly(guard: GuardLike | None, consume: int) -> Guard:
    if guard is not None:
        return Guard.of(guard)
    # A consumption that is not a count is reported by the system, which knows the neuron; until
    # then no k matches.
    return Guard.exactly(consume) if is_count(consume) else Guard.from_lengths(())


def is_count(value: object) -> bool:
    """Whether `value` is an integer >= 0. NumPy integers are; `True` and `2.0` are not."""
    return (
        hasattr(value, "__index__") and not isinstance(value, bool) and value.__index__() >= 0  # pyright: ignore[reportAttributeAccessIssue]
    )


def _guard_text(guard: Guard, consume: int) -> str:
    """What stands before the consumed spikes: nothing where the guard is exactly those."""
    if guard.is_exactly(consume):
        return ""
    least = guard.minimum
    return f"{_spikes(least) if least and guard.is_exactly(least) else guard}/"


def _spikes(count: int) -> str:
    return "a" if count == 1 else f"a^{count}"


def _parse(text: str) -> Rule:
    arrow = _ARROW.search(text)
    if arrow is None:
        raise RuleError('there is no arrow (write "a^2/a -> a; 1")', text, len(text))
    left, right_start = text[: arrow.start()], arrow.end()
    right, semicolon, delay_text = text[right_start:].partition(";")
    if left.lstrip().startswith("[") or right.lstrip()[:1] in ("[", "+", "-"):
        raise RuleError(
            "only spiking and forgetting rules are written as text "
            "(use DivisionRule, BuddingRule or PlasticityRule)",
            text,
            0,
        )
    guard_text, slash, consume_text = left.rpartition("/")
    guard = None
    if slash:
        guard = _parse_guard(guard_text, text, 0)
    consume_start = len(guard_text) + len(slash)
    consume = _parse_count(consume_text, text, consume_start)
    produce = 0
    if right.strip().lower() not in _LAMBDA:
        produce = _parse_count(right, text, right_start)
    delay = 0
    if semicolon:
        stripped = delay_text.strip()
        if not (stripped.isascii() and stripped.isdigit()):
            at = right_start + len(right) + 1
            raise RuleError('the delay is not a number of steps (write "; 2")', text, at)
        if len(stripped) > 10:
            raise RuleError("the delay is too large", text, right_start + len(right) + 1)
        delay = int(stripped)
    return Rule(guard, consume, produce, delay)


def _parse_guard(part: str, text: str, start: int) -> Guard:
    try:
        return Guard.parse(part)
    except GuardError as error:
        raise RuleError(error.message, text, start + error.position) from error


def _parse_count(part: str, text: str, start: int) -> int:
    if not part.strip():
        raise RuleError('a number of spikes is missing (write "a", "a^3" or "lambda")', text, start)
    spikes = _parse_guard(part, text, start)
    if spikes.minimum is None or not spikes.is_exactly(spikes.minimum):
        at = start + len(part) - len(part.lstrip())
        raise RuleError('this is not one number of spikes (write "a^3")', text, at)
    return spikes.minimum
