"""How nondeterminism is resolved: one alternative for every chooser in every step."""

import abc
from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Integer, Key, PyTree, UInt32

from snpjax_formats import bucket
from snpjax_formats.ell import expanded

from .subsets import first_subset, nth_subset, random_subset, scaled


#: No alternative is applicable, or none was chosen.
NO_RULE = -1

#: A chooser with so many ways has too many for their numbers.
MAX_WAYS = 2**23

#: Which alternatives each chooser has, or in how many ways each.
Ways: TypeAlias = (
    Bool[Array, "alternatives choosers *paths"] | Integer[Array, "alternatives choosers *paths"]
)

#: What a choice is asked, and what it answers: which alternatives are `Applicable`, after how many
#: steps, and which is selected by each chooser.
Applicable: TypeAlias = Bool[Array, "alternatives choosers *paths"]
Steps: TypeAlias = Int[Array, "*paths"]
Selected: TypeAlias = Int[Array, "choosers *paths"]
#: Which places may be taken, or are; how many; and whose they are, by the numbers of choosers.
Places: TypeAlias = Bool[Array, "places some *paths"]
Numbers: TypeAlias = Int[Array, "some *paths"]
Choosers: TypeAlias = Int[Array, " some"]

# Up to here a loop over alternatives is unrolled in the program.
_MAX_UNROLLED_ALTERNATIVES = 16


class AbstractChoice(eqx.Module):
    """Chooses one of the applicable alternatives of each chooser, independently.

    For an SN P system a chooser is a neuron and an alternative one of its rules, in order of
    declaration. The choice of a batch chooses for all its paths at once; `paths` is the last axis
    of everything it takes and gives then.
    """

    #: Whether `select` may name an alternative that is not applicable, so that the machine has to
    #: check it.
    may_be_invalid: ClassVar[bool] = True
    #: Whether `select` tells alternatives apart by the numbers that they have in the model, so that
    #: none may be merged.
    tells_numbers: ClassVar[bool] = True

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
        """Which of their candidates some choosers take, `chosen` of them, where an alternative is
        to choose that many. Past the last chooser are those that choose nothing."""


class FirstChoice(AbstractChoice):
    """The first applicable alternative in order of declaration. Consumes no randomness."""

    may_be_invalid: ClassVar[bool] = False
    tells_numbers: ClassVar[bool] = False

    def for_path(self, path: Integer[Array, "*paths"] | int) -> "FirstChoice":
        del path
        return self

    def select(self, applicable: Applicable, step: Steps, state: PyTree) -> Selected:
        del step, state
        return _first(applicable)

    def subset(
        self, candidates: Places, chosen: Numbers, choosers: Choosers, step: Steps
    ) -> Places:
        del choosers, step
        return first_subset(candidates, chosen)


class UniformChoice(AbstractChoice):
    """Each chooser uniform over its applicable alternatives, hence uniform over the valid spiking
    vectors; and then over the subsets that its alternative may take.

    **Arguments:**

    - `key`: a typed PRNG key; it is consumed. Path p uses `fold_in(key, p)`; step and chooser are
      folded in after it, so a path depends on nothing else: not on padding, layout, batch size or
      device.

    32 random bits decide between n alternatives, so their probabilities differ from 1/n by less
    than 2^-32, and 32 bits about each candidate of a subset, which are mixed from the hash of the
    chooser and the number of the candidate.
    """

    key: Key[Array, "*paths"]

    may_be_invalid: ClassVar[bool] = False
    tells_numbers: ClassVar[bool] = False

    def __check_init__(self):
        is_key = isinstance(self.key, jax.Array) and jnp.issubdtype(
            self.key.dtype, jax.dtypes.prng_key
        )
        if not is_key or self.key.shape != ():
            raise ValueError("`key` is not one typed PRNG key. Make it with `jax.random.key(0)`.")
        if str(jr.key_impl(self.key)) not in ("threefry2x32", "rbg"):
            # `select` reads the words of a folded key, which others do not hash.
            raise ValueError(
                f"`key` is a key of {jr.key_impl(self.key)}, whose `fold_in` does not hash. Make "
                "it with `jax.random.key(0)`."
            )

    def for_path(self, path: Integer[Array, "*paths"] | int) -> "UniformChoice":
        return eqx.tree_at(lambda choice: choice.key, self, _fold_in(self.key, jnp.asarray(path)))

    def select(self, applicable: Applicable, step: Steps, state: PyTree) -> Selected:
        del state
        alternatives, choosers = applicable.shape[:2]
        if alternatives == 1:
            return _first(applicable)
        if alternatives >= 1 << 16:
            raise ValueError(
                f"{alternatives} rules in one neuron are too many for `UniformChoice`, which "
                "draws among fewer than 65,536. Merge rules of one effect into one guard."
            )
        keys = _keys(self.key, jnp.arange(choosers), step)
        count = jnp.sum(applicable, axis=0, dtype=jnp.int32)
        return _nth(applicable, scaled(_bits(keys), count))[0]

    def subset(
        self, candidates: Places, chosen: Numbers, choosers: Choosers, step: Steps
    ) -> Places:
        return _random_subset(self.key, candidates, chosen, choosers, step)


class WeightedChoice(AbstractChoice):
    """Each chooser draws among its applicable alternatives with probabilities proportional to
    exp(logit): stochastic SN P systems. Among subsets it draws uniformly.

    **Arguments:**

    - `logits`: `logits[r, i]` is that of rule r of neuron i, counted from 0; what has none has 0.
      -inf is a rule that is never chosen while another one is applicable.
    - `key`: as for `UniformChoice`, and consumed.

    The alternative with the largest logit plus Gumbel noise is taken (Gumbel 1954; Maddison et al.
    2014), whose noise has 24 random bits an alternative.
    """

    logits: Float[Array, "alternatives choosers"]
    key: Key[Array, "*paths"]

    may_be_invalid: ClassVar[bool] = False

    def __init__(self, logits: Float[np.ndarray | Array, "alternatives choosers"], key: Array):
        self.logits, self.key = jnp.asarray(logits, jnp.float32), UniformChoice(key).key
        if self.logits.ndim != 2:
            raise ValueError(f"`logits` has {self.logits.ndim} axes. Give (rules, neurons).")

    def check(self, alternatives: int, choosers: int) -> None:
        """**Raises:** `ValueError` for logits of alternatives that a model does not have."""
        rows, columns = self.logits.shape
        if rows > alternatives or columns > choosers:
            raise ValueError(
                f"`logits` has the shape {self.logits.shape}, but no more than {alternatives} "
                f"rules and {choosers} neurons can be chosen among. Give (rules, neurons)."
            )

    def for_path(self, path: Integer[Array, "*paths"] | int) -> "WeightedChoice":
        return eqx.tree_at(lambda choice: choice.key, self, _fold_in(self.key, jnp.asarray(path)))

    def select(self, applicable: Applicable, step: Steps, state: PyTree) -> Selected:
        del state
        wanted = jnp.where(applicable, self.perturbed(applicable, step), -jnp.inf)
        best = jnp.argmax(wanted, axis=0).astype(jnp.int32)
        # Where all that is applicable has a logit of -inf, it is the first of that.
        is_some = jnp.take_along_axis(applicable, best[None], axis=0)[0]
        return jnp.where(is_some, best, _first(applicable))

    def subset(
        self, candidates: Places, chosen: Numbers, choosers: Choosers, step: Steps
    ) -> Places:
        return _random_subset(self.key, candidates, chosen, choosers, step)

    def perturbed(
        self, applicable: Bool[Array, "alternatives choosers *paths"], step: Int[Array, "*paths"]
    ) -> Float[Array, "alternatives choosers *paths"]:
        """The logit of every alternative plus noise."""
        alternatives, choosers = applicable.shape[:2]
        keys = _keys(self.key, jnp.arange(choosers), step)
        number = expanded(jnp.arange(alternatives, dtype=jnp.uint32), applicable.ndim)
        bits = _bits(_fold_in(keys[None], number))
        uniform = ((bits >> 8).astype(jnp.float32) + 0.5) * 2.0**-24
        return expanded(self.padded(alternatives, choosers), applicable.ndim) - jnp.log(
            -jnp.log(uniform)
        )

    def padded(self, alternatives: int, choosers: int) -> Float[Array, "alternatives choosers"]:
        """The logits padded to that many alternatives and choosers."""
        rows, columns = self.logits.shape
        logits = self.logits[:alternatives, :choosers]
        missing = (0, max(alternatives - rows, 0)), (0, max(choosers - columns, 0))
        return jnp.pad(logits, missing)


class GivenChoices(AbstractChoice):
    """Choices listed in advance: `rules[t, i]` is the alternative of chooser i in step t + 1, or
    `NO_RULE`.

    `subsets[t, i]` is the number of the subset that a plasticity rule takes, in lexicographic order
    from 0; without it the first one. A row must be valid: one applicable alternative where there is
    any, `NO_RULE` elsewhere, and no subset that there is not; otherwise the run ends with
    `RESULTS.choice_refused`. After the last row nothing is chosen. A third axis `paths` gives each
    path its own list. `None` in a nested list also means no rule.
    """

    rules: Int[Array, "steps choosers *paths"]
    subsets: Int[Array, "steps choosers *paths"] | None

    may_be_invalid: ClassVar[bool] = True

    def __init__(
        self,
        rules: Sequence[Sequence[int | None]] | np.ndarray | Array,
        subsets: Sequence[Sequence[int]] | np.ndarray | Array | None = None,
    ):
        self.rules = _as_table("rules", rules, NO_RULE)
        self.subsets = None
        if subsets is not None and np.any(np.asarray(subsets)):
            self.subsets = _as_table("subsets", subsets, 0)
            if self.subsets.shape != self.rules.shape:
                raise ValueError("`subsets` has another shape than `rules`. Give one number each.")

    def for_path(self, path: Integer[Array, "*paths"] | int) -> "GivenChoices":
        if self.rules.ndim == 2:
            return self
        # Past the last list nothing valid is chosen: no path takes over another one's.
        own = self.rules.at[..., path].get(mode="fill", fill_value=NO_RULE - 1)
        some = self.subsets
        if some is not None:
            some = some.at[..., path].get(mode="fill", fill_value=0)
        return eqx.tree_at(
            lambda choice: (choice.rules, choice.subsets),
            self,
            (own, some),
            is_leaf=lambda x: x is None,
        )

    def select(self, applicable: Applicable, step: Steps, state: PyTree) -> Selected:
        del state
        row = self._row(self.rules, step, NO_RULE)
        missing = applicable.shape[1] - row.shape[0]
        if missing < 0:
            raise ValueError(
                f"The given choices name more than {applicable.shape[1]} neurons. Give one column "
                "per neuron."
            )
        padding = [(0, missing)] + [(0, 0)] * (row.ndim - 1)
        return jnp.pad(row, padding, constant_values=NO_RULE)

    def subset(
        self, candidates: Places, chosen: Numbers, choosers: Choosers, step: Steps
    ) -> Places:
        if self.subsets is None:
            return first_subset(candidates, chosen)
        row = self._row(self.subsets, step, 0)
        number = row.at[choosers].get(mode="fill", fill_value=0)
        return nth_subset(candidates, chosen, number)

    def within(self, size: int) -> "GivenChoices":
        """The same for the first `size` choosers, of which more may come later: a row that names
        another one is not valid."""
        if self.rules.shape[1] <= size:
            return self
        names_another = jnp.any(self.rules[:, size:] != NO_RULE, axis=1, keepdims=True)
        subsets = None if self.subsets is None else self.subsets[:, :size]
        return eqx.tree_at(
            lambda choice: (choice.rules, choice.subsets),
            self,
            (jnp.where(names_another, NO_RULE - 1, self.rules[:, :size]), subsets),
            is_leaf=lambda x: x is None,
        )

    def _row(
        self, table: Int[Array, "steps choosers *paths"], step: Int[Array, "*paths"], empty: int
    ) -> Int[Array, "choosers *paths"]:
        if table.ndim == 3 and jnp.ndim(step) == 1:  # a row of its own for each path
            of_path = jnp.arange(table.shape[2])
            row = table.at[step, :, of_path].get(mode="fill", fill_value=empty)
        else:
            row = table.at[step].get(mode="fill", fill_value=empty)
        return jnp.moveaxis(row, -1, 0)


def _as_table(
    name: str, numbers: Sequence[Sequence[int | None]] | np.ndarray | Array, empty: int
) -> Int[Array, "steps choosers *paths"]:
    """Numbers given for steps and choosers, padded to buckets, as machines pad their choosers:
    lists of similar size share a compilation."""
    if isinstance(numbers, np.ndarray | jax.Array):
        given = np.asarray(numbers)
    else:
        rows = [[empty if number is None else number for number in row] for row in numbers]
        ragged = [t for t, row in enumerate(rows, start=1) if len(row) != len(rows[0])]
        if ragged:
            raise ValueError(
                f"Step {ragged[0]} lists {len(rows[ragged[0] - 1])} {name}, step 1 "
                f"{len(rows[0])}. Give one a neuron."
            )
        given = np.asarray(rows) if rows else np.zeros((0, 0), np.int32)
    if not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"`{name}` holds {given.dtype}. Give integers, or None for no rule.")
    if given.size and not -(2**31) < given.min() <= given.max() < 2**31 - 1:
        raise ValueError(f"A number in `{name}` is no rule of any neuron.")
    if given.ndim not in (2, 3):
        raise ValueError(
            f"`{name}` has {given.ndim} axes. Give (steps, neurons) or (steps, neurons, paths)."
        )
    padding = [(0, bucket(size) - size) for size in given.shape[:2]]
    padding += [(0, 0)] * (given.ndim - 2)
    return jnp.asarray(np.pad(given.astype(np.int32), padding, constant_values=empty))


class NumberedChoice(AbstractChoice):
    """The choice of one number: all combinations of applicable alternatives, one for every chooser
    that has any, numbered from 0 with the last chooser varying fastest.

    **Arguments:**

    - `number`: below the product of the numbers of alternatives, and below 2^31. Each has fewer
      than `MAX_WAYS`.
    - `choosers`: those that may have several alternatives, ascending; past the last one, any
      number that is no chooser.
    """

    number: UInt32[Array, "*paths"]
    choosers: Int[Array, " choosers"]

    may_be_invalid: ClassVar[bool] = False
    tells_numbers: ClassVar[bool] = False

    def for_path(self, path: Integer[Array, "*paths"] | int) -> "NumberedChoice":
        del path
        return self

    def select(self, applicable: Applicable, step: Steps, state: PyTree) -> Selected:
        del step, state
        return self.decoded(applicable)[0]

    def decoded(
        self, ways: Ways
    ) -> tuple[Int[Array, "choosers *paths"], Int[Array, "choosers *paths"]]:
        """The alternative of every chooser, and which of its ways, where each has several."""
        counts = num_alternatives(ways, self.choosers)
        digits = _digits(self.number.astype(jnp.int32), counts.astype(jnp.int32))
        rank_dtype = jnp.int8 if _are_few(ways) else jnp.int32
        # Gathered, not scattered: scatters are slow, and this is most of a search.
        neurons, some = ways.shape[1], len(self.choosers)
        at = jnp.full(neurons, some, jnp.int32)
        at = at.at[self.choosers].set(jnp.arange(some, dtype=jnp.int32), mode="drop")
        ranks = digits.astype(rank_dtype).at[at].get(mode="fill", fill_value=0)
        return _nth(ways, ranks)

    def subset(
        self, candidates: Places, chosen: Numbers, choosers: Choosers, step: Steps
    ) -> Places:
        raise ValueError(
            "A number is decoded before a step that chooses subsets. Use `DecodedChoice`."
        )


class DecodedChoice(AbstractChoice):
    """One alternative for every chooser, and the number of the subset that it takes."""

    alternatives: Int[Array, "choosers *paths"]
    subsets: Int[Array, "choosers *paths"]

    may_be_invalid: ClassVar[bool] = False
    tells_numbers: ClassVar[bool] = False

    def for_path(self, path: Integer[Array, "*paths"] | int) -> "DecodedChoice":
        del path
        return self

    def select(self, applicable: Applicable, step: Steps, state: PyTree) -> Selected:
        del applicable, step, state
        return self.alternatives

    def subset(
        self, candidates: Places, chosen: Numbers, choosers: Choosers, step: Steps
    ) -> Places:
        del step
        number = self.subsets.at[choosers].get(mode="fill", fill_value=0)
        return nth_subset(candidates, chosen, number)


def num_alternatives(ways: Ways, choosers: Int[Array, " some"]) -> UInt32[Array, "some *paths"]:
    """Between how many alternatives some choosers choose, each counted as often as it has ways; 1
    where there is none to choose."""
    # Few are counted in bytes: all paths of a search come by here at once.
    dtype = jnp.uint8 if _are_few(ways) else jnp.uint32
    counts = jnp.sum(ways, axis=0, dtype=dtype).at[choosers].get(mode="fill", fill_value=1)
    return jnp.maximum(counts, 1).astype(jnp.uint32)


def _are_few(ways: Ways) -> bool:
    """Whether a byte holds the number of alternatives, and every sum of their ways."""
    return ways.dtype == bool and ways.shape[0] < 128


def _digits(
    number: Int[Array, "*paths"], radix: Int[Array, "some *paths"]
) -> Int[Array, "some *paths"]:
    """A number in mixed radix, the last digit varying fastest."""
    # Where all have one, two or four alternatives, or so on, digits are bits. On a CPU a search of
    # 2 million configurations takes 0.93 of the time so (two cores, jax 0.11.2, 2026-11); on a GPU
    # a branch waits for the host.
    return lax.platform_dependent(number, radix, cpu=_digits_on_cpu, default=_digits_by_division)


def _digits_on_cpu(number: Array, radix: Array) -> Array:
    are_bits = jnp.all(radix & (radix - 1) == 0)
    return lax.cond(are_bits, _digits_by_shifts, _digits_by_division, number, radix)


def _digits_by_division(number: Array, radix: Array) -> Array:
    return lax.scan(_divided, number, radix, reverse=True)[1]


def _digits_by_shifts(number: Array, radix: Array) -> Array:
    return lax.scan(_shifted, number, radix, reverse=True)[1]


def _shifted(
    number: Int[Array, "*paths"], divisor: Int[Array, "*paths"]
) -> tuple[Int[Array, "*paths"], Int[Array, "*paths"]]:
    """Quotient and remainder for powers of two."""
    return number >> lax.population_count(divisor - 1), number & (divisor - 1)


def _divided(
    number: Int[Array, "*paths"], divisor: Int[Array, "*paths"]
) -> tuple[Int[Array, "*paths"], Int[Array, "*paths"]]:
    """Quotient and remainder for 0 <= number < 2^31 and 0 < divisor < `MAX_WAYS`.

    By reciprocals, twice: CPUs have no division of integers for many at once, and it would take
    most of the time of a search.
    """
    reciprocal = 1 / divisor.astype(jnp.float32)
    # The error is below number / divisor * 2^-22 + 1, so that what is left is below 2^10 divisors.
    quotient = (number.astype(jnp.float32) * reciprocal).astype(jnp.int32)
    rest = number - quotient * divisor
    second = jnp.floor(rest.astype(jnp.float32) * reciprocal).astype(jnp.int32)
    quotient, rest = quotient + second, rest - second * divisor
    for _ in range(2):  # the second is off by one at most, and one is to be sure
        step = (rest >= divisor).astype(jnp.int32) - (rest < 0).astype(jnp.int32)
        quotient, rest = quotient + step, rest - step * divisor
    return quotient, rest


def is_valid(
    applicable: Bool[Array, "alternatives choosers *paths"], chosen: Int[Array, "choosers *paths"]
) -> Bool[Array, "choosers *paths"]:
    """Whether each chooser's alternative is applicable, or there is none and none was chosen."""
    in_range = (chosen >= 0) & (chosen < applicable.shape[0])
    at = jnp.take_along_axis(applicable, jnp.where(in_range, chosen, 0)[None], axis=0)[0]
    return jnp.where(jnp.any(applicable, axis=0), in_range & at, chosen == NO_RULE)


def _fold_in(key: Key[Array, "..."], data: Integer[Array, "..."]) -> Key[Array, "..."]:
    """`fold_in` of every key and number, shapes broadcast."""
    shape = jnp.broadcast_shapes(key.shape, data.shape)
    fold = jr.fold_in
    for _ in shape:
        fold = jax.vmap(fold)
    return fold(jnp.broadcast_to(key, shape), jnp.broadcast_to(data, shape))


def _keys(
    key: Key[Array, "*paths"], choosers: Int[Array, " some"], step: Int[Array, "*paths"]
) -> Key[Array, "some *paths"]:
    """A key for each chooser in a step."""
    chooser = expanded(choosers.astype(jnp.uint32), 1 + jnp.ndim(step))
    return _fold_in(_fold_in(key, step)[None], chooser)


def _random_subset(
    key: Key[Array, "*paths"],
    candidates: Bool[Array, "places some *paths"],
    chosen: Int[Array, "some *paths"],
    choosers: Int[Array, " some"],
    step: Int[Array, "*paths"],
) -> Bool[Array, "places some *paths"]:
    words = jr.key_data(_keys(key, choosers, step))
    return random_subset(candidates, chosen, words[..., 0], words[..., 1])


def of_slots(choice: AbstractChoice, number: Int[Array, "slots choosers"]) -> AbstractChoice:
    """The choice where alternative `number[s, i]` stands at place s; given choices stay lists of
    numbers, which the machine looks up."""

    def moved(choice: Any) -> Any:
        if not isinstance(choice, WeightedChoice):
            return choice  # any other leaf
        padded = choice.padded(int(max(len(choice.logits), 1)), number.shape[1])
        at = jnp.clip(number, 0, len(padded) - 1)
        logits = jnp.where(number < len(padded), jnp.take_along_axis(padded, at, axis=0), 0)
        return eqx.tree_at(lambda choice: choice.logits, choice, logits)

    return jax.tree.map(moved, choice, is_leaf=lambda x: isinstance(x, WeightedChoice))


def has_weights(choice: AbstractChoice) -> bool:
    """Whether it is a `WeightedChoice`, or made of one."""
    parts = jax.tree.leaves(choice, is_leaf=lambda x: isinstance(x, WeightedChoice))
    return any(isinstance(x, WeightedChoice) for x in parts)


def knows_numbers(choice: AbstractChoice) -> bool:
    """Whether the choice tells alternatives by their numbers, so that none may be merged."""
    return choice.tells_numbers or has_weights(choice)


def _first(
    applicable: Bool[Array, "alternatives choosers *paths"],
) -> Int[Array, "choosers *paths"]:
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


def _nth(
    ways: Ways, rank: Int[Array, "choosers *paths"]
) -> tuple[Int[Array, "choosers *paths"], Int[Array, "choosers *paths"]]:
    """The alternative whose ways, one after the other, include number `rank`, or `NO_RULE`; and how
    many of its own ways stand before that."""

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


def _bits(keys: Key[Array, "*n"]) -> UInt32[Array, "*n"]:
    """The words of a folded key are the hash of what was folded and so random themselves; drawing
    bits from it would hash once more, which doubles the time of a batch on CPUs."""
    words = jr.key_data(keys)
    return words[..., 0] ^ words[..., 1]
