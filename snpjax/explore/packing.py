"""Configurations as few words: every field takes as many bits as its values need."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt32

from snpjax_formats import bucket


WORD_BITS = 32
#: Widths that divide a word, so that no field lies in two.
WIDTHS = (1, 2, 4, 8, 16, 32)

# From so many fields on, fields of different widths are told apart.
_FEWEST_CLASSED = 16


class Packing(eqx.Module):
    """Where the fields of a configuration lie in its words.

    Fields are unsigned numbers; those of one width are neighbours. A field that was always 0 takes
    no bits.
    """

    order: Int[Array, " places"]  # the field in each place; `num_fields` in padding places
    place_of: Int[Array, " fields"]  # `num_places` where a field takes no bits
    classes: tuple[tuple[int, int], ...] = eqx.field(static=True)  # width, number of places

    @classmethod
    def uniform(cls, num_fields: int, width: int) -> "Packing":
        """Every field takes `width` bits."""
        per_word = WORD_BITS // width
        num_places = -(-num_fields // per_word) * per_word
        order = np.minimum(np.arange(num_places), num_fields)
        return cls(
            order=jnp.asarray(order, jnp.int32),
            place_of=jnp.arange(num_fields, dtype=jnp.int32),
            classes=((width, num_places),),
        )

    @classmethod
    def fitting(cls, most: UInt32[np.ndarray, " fields"]) -> "Packing":
        """Widths for fields that reach up to `most`."""
        num_fields = len(most)
        if num_fields < _FEWEST_CLASSED:
            return cls.uniform(num_fields, width_of(int(most.max(initial=0))) or 1)
        widths = np.asarray([width_of(int(value)) for value in most])
        order, classes = [], []
        for width in WIDTHS:
            fields = np.flatnonzero(widths == width)
            if len(fields):
                per_word = WORD_BITS // width
                words = bucket(-(-len(fields) // per_word), at_least=1)
                classes.append((width, words * per_word))
                order.append(
                    np.pad(fields, (0, words * per_word - len(fields)), constant_values=num_fields)
                )
        if not classes:
            return cls.uniform(num_fields, 1)
        places = np.concatenate(order)
        place_of = np.full(num_fields + 1, len(places))
        place_of[places] = np.arange(len(places))
        return cls(
            order=jnp.asarray(places, jnp.int32),
            place_of=jnp.asarray(place_of[:num_fields], jnp.int32),
            classes=tuple(classes),
        )

    @property
    def num_words(self) -> int:
        return sum(width * places for width, places in self.classes) // WORD_BITS

    def fits(self, fields: UInt32[Array, "fields batch"]) -> Bool[Array, " batch"]:
        """Whether the fields are below the ends of their widths."""
        widths = np.repeat(
            [width for width, _ in self.classes], [places for _, places in self.classes]
        )
        most = jnp.asarray((1 << widths.astype(np.uint64)) - 1, jnp.uint32)
        limits = most.at[self.place_of].get(mode="fill", fill_value=0)
        return jnp.all(fields <= limits[:, None], axis=0)

    def pack(self, fields: UInt32[Array, "fields batch"]) -> UInt32[Array, "words batch"]:
        """The words of configurations whose fields fit."""
        placed = fields.at[self.order].get(mode="fill", fill_value=0)
        words, start = [], 0
        for width, places in self.classes:
            per_word = WORD_BITS // width
            some = placed[start : start + places].reshape(-1, per_word, fields.shape[1])
            shifts = jnp.arange(per_word, dtype=jnp.uint32)[None, :, None] * np.uint32(width)
            words.append(jnp.sum(some << shifts, axis=1, dtype=jnp.uint32))
            start += places
        return jnp.concatenate(words)

    def unpack(self, words: UInt32[Array, "words batch"]) -> UInt32[Array, "fields batch"]:
        """The fields of words."""
        placed, start = [], 0
        for width, places in self.classes:
            per_word = WORD_BITS // width
            some = words[start : start + places // per_word]
            shifts = jnp.arange(per_word, dtype=jnp.uint32)[None, :, None] * np.uint32(width)
            mask = np.uint32((1 << width) - 1)
            placed.append((some[:, None] >> shifts & mask).reshape(places, -1))
            start += places // per_word
        return jnp.concatenate(placed).at[self.place_of].get(mode="fill", fill_value=0)


def width_of(value: int) -> int:
    """The least width for numbers up to `value`; 0 for 0."""
    bits = value.bit_length()
    return 0 if bits == 0 else next(width for width in WIDTHS if width >= bits)
