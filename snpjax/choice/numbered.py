"""All combinations of alternatives by their numbers: what a search goes through."""

import jax.lax as lax
import jax.numpy as jnp
from jaxtyping import Array, Int, PyTree, UInt32

from .._tiered import estimate
from .base import (
    AbstractSharedChoice,
    Applicable,
    Choosers,
    Numbers,
    Places,
    Selected,
    Steps,
    Ways,
    nth_of,
)
from .subsets import nth_subset


#: A chooser with this many ways has too many for their numbers.
MAX_WAYS = 2**23


class NumberedChoice(AbstractSharedChoice):
    """The choice of one number: all combinations of applicable alternatives, one for every chooser
    that has any, numbered from 0 with the last chooser varying fastest.

    **Arguments:**

    - `number`: below the product of the numbers of alternatives, and below 2^31. Each has fewer
      than `MAX_WAYS`.
    - `choosers`: those that may have several alternatives, ascending; past the last one, any
      number that is not a chooser.
    """

    number: UInt32[Array, "*paths"]
    choosers: Int[Array, " choosers"]

    def select(self, applicable: Applicable, step: Steps, state: PyTree) -> Selected:
        del step, state
        return self.decoded(applicable)[0]

    def decoded(self, ways: Ways) -> tuple[Selected, Selected]:
        """Decode the number.

        **Arguments:**

        - `ways`: `(alternatives, choosers, *paths)` whether each alternative can be selected, or in
          how many ways.

        **Returns:** `(choosers, *paths)` the alternative of each chooser, or `NO_RULE`, and which
        of the ways of this alternative.
        """
        counts = num_alternatives(ways, self.choosers)
        rank_dtype = jnp.int8 if _are_few(ways) else jnp.int32
        digits = _digits(self.number.astype(jnp.int32), counts.astype(rank_dtype))
        # Gathered, not scattered: scatters are slow, and this is most of a search.
        neurons, some = ways.shape[1], len(self.choosers)
        at = jnp.full(neurons, some, jnp.int32)
        at = at.at[self.choosers].set(jnp.arange(some, dtype=jnp.int32), mode="drop")
        ranks = digits.at[at].get(mode="fill", fill_value=0)
        return nth_of(ways, ranks)

    def subset(
        self, candidates: Places, chosen: Numbers, choosers: Choosers, step: Steps
    ) -> Places:
        raise ValueError(
            "A number is decoded before a step that chooses subsets. Use `DecodedChoice`."
        )


class DecodedChoice(AbstractSharedChoice):
    """One alternative for every chooser, and the number of the subset that it takes."""

    alternatives: Int[Array, "choosers *paths"]
    subsets: Int[Array, "choosers *paths"]

    def select(self, applicable: Applicable, step: Steps, state: PyTree) -> Selected:
        del applicable, step, state
        return self.alternatives

    def subset(
        self, candidates: Places, chosen: Numbers, choosers: Choosers, step: Steps
    ) -> Places:
        del step
        number = self.subsets.at[choosers].get(mode="fill", fill_value=0)
        return nth_subset(candidates, chosen, number)


def num_alternatives(ways: Ways, choosers: Choosers) -> UInt32[Array, "some *paths"]:
    """The number of ways in which some choosers can choose.

    **Arguments:**

    - `ways`: `(alternatives, choosers, *paths)` whether each alternative can be selected, or in how
      many ways.
    - `choosers`: `(some,)` numbers of choosers; those past the last chooser are padding.

    **Returns:** `(some, *paths)` sums over the alternatives, 1 where there is nothing to choose.
    """
    # Few are counted in bytes: all paths of a search come by here at once.
    dtype = jnp.uint8 if _are_few(ways) else jnp.uint32
    counts = jnp.sum(ways, axis=0, dtype=dtype).at[choosers].get(mode="fill", fill_value=1)
    return jnp.maximum(counts, 1).astype(jnp.uint32)


def _are_few(ways: Ways) -> bool:
    """Whether a byte holds the number of alternatives, and every sum of their ways."""
    return ways.dtype == bool and ways.shape[0] < 128


def _digits(number: Int[Array, "*paths"], radix: Numbers) -> Numbers:
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
    bits = divisor - 1
    return number >> lax.population_count(bits).astype(number.dtype), number.astype(
        bits.dtype
    ) & bits


@estimate
def _divided(
    number: Int[Array, "*paths"], divisor: Int[Array, "*paths"]
) -> tuple[Int[Array, "*paths"], Int[Array, "*paths"]]:
    """Quotient and remainder for 0 <= number < 2^31 and 0 < divisor < `MAX_WAYS`.

    By reciprocals, twice: CPUs have no division of integers for many at once, and it would take
    most of the time of a search.
    """
    digit_dtype, divisor = divisor.dtype, divisor.astype(number.dtype)
    reciprocal = 1 / divisor.astype(jnp.float32)
    # The error is below number / divisor * 2^-22 + 1, so that what is left is below 2^10 divisors.
    quotient = (number.astype(jnp.float32) * reciprocal).astype(jnp.int32)
    rest = number - quotient * divisor
    second = jnp.floor(rest.astype(jnp.float32) * reciprocal).astype(jnp.int32)
    quotient, rest = quotient + second, rest - second * divisor
    for _ in range(2):  # the second is off by one at most, and one is to be sure
        step = (rest >= divisor).astype(jnp.int32) - (rest < 0).astype(jnp.int32)
        quotient, rest = quotient + step, rest - step * divisor
    return quotient, rest.astype(digit_dtype)
