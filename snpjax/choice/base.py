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
        """The choice of some paths of a batch.

        **Arguments:**

        - `path`: the number of a path, or an array of them.
        """

    @abc.abstractmethod
    def select(self, applicable: Applicable, step: Steps, state: PyTree) -> Selected:
        """Select an alternative for each chooser.

        **Arguments:**

        - `applicable`: `(alternatives, choosers, *paths)` whether each alternative can be selected.
        - `step`: `(*paths,)` the number of steps made so far.
        - `state`: the state of the machine, which a policy may inspect.

        **Returns:** `(choosers, *paths)` integers: alternatives, or `NO_RULE` where none is
        applicable.
        """

    @abc.abstractmethod
    def subset(
        self, candidates: Places, chosen: Numbers, choosers: Choosers, step: Steps
    ) -> Places:
        """Select the targets of plasticity rules: a subset of a given size for each of some
        choosers.

        **Arguments:**

        - `candidates`: `(places, some, *paths)` whether each place can be taken.
        - `chosen`: `(some, *paths)` how many places each takes.
        - `choosers`: `(some,)` the numbers of these choosers; those past the last chooser are
          padding.
        - `step`: `(*paths,)` the number of steps made so far.

        **Returns:** `(places, some, *paths)` whether each place is taken.
        """


class ChooserRange(eqx.Module):
    """Some of the choosers: those from `first` on, out of `of`."""

    first: Int[Array, ""]
    of: int = eqx.field(static=True)

    def cut(self, table: Array, number: int, *, axis: int, empty: ArrayLike = 0) -> Array:
        """Take the columns of these choosers from a table.

        **Arguments:**

        - `table`: an array whose axis `axis` belongs to the first choosers; it may be shorter than
          `of`.
        - `number`: the number of choosers to take, from `first` on.
        - `axis`: the axis of the choosers.
        - `empty`: the value of columns past the end of the table.

        **Returns:** the table with `number` entries along `axis`.
        """
        axes = [(0, 0)] * table.ndim
        axes[axis] = (0, max(self.of - table.shape[axis], 0))
        padded = jnp.pad(table, axes, constant_values=empty)
        return lax.dynamic_slice_in_dim(padded, self.first, number, axis)


@runtime_checkable
class Splittable(Protocol):
    """A choice that can select for some of the choosers as it would for all of them, so that the
    neurons of a system can be split over devices."""

    def for_choosers(self, own: ChooserRange, number: int) -> AbstractChoice:
        """The choice of consecutive choosers: `select` returns for them what it returns for all.

        **Arguments:**

        - `own`: the range, whose `first` is a multiple of 64.
        - `number`: the number of choosers in it.
        """
        ...


def for_choosers(choice: AbstractChoice, own: ChooserRange, number: int) -> AbstractChoice:
    """The choice of some consecutive choosers, for a device that holds a part of the neurons.

    **Arguments:**

    - `choice`: a `Splittable` choice.
    - `own`: the range, whose `first` is a multiple of 64.
    - `number`: the number of choosers in it.

    **Returns:** a choice that selects for these choosers what `choice` selects for them.

    **Raises:** `TypeError` for a choice that cannot be split.
    """
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
    """Whether a choice weighs alternatives by their numbers.

    **Arguments:**

    - `choice`: a choice, which may contain others.

    **Returns:** whether it, or a choice inside it, sets `has_weights`.
    """

    def is_weighted(x: object) -> bool:
        return isinstance(x, AbstractChoice) and x.has_weights

    return any(map(is_weighted, jax.tree.leaves(choice, is_leaf=is_weighted)))


def knows_numbers(choice: AbstractChoice) -> bool:
    """Whether a choice distinguishes alternatives by their numbers, so that lowering must not merge
    any.

    **Arguments:**

    - `choice`: a choice, which may contain others.

    **Returns:** whether it sets `tells_numbers`, or it or a choice inside it sets `has_weights`.
    """
    return choice.tells_numbers or has_weights(choice)


def answer_of(
    choice: AbstractChoice, applicable: Applicable, step: Steps, state: PyTree
) -> Selected:
    """Call `select` and check what it returns.

    **Arguments:**

    - `choice`, `applicable`, `step`, `state`: as in `AbstractChoice.select`.

    **Returns:** `(choosers, *paths)` alternatives, in 32 bits at most.

    **Raises:** `TypeError` if `select` returned anything but one integer for each chooser.
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
    """Whether a selection is valid.

    **Arguments:**

    - `applicable`: `(alternatives, choosers, *paths)` whether each alternative can be selected.
    - `chosen`: `(choosers, *paths)` the selected alternatives.

    **Returns:** `(choosers, *paths)`: true for an applicable alternative, and for `NO_RULE` where
    none is applicable.

    **Raises:** `ValueError` if the shapes do not fit.
    """
    if applicable.shape[1:] != chosen.shape:
        raise ValueError(
            f"`applicable` has the shape {applicable.shape} and `chosen` {chosen.shape}. Pass one "
            "axis of alternatives in front of the axes of `chosen`."
        )
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
