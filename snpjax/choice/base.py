"""The protocol of choices, the default one, and helpers for writing one."""

import abc
from typing import ClassVar, Protocol, TypeAlias, TypeVar, runtime_checkable

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Int, Integer, PyTree

from snpjax_formats.ell import expanded

from .subsets import first_subset


C = TypeVar("C", bound="AbstractSharedChoice")

#: No alternative is applicable, or none was chosen.
NO_RULE = -1
#: Which alternatives each chooser has, or in how many ways each.
Ways: TypeAlias = (
    Bool[Array, "alternatives choosers *paths"] | Integer[Array, "alternatives choosers *paths"]
)
#: What `select` takes and returns: which alternatives are `Applicable`, after how many steps, and
#: which one each chooser selects.
Applicable: TypeAlias = Bool[Array, "alternatives choosers *paths"]
Steps: TypeAlias = Int[Array, "*paths"]
Selected: TypeAlias = Int[Array, "choosers *paths"]
#: What `subset` takes and returns: which places are candidates, or taken; how many to take; and
#: the numbers of the choosers that take them.
Places: TypeAlias = Bool[Array, "places some *paths"]
Numbers: TypeAlias = Int[Array, "some *paths"]
Choosers: TypeAlias = Int[Array, " some"]
# Up to here a loop over alternatives is unrolled in the program.
_MAX_UNROLLED_ALTERNATIVES = 16


class AbstractChoice(eqx.Module):
    """Chooses one of the applicable alternatives of each chooser, independently.

    For an SN P system a chooser is a neuron and an alternative one of its rules, in order of
    declaration. The choice of a batch chooses for all paths at once; `paths` is then the last
    axis of everything it takes and returns.
    """

    #: Whether `select` may return an alternative that is not applicable, so that the machine has
    #: to check it.
    may_be_invalid: ClassVar[bool] = True
    #: Whether `select` tells alternatives apart by their numbers in the model, so that none may be
    #: merged.
    tells_numbers: ClassVar[bool] = True
    #: Whether it weighs the alternatives by these numbers, as `WeightedChoice` does.
    has_weights: ClassVar[bool] = False

    @abc.abstractmethod
    def for_path(self, path: Integer[Array, "*paths"] | int) -> "AbstractChoice":
        """The choice of one path of a batch, or of several."""

    @abc.abstractmethod
    def select(self, applicable: Applicable, step: Steps, state: PyTree) -> Selected:
        """The alternative of every chooser in the step after `step` steps, or `NO_RULE`.

        `state` is that of the machine: what a policy looks at.
        """

    @abc.abstractmethod
    def subset(
        self, candidates: Places, chosen: Numbers, choosers: Choosers, step: Steps
    ) -> Places:
        """Which of their candidates some choosers take, `chosen` each. Numbers past the last
        chooser are padding, and choose nothing."""


class ChooserRange(eqx.Module):
    """Some of the choosers: those from `first` on, out of `of`."""

    first: Int[Array, ""]
    of: int = eqx.field(static=True)

    def cut(self, table: Array, number: int, *, axis: int, empty: ArrayLike = 0) -> Array:
        """The columns of `number` choosers from a table with columns of the first choosers."""
        axes = [(0, 0)] * table.ndim
        axes[axis] = (0, max(self.of - table.shape[axis], 0))
        padded = jnp.pad(table, axes, constant_values=empty)
        return lax.dynamic_slice_in_dim(padded, self.first, number, axis)


@runtime_checkable
class Splittable(Protocol):
    """A choice that can select for some of the choosers as it would for all of them, so that the
    neurons of a system can be split over devices."""

    def for_choosers(self, own: ChooserRange, number: int) -> AbstractChoice:
        """The choice of `number` choosers, the first of which is `own.first`: for these `select`
        returns what it returns for all. `own.first` is a multiple of 64."""
        ...


def for_choosers(choice: AbstractChoice, own: ChooserRange, number: int) -> AbstractChoice:
    """**Raises:** `TypeError` for a choice that cannot be split."""
    if not isinstance(choice, Splittable):
        raise TypeError(
            f"`{type(choice).__name__}` cannot choose for some of the neurons, which a mesh with "
            "the axis `neurons` needs. Give the class `for_choosers(own, number)`, see "
            "`snpjax.choice.Splittable`."
        )
    return choice.for_choosers(own, number)


class AbstractSharedChoice(AbstractChoice):
    """A choice that is the same for all paths, and always selects what is applicable."""

    may_be_invalid: ClassVar[bool] = False
    tells_numbers: ClassVar[bool] = False

    def for_path(self: C, path: Integer[Array, "*paths"] | int) -> C:
        del path
        return self


class FirstChoice(AbstractSharedChoice):
    """The first applicable alternative in order of declaration. Consumes no randomness."""

    def for_choosers(self, own: ChooserRange, number: int) -> "FirstChoice":
        del own, number
        return self

    def select(self, applicable: Applicable, step: Steps, state: PyTree) -> Selected:
        del step, state
        return first_of(applicable)

    def subset(
        self, candidates: Places, chosen: Numbers, choosers: Choosers, step: Steps
    ) -> Places:
        del choosers, step
        return first_subset(candidates, chosen)


def has_weights(choice: AbstractChoice) -> bool:
    """Whether the choice, or one that it contains, has weights."""

    def is_weighted(x: object) -> bool:
        return isinstance(x, AbstractChoice) and x.has_weights

    return any(map(is_weighted, jax.tree.leaves(choice, is_leaf=is_weighted)))


def knows_numbers(choice: AbstractChoice) -> bool:
    """Whether the choice tells alternatives apart by their numbers, so that none may be merged."""
    return choice.tells_numbers or has_weights(choice)


def answer_of(
    choice: AbstractChoice, applicable: Applicable, step: Steps, state: PyTree
) -> Selected:
    """What a choice selects.

    **Raises:** `TypeError` for anything but an integer for each chooser.
    """
    selected = jnp.asarray(choice.select(applicable, step, state))
    shape = applicable.shape[1:]
    if selected.shape != shape or not jnp.issubdtype(selected.dtype, jnp.integer):
        raise TypeError(
            f"`{type(choice).__name__}.select` returns {selected.dtype} of shape {selected.shape}. "
            f"Return an integer for each chooser, of shape {shape}."
        )
    return selected.astype(jnp.int32) if selected.dtype.itemsize > 4 else selected


def is_valid(applicable: Applicable, chosen: Selected) -> Bool[Array, "choosers *paths"]:
    """Whether each chooser's alternative is applicable, or `NO_RULE` where none is."""
    in_range = (chosen >= 0) & (chosen < applicable.shape[0])
    at = jnp.take_along_axis(applicable, jnp.where(in_range, chosen, 0)[None], axis=0)[0]
    return jnp.where(jnp.any(applicable, axis=0), in_range & at, chosen == NO_RULE)


def first_of(applicable: Applicable) -> Selected:
    """The first applicable alternative of each chooser, or `NO_RULE`."""
    alternatives = applicable.shape[0]
    if alternatives <= _MAX_UNROLLED_ALTERNATIVES:
        # A chain of selects fuses with what comes before and after; a reduction does not.
        first = jnp.full(applicable.shape[1:], NO_RULE, jnp.int32)
        for index in reversed(range(alternatives)):
            first = jnp.where(applicable[index], index, first)
        return first
    # A minimum over indices: `argmax` of booleans is a slow two-operand reduction on CPUs.
    index = expanded(jnp.arange(alternatives, dtype=jnp.int32), applicable.ndim)
    first = jnp.min(jnp.where(applicable, index, alternatives), axis=0, initial=alternatives)
    return jnp.where(first == alternatives, NO_RULE, first)


def nth_of(ways: Ways, rank: Selected) -> tuple[Selected, Selected]:
    """The alternative whose ways, counted in order, include number `rank`, or `NO_RULE`; and how
    many of its own ways come before that."""

    def visit(index, carry):
        before, chosen, own = carry
        after = before + ways[index].astype(rank.dtype)
        is_here = (before <= rank) & (rank < after)
        if ways.dtype == bool:
            is_here = ways[index] & (before == rank)
        chosen = jnp.where(is_here, jnp.asarray(index, rank.dtype), chosen)
        return after, chosen, jnp.where(is_here, rank - before, own)

    carry = (jnp.zeros_like(rank), jnp.full_like(rank, NO_RULE), jnp.zeros_like(rank))
    alternatives = ways.shape[0]
    if alternatives <= _MAX_UNROLLED_ALTERNATIVES:
        for index in range(alternatives):
            carry = visit(index, carry)
    else:
        carry = lax.fori_loop(0, alternatives, visit, carry)
    return carry[1:]
