"""Random alternatives: uniform, or by logits."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Int, Integer, Key, PyTree, UInt32

from snpjax_formats.ell import expanded

from .._text.counts import plural
from .._xla import materialize
from .base import (
    AbstractChoice,
    Applicable,
    ChooserRange,
    Choosers,
    Numbers,
    Places,
    Selected,
    Steps,
    first_of,
    nth_of,
)
from .subsets import random_subset, scaled


# What is folded into the key of a step: below 2^30 the number of a chooser of subsets, from here on
# the number of a hash of two words: one for each chooser among many, or 32 choosers between two.
_NUMBERS, _COINS = np.uint32(2**30), np.uint32(2**31)


class UniformChoice(AbstractChoice):
    """Each chooser uniform over its applicable alternatives, hence uniform over the valid spiking
    vectors; and then over the subsets that its alternative may take.

    **Arguments:**

    - `key`: a typed PRNG key; it is consumed. Path p uses `fold_in(key, p)`; step and chooser are
      folded in after it, so a path depends on nothing else: not on padding, layout, batch size or
      device.

    One random bit decides between two alternatives, and 32 between n, so that their probabilities
    differ from 1/n by less than 2^-32. Each step of a path hashes once for 64 choosers between two,
    and once for every two between more. About each candidate of a subset 32 bits decide, which are
    mixed from the hash of the chooser and the number of the candidate.
    """

    key: Key[Array, "*paths"]
    own: ChooserRange | None = None  # None: it chooses for all choosers

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

    def for_choosers(self, own: ChooserRange, number: int) -> "UniformChoice":
        del number
        return eqx.tree_at(lambda choice: choice.own, self, own, is_leaf=lambda x: x is None)

    def select(self, applicable: Applicable, step: Steps, state: PyTree) -> Selected:
        del state
        alternatives, choosers = applicable.shape[:2]
        if alternatives == 1:
            return first_of(applicable)
        if alternatives >= 1 << 16:
            raise ValueError(
                f"{alternatives} rules in one neuron are too many for `UniformChoice`, which "
                "draws among fewer than 65,536. Merge rules of one effect into one guard."
            )
        key = _fold_in(self.key, step)
        count = jnp.sum(applicable, axis=0, dtype=jnp.int32)
        rank = jnp.where(count == 2, _coins(key, choosers, step, self.own), 0)
        if alternatives > 2:
            words = _words(key, choosers, _NUMBERS + _before(self.own, 2))
            rank = jnp.where(count > 2, scaled(words, count), rank)
        return nth_of(applicable, rank)[0]

    def subset(
        self, candidates: Places, chosen: Numbers, choosers: Choosers, step: Steps
    ) -> Places:
        return _drawn_subset(self.key, candidates, chosen, choosers, step)


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
    own: ChooserRange | None  # None: it chooses for all choosers

    may_be_invalid: ClassVar[bool] = False
    has_weights: ClassVar[bool] = True

    def __init__(self, logits: Float[np.ndarray | Array, "alternatives choosers"], key: Array):
        self.logits, self.key = jnp.asarray(logits, jnp.float32), UniformChoice(key).key
        self.own = None
        if self.logits.ndim != 2:
            raise ValueError(
                f"`logits` has {plural(self.logits.ndim, 'axis', 'axes')}. Give (rules, neurons)."
            )
        if not isinstance(self.logits, Tracer) and np.isnan(np.asarray(self.logits)).any():
            raise ValueError("`logits` holds NaN. Give numbers, or -inf for a rule never chosen.")

    def check(self, alternatives: int, choosers: int) -> None:
        """Check that the logits fit a model.

        **Arguments:**

        - `alternatives`: the largest number of alternatives of a chooser.
        - `choosers`: the number of choosers.

        **Raises:** `ValueError` for logits of alternatives or choosers that the model does not
        have.
        """
        rows, columns = self.logits.shape
        if rows > alternatives or columns > choosers:
            raise ValueError(
                f"`logits` has the shape {self.logits.shape}, but no more than "
                f"{plural(alternatives, 'rule')} and {plural(choosers, 'neuron')} can be chosen "
                "among. Give (rules, neurons)."
            )

    def for_path(self, path: Integer[Array, "*paths"] | int) -> "WeightedChoice":
        return eqx.tree_at(lambda choice: choice.key, self, _fold_in(self.key, jnp.asarray(path)))

    def for_choosers(self, own: ChooserRange, number: int) -> "WeightedChoice":
        return eqx.tree_at(
            lambda choice: (choice.logits, choice.own),
            self,
            (own.cut(self.logits, number, axis=1), own),
            is_leaf=lambda x: x is None,
        )

    def select(self, applicable: Applicable, step: Steps, state: PyTree) -> Selected:
        del state
        wanted = jnp.where(applicable, self.perturbed(applicable, step), -jnp.inf)
        best = jnp.argmax(wanted, axis=0).astype(jnp.int32)
        # Where all that is applicable has a logit of -inf, it is the first of that.
        is_some = jnp.take_along_axis(applicable, best[None], axis=0)[0]
        return jnp.where(is_some, best, first_of(applicable))

    def subset(
        self, candidates: Places, chosen: Numbers, choosers: Choosers, step: Steps
    ) -> Places:
        return _drawn_subset(self.key, candidates, chosen, choosers, step)

    def perturbed(
        self, applicable: Applicable, step: Steps
    ) -> Float[Array, "alternatives choosers *paths"]:
        """The logits plus Gumbel noise, whose largest applicable entry is selected.

        **Arguments:**

        - `applicable`: `(alternatives, choosers, *paths)` whose shape the result has.
        - `step`: `(*paths,)` the number of steps made so far.
        """
        alternatives, choosers = applicable.shape[:2]
        keys = _keys(self.key, jnp.arange(choosers, dtype=jnp.uint32) + _before(self.own, 1), step)
        number = expanded(jnp.arange(alternatives, dtype=jnp.uint32), applicable.ndim)
        bits = _bits(_fold_in(keys[None], number))
        uniform = ((bits >> 8).astype(jnp.float32) + 0.5) * 2.0**-24
        return expanded(self.padded(alternatives, choosers), applicable.ndim) - jnp.log(
            -jnp.log(uniform)
        )

    def padded(self, alternatives: int, choosers: int) -> Float[Array, "alternatives choosers"]:
        """The logits of the first choosers, padded with zeros.

        **Arguments:**

        - `alternatives`: the number of rows.
        - `choosers`: the number of columns.
        """
        rows, columns = self.logits.shape
        logits = self.logits[:alternatives, :choosers]
        missing = (0, max(alternatives - rows, 0)), (0, max(choosers - columns, 0))
        return jnp.pad(logits, missing)


def of_slots(choice: AbstractChoice, number: Int[Array, "slots choosers"]) -> AbstractChoice:
    """Adapt a choice to a machine that stores alternatives in other places.

    **Arguments:**

    - `choice`: a choice by the numbers of alternatives in the model.
    - `number`: `(slots, choosers)` the number of the alternative in each slot.

    **Returns:** the choice by slots: weights are moved to their slots, while given choices remain
    lists of numbers, which the machine looks up.
    """

    def moved(choice: Any) -> Any:
        if not isinstance(choice, WeightedChoice):
            return choice  # any other leaf
        padded = choice.padded(int(max(len(choice.logits), 1)), number.shape[1])
        at = jnp.clip(number, 0, len(padded) - 1)
        logits = jnp.where(number < len(padded), jnp.take_along_axis(padded, at, axis=0), 0)
        return eqx.tree_at(lambda choice: choice.logits, choice, logits)

    return jax.tree.map(moved, choice, is_leaf=lambda x: isinstance(x, WeightedChoice))


def _fold_in(key: Key[Array, "..."], data: Integer[Array, "..."]) -> Key[Array, "..."]:
    """`fold_in` of every key and number, shapes broadcast."""
    shape = jnp.broadcast_shapes(key.shape, data.shape)
    fold = jr.fold_in
    for _ in shape:
        fold = jax.vmap(fold)
    return fold(jnp.broadcast_to(key, shape), jnp.broadcast_to(data, shape))


def _keys(key: Key[Array, "*paths"], choosers: Choosers, step: Steps) -> Key[Array, "some *paths"]:
    """A key for each chooser in a step."""
    chooser = expanded(choosers.astype(jnp.uint32), 1 + jnp.ndim(step))
    return _fold_in(_fold_in(key, step)[None], chooser)


def _before(own: ChooserRange | None, each: int) -> UInt32[Array, ""]:
    """How many numbers, of which one serves `each` choosers, belong to choosers before these."""
    first = 0 if own is None else own.first // each
    return jnp.asarray(first, jnp.uint32)


def _words(
    key: Key[Array, "*paths"], num: int, first: UInt32[Array, ""]
) -> UInt32[Array, "num *paths"]:
    """Random words from the key of a step: two of each hash, of numbers from `first` on."""
    number = jnp.arange(-(-num // 2), dtype=jnp.uint32) + first
    pairs = jr.key_data(_fold_in(key[None], expanded(number, 1 + key.ndim)))[..., :2]
    return jnp.moveaxis(pairs, -1, 1).reshape(-1, *key.shape)[:num]


def _coins(
    key: Key[Array, "*paths"], num: int, step: Steps, own: ChooserRange | None
) -> Int[Array, "num *paths"]:
    """A random bit for each of `num` choosers, from the key of a step."""
    num_words = -(-num // 32)
    # Under `vmap` a branch gets a copy of what it reads, and a copied key counts as a reused one.
    data, kind = jr.key_data(key), jr.key_impl(key)

    def words() -> UInt32[Array, "words *paths"]:
        return _words(jr.wrap_key_data(data, impl=kind), num_words, _COINS + _before(own, 64))

    # Stored, for they would be hashed again for each chooser.
    word = materialize(jnp.any(step >= 0), words)
    shift = expanded(jnp.arange(num, dtype=jnp.uint32) % 32, 1 + key.ndim)
    return (jnp.repeat(word, 32, axis=0)[:num] >> shift & 1).astype(jnp.int32)


def _drawn_subset(
    key: Key[Array, "*paths"], candidates: Places, chosen: Numbers, choosers: Choosers, step: Steps
) -> Places:
    words = jr.key_data(_keys(key, choosers, step))
    return random_subset(candidates, chosen, words[..., 0], words[..., 1])


def _bits(keys: Key[Array, "*n"]) -> UInt32[Array, "*n"]:
    """The words of a folded key are the hash of what was folded and so random themselves; drawing
    bits from it would hash once more, which doubles the time of a batch on CPUs."""
    words = jr.key_data(keys)
    return words[..., 0] ^ words[..., 1]
