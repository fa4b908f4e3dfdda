"""Rules whose numbers may differ from neuron to neuron."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Bool, Int

from snpjax_formats import check_free, graphs, host_free_bytes
from snpjax_formats.by_value import ComparedByValue

from .compatibility import TEXTBOOK, Compatibility
from .guard import Guard
from .rule import ALPHAS, Alpha, GuardLike, PlasticityRule, Rule, name_text, spikes_text
from .rule_syntax import parse_rule
from .rule_table import ALL, UNBOUNDED


#: A number that all neurons of a population share, or one number a neuron.
PerNeuron: TypeAlias = "int | Sequence[int] | Int[np.ndarray, ' neurons']"

#: Terms of a guard as `Guard.terms` gives them: (low, high) or (low, high, period), high `None`
#: without end.
TermsLike: TypeAlias = (
    "Sequence[tuple[PerNeuron, PerNeuron | None] | tuple[PerNeuron, PerNeuron | None, PerNeuron]]"  # noqa: E501
)


class AbstractTemplate:
    """A rule of every neuron of a population: where it applies and what it consumes and emits."""

    guard: "TermsLike | GuardLike | None"
    consume: PerNeuron
    produce: Any
    delay: Any

    @property
    def has_terms(self) -> bool:
        """Whether the guard is terms or an array, which may differ from neuron to neuron."""
        guard = self.guard
        is_listed = isinstance(guard, tuple) and len(guard) > 0 and isinstance(guard[0], tuple)
        return isinstance(guard, list | np.ndarray) or is_listed

    def terms(self) -> list[tuple[Any, Any, Any]]:
        """The guard as terms with a period; `UNBOUNDED` ends those without end."""
        guard: Any = self.guard
        if isinstance(guard, np.ndarray):
            return [(guard, guard, 1)]
        if guard is None:
            return [(self.consume, self.consume, 1)]
        if self.has_terms:
            if not all(isinstance(term, tuple) and len(term) in (2, 3) for term in guard):
                raise ValueError("a term of the guard is no (low, high) or (low, high, period)")
            padded = [(*term, 1) if len(term) == 2 else term for term in guard]
        else:
            padded = Guard.of(guard).terms()
        return [(low, UNBOUNDED if high is None else high, period) for low, high, period in padded]


@dataclass(frozen=True, eq=False)
class RuleTemplate(ComparedByValue, AbstractTemplate):
    """A rule of every neuron of a population, whose numbers may differ from neuron to neuron.

    **Arguments:**

    - `guard`: disjoint terms `(low, high)` or `(low, high, period)` of numbers or of arrays with
      one number a neuron; where low > high the term is empty. Or anything that `Rule` takes, shared
      by all neurons. An array means exactly its number of spikes in each neuron, `None` exactly
      `consume` spikes.
    - `consume`: c >= 1, or `ALL`: the family of the forgetting rules `a^s -> lambda` for every s of
      the guard, as one rule.
    - `produce`, `delay`: as in `Rule`.

    Applicable at k spikes iff a term holds k and k >= c. Numbers are checked when the system is
    built.
    """

    guard: "TermsLike | GuardLike | None"
    consume: PerNeuron
    produce: PerNeuron = 0
    delay: PerNeuron = 0

    @classmethod
    def of(cls, rule: "RuleTemplate | Rule | str") -> "RuleTemplate":
        """A template of a rule that all neurons share."""
        if isinstance(rule, RuleTemplate):
            return rule
        parsed = parse_rule(rule) if isinstance(rule, str) else rule
        if isinstance(parsed, PlasticityRule):
            raise TypeError(
                f"{rule} names neurons (write PlasticityTemplate(guard, consume, alpha, k, "
                "{population: graph}))"
            )
        rule = Rule.parse(rule) if isinstance(rule, str) else rule
        if not isinstance(rule, Rule):
            raise TypeError(
                f'{rule!r} is not a rule (write "a -> a", Rule(...) or RuleTemplate(...))'
            )
        if rule.channel is not None or rule.sign != 1:
            raise TypeError(
                f"{rule} is of a variant, which populations do not support (write a rule of "
                "spikes without a channel, or make a SpikingSystem)"
            )
        return cls(rule.guard, rule.consume, rule.produce, rule.delay)


@dataclass(frozen=True, eq=False)
class PlasticityTemplate(ComparedByValue, AbstractTemplate):
    """A plasticity rule of every neuron of a population, whose numbers, kind and targets may differ
    from neuron to neuron.

    **Arguments:**

    - `guard`, `consume`: as in `RuleTemplate`; `ALL` is not a number of spikes here.
    - `alpha`: as in `PlasticityRule`, or one text a neuron.
    - `k`: how many synapses, at least 1.
    - `targets`: the set N of every neuron: a graph from this population to another, or to itself,
      by the name of that one, of weight 1 and as in a `Projection`. `{"m": graphs.Pairs(source,
      target)}` lists them; a neuron may have targets in several populations. Edges of neurons
      without the rule, whose terms are all empty, say nothing.

    Numbers and targets are checked when the system is built.
    """

    guard: "TermsLike | GuardLike | None"
    consume: PerNeuron
    alpha: "Alpha | Sequence[Alpha] | np.ndarray"
    k: PerNeuron
    targets: Mapping[str, graphs.AnyGraph]
    produce: int = field(default=0, init=False, repr=False)
    delay: int = field(default=0, init=False, repr=False)

    @cached_property
    def descriptions(self) -> Mapping[str, graphs.AbstractGraph]:
        """`targets` as descriptions."""
        return {name: description_of(graph) for name, graph in self.targets.items()}

    @cached_property
    def kind(self) -> Int[np.ndarray, "*neurons"]:
        """The place of `alpha` in `ALPHAS`."""
        return np.argmax([np.asarray(self.alpha) == alpha for alpha in ALPHAS], axis=0)


def description_of(graph: graphs.AnyGraph) -> graphs.AbstractGraph:
    """A graph of any library as a description."""
    if isinstance(graph, graphs.AbstractGraph):
        return graph
    if isinstance(graph, graphs.SparseMatrix):
        return graphs.from_scipy(graph)
    if isinstance(graph, graphs.NetworkxGraph):
        return graphs.from_networkx(graph)
    raise TypeError(
        f"{graph!r} is not a graph (give one of snpjax.graphs, a scipy.sparse matrix or a "
        "networkx graph)"
    )


def column(values: Any, size: int) -> Int[np.ndarray, " neurons"]:
    """A number, or one number a neuron, as one number a neuron."""
    return np.broadcast_to(np.asarray(values, np.int64), (size,))


def is_shared(template: AbstractTemplate) -> bool:
    """Whether the rule applies, consumes, produces and delays alike in every neuron."""
    numbers = [template.consume, template.produce, template.delay]
    return all(np.ndim(x) == 0 for term in [numbers, *template.terms()] for x in term)


def raised_terms(
    template: AbstractTemplate, compatibility: Compatibility = TEXTBOOK
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The terms as arrays, rewritten according to `compatibility` and raised to the counts at which
    the rule may apply: of at least what it consumes.

    **Raises:** `ValueError` for a guard that `compatibility` cannot take.
    """
    consume = np.asarray(template.consume, np.int64)
    least = np.maximum(consume, 1)  # `ALL` takes one or more
    if compatibility.unchecked_consumption is not None:
        least = np.where(consume == ALL, 1, int(compatibility.needs_spikes))
    terms = [tuple(np.asarray(x, np.int64) for x in term) for term in template.terms()]
    if compatibility.threshold_rules:
        terms = _without_end(terms, consume)
    if compatibility.guard_modulo is not None:
        terms = _reduced(terms, consume, compatibility.guard_modulo)
    raised = []
    for low, high, period in terms:
        missing = np.maximum(least - low, 0)
        raised.append((low + -(-missing // period) * period, high, period))
    return raised


def _without_end(terms: list[tuple[Any, ...]], consume: np.ndarray) -> list[tuple[Any, ...]]:
    """Guards of exactly what is consumed from there on without end."""
    if np.any(consume == ALL):
        raise ValueError(
            "`threshold_rules` makes other rules of a consume-all rule: each of its members is a "
            "rule without regular expression (list them, with guards that accept several counts)"
        )
    used = sum((low <= high).astype(np.int64) for low, high, _ in terms)
    changed = []
    for low, high, period in terms:
        is_exact = _is_one(low, high, period) & (used == 1) & (low == consume)
        changed.append((low, np.where(is_exact, UNBOUNDED, high), np.where(is_exact, 1, period)))
    return changed


def _reduced(
    terms: list[tuple[Any, ...]], consume: np.ndarray, modulo: int
) -> list[tuple[Any, ...]]:
    """Guards of one constant with that constant reduced; others must have small constants."""
    if all(np.all((term[0] > term[1]) | (_largest(*term) < modulo)) for term in terms):
        return terms
    if len(terms) > 1 or np.any(consume == ALL):
        raise ValueError(
            f"`guard_modulo` takes guards of one constant here, or of constants below {modulo} "
            "(use `expand().with_compatibility(...)`)"
        )
    low, high, period = terms[0]
    is_one = _is_one(low, high, period)
    is_tail = (high == UNBOUNDED) & (period == 1)
    if not np.all((low > high) | is_one | is_tail):
        raise ValueError(
            f"`guard_modulo` takes the guards x = n and x >= n (give a guard whose constants are "
            f"below {modulo}, or use `expand().with_compatibility(...)`)"
        )
    is_empty, reduced = low > high, low % modulo
    high = np.where(is_one, reduced, high)
    return [(np.where(is_empty, 1, reduced), np.where(is_empty, 0, high), period)]


def _is_one(low: np.ndarray, high: np.ndarray, period: np.ndarray) -> np.ndarray:
    """Where a term holds one count."""
    return (low <= high) & ((high - low) // period == 0)


def _largest(low: np.ndarray, high: np.ndarray, period: np.ndarray) -> np.ndarray:
    """The largest constant of a term; of one without end its last residue."""
    return np.where(high == UNBOUNDED, low + period - 1, high)


def slots_of_template(
    template: AbstractTemplate,
    number: int,
    size: int,
    *,
    faithful: bool,
    compatibility: Compatibility = TEXTBOOK,
) -> list[tuple[Int[np.ndarray, " types"], ...]]:
    """The slots of a rule in the order of `Slot`, each a column over `size` types."""
    slots: list[tuple[Any, ...]] = []
    for low, high, period in raised_terms(template, compatibility):
        if faithful and np.any(np.asarray(template.consume) == ALL):
            slots += _members(low, high, period, number, size)
        else:
            effect = (template.consume, template.produce, template.delay)
            slots.append((low, high, period, *effect, number))
    return [tuple(column(x, size) for x in slot) for slot in slots]


def _members(low: Any, high: Any, period: Any, number: int, size: int) -> list[tuple[Any, ...]]:
    """A consume-all slot taken apart: one slot a count."""
    if np.any(high == UNBOUNDED):
        raise ValueError(
            "A consume-all rule whose guard has no end cannot be taken apart. Give the guard a "
            "largest count."
        )
    most = int(np.max((high - low) // period, initial=-1)) + 1
    needed = most * size * 2 * 7 * 8
    check_free(
        needed,
        host_free_bytes(),
        f"{most:,} forgetting rules for each of {size:,} types of neurons take one by one",
        "Leave `faithful` out.",
    )
    counts = [low + nth * period for nth in range(most)]
    return [(n, np.where(n <= high, n, 0), 1, n, 0, 0, number) for n in counts]


def rules_of_neuron(
    template: AbstractTemplate, index: int, size: int, targets: Sequence[str] = ()
) -> Sequence[Rule | PlasticityRule]:
    """The rules that one neuron has: none where all terms are empty, and the members of a
    consume-all rule. `targets` are the set N of plasticity.

    **Raises:** `ValueError` for a consume-all rule whose guard has no end.
    """
    (consume, produce, delay), *terms = _numbers_of(template, index, size)
    guard = guard_of(terms)
    if guard.is_empty:
        return []
    if isinstance(template, PlasticityTemplate):
        kind, k = (int(column(x, size)[index]) for x in (template.kind, template.k))
        alpha: Any = ALPHAS[kind]
        return [PlasticityRule(guard, consume, alpha, k, targets)]
    if consume != ALL:
        return [Rule(guard, consume, produce, delay)]
    members = []
    for low, high, period in guard.terms(1):
        if high is None:
            raise ValueError(
                "A consume-all rule whose guard has no end has no list of members. Give the guard "
                "a largest count."
            )
        members += [Rule(None, count) for count in range(low, high + 1, period)]
    return members


def has_rule(template: AbstractTemplate, size: int) -> Bool[np.ndarray, " neurons"]:
    """Which neurons have the rule: those where some term holds a count."""
    has = np.zeros(size, bool)
    for low, high, _ in template.terms():
        has |= np.asarray(low) <= np.asarray(high)
    return has


def num_rules_of(template: AbstractTemplate, size: int) -> int:
    """How many rules it is in all neurons, each member of a consume-all rule counted; such a rule
    whose guard has no end counts as one."""
    if not np.any(np.asarray(template.consume) == ALL):
        return int(np.count_nonzero(has_rule(template, size)))
    members, is_endless = np.zeros(size), np.zeros(size, bool)  # floats do not wrap
    for low, high, period in raised_terms(template):
        members += np.where(low <= high, (high - low) // period + 1, 0)
        is_endless |= (low <= high) & (high == UNBOUNDED)
    return int(np.where(is_endless, 1, members).sum())


def text_of_neuron(
    template: AbstractTemplate, index: int, size: int, targets: Iterable[str] | None = None
) -> str:
    """The rule of one neuron, `{2..9 by 3}/a^2 -> a; 1`. `targets` are the set N of plasticity;
    when they are left out, their populations are named."""
    (consume, produce, delay), *terms = _numbers_of(template, index, size)
    inside = text_of_terms(terms)
    guard = "" if inside == f"{{{consume}}}" else f"{inside}/"
    consumed = "all" if consume == ALL else spikes_text(consume)
    if isinstance(template, PlasticityTemplate):
        change = f"{ALPHAS[column(template.kind, size)[index]]}{column(template.k, size)[index]}"
        names = ", ".join(map(name_text, template.targets if targets is None else targets))
        return f"{guard}{consumed} -> {change} {{{names}}}"
    produced = spikes_text(produce) if produce else "lambda"
    return f"{guard}{consumed} -> {produced}{f'; {delay}' if delay else ''}"


def texts_of_template(template: AbstractTemplate, size: int) -> list[str]:
    """The rule that all neurons share, or those of the first and the last."""
    is_plastic = isinstance(template, PlasticityTemplate)
    own = (template.alpha, template.k) if is_plastic else ()
    if not is_shared(template) or any(np.ndim(x) for x in own):
        return [text_of_neuron(template, i, size) for i in (0, size - 1)]
    guard, consume = template.guard, template.consume
    if template.has_terms or not isinstance(consume, int) or consume <= 0:
        return [text_of_neuron(template, 0, size)]
    if is_plastic:
        rule = PlasticityRule(guard, consume, *own, template.targets)  # pyright: ignore
    else:
        rule = Rule(guard, consume, template.produce, template.delay)  # pyright: ignore
    return [f"{rule}"]


def _numbers_of(template: AbstractTemplate, index: int, size: int) -> list[tuple[int, ...]]:
    """What the rule of one neuron consumes, produces and delays, and the terms of its guard."""
    effect = (template.consume, template.produce, template.delay)
    rows = [effect, *template.terms()]
    return [tuple(int(column(x, size)[index]) for x in row) for row in rows]


def text_of_terms(terms: Iterable[Sequence[int]]) -> str:
    """The counts of terms, `{2..9 by 3, 20..}`."""
    parts = []
    for low, high, period in terms:
        if low <= high:
            end = f"..{'' if high == UNBOUNDED else high}" if high > low else ""
            parts.append(f"{low}{end}{f' by {period}' if period > 1 and end else ''}")
    return f"{{{', '.join(parts)}}}"


def guard_of(terms: Iterable[Sequence[int]]) -> Guard:
    """Terms of one neuron as a guard.

    **Raises:** `ValueError` for one larger than `Guard` takes.
    """
    guard = Guard.from_lengths(())
    for low, high, period in terms:
        if low > high:
            continue
        if high == UNBOUNDED:
            guard |= Guard.from_normal_form((), low, period, (low,))
        else:
            guard |= Guard.from_lengths(range(low, high + 1, period))
    return guard
