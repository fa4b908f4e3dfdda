"""Configurations as few words: every field takes as many bits as its values need."""

import functools

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, DTypeLike, Int, UInt, UInt32

from snpjax_formats import bucket


WORD_BITS = 32
#: Widths that divide a word, so that no field lies in two.
WIDTHS = (1, 2, 4, 8, 16, 32)

# From so many fields on, fields of different widths are told apart.
_FEWEST_CLASSED = 16


class Packing(eqx.Module):
    """Where the fields of a configuration lie in its words.

    Fields are unsigned numbers; those of one width are a class. Number j * words + w of a class of
    so many words is part j of its word w, so that neighbours lie in different words, and packing
    and unpacking are shifts of whole rows.

    - `order`: the field in each place; a padding place repeats a field of its class. `None`: places
      are fields.
    - `place_of`: the place of each field.
    """

    order: Int[Array, " places"] | None
    place_of: Int[Array, " fields"] | None
    classes: tuple[tuple[int, int], ...] = eqx.field(static=True)  # width, number of places
    num_fields: int = eqx.field(static=True)

    @classmethod
    def uniform(cls, num_fields: int, width: int) -> "Packing":
        """Every field takes `width` bits."""
        per_word = WORD_BITS // width
        places = -(-num_fields // per_word) * per_word
        return cls(None, None, ((width, places),), num_fields)

    @classmethod
    def whole(cls, num_fields: int, dtype: np.dtype) -> "Packing":
        """Every field takes as many bits as its type has."""
        return cls.uniform(num_fields, 8 * dtype.itemsize)

    @classmethod
    def fitting(cls, most: UInt[np.ndarray, " fields"]) -> "Packing":
        """Widths for fields that reach up to `most`."""
        num_fields = len(most)
        if num_fields < _FEWEST_CLASSED:
            return cls.uniform(num_fields, width_of(int(most.max(initial=0))))
        widths = np.asarray([width_of(int(value)) for value in most])
        order, classes = [], []
        for width in WIDTHS:
            fields = np.flatnonzero(widths == width)
            if len(fields):
                per_word = WORD_BITS // width
                places = bucket(-(-len(fields) // per_word), at_least=1) * per_word
                classes.append((width, places))
                padding = (0, places - len(fields))
                order.append(np.pad(fields, padding, constant_values=fields[0]))
        places = np.concatenate(order)
        place_of = np.zeros(num_fields, np.int64)
        place_of[places[::-1]] = np.arange(len(places))[::-1]  # the first of a field's places
        return cls(
            order=jnp.asarray(places, jnp.int32),
            place_of=jnp.asarray(place_of, jnp.int32),
            classes=tuple(classes),
            num_fields=num_fields,
        )

    @property
    def num_words(self) -> int:
        return sum(width * places for width, places in self.classes) // WORD_BITS

    @property
    def dtype(self) -> np.dtype:
        """The least unsigned type that holds every field."""
        return np.dtype(f"uint{max(8, *(width for width, _ in self.classes))}")

    def pack(
        self, fields: UInt[Array, "fields batch"]
    ) -> tuple[UInt32[Array, "words batch"], Bool[Array, " batch"]]:
        """The words of configurations, and which of them fit."""
        if self.order is None:
            missing = sum(places for _, places in self.classes) - self.num_fields
            placed = jnp.pad(fields, ((0, missing), (0, 0)))
        else:
            placed = fields.at[self.order].get(mode="promise_in_bounds")
        words, start = [], 0
        fits = jnp.ones(fields.shape[1], bool)
        for width, places in self.classes:
            per_word = WORD_BITS // width
            parts = placed[start : start + places].reshape(per_word, -1, fields.shape[1])
            if width < 8 * fields.dtype.itemsize:
                fits &= jnp.all(parts >> width == 0, axis=(0, 1))
            # Narrow fields become bytes first, of which a processor handles four times as many.
            if width < 8:
                parts = parts.astype(jnp.uint8)
                in_byte = parts.reshape(4, 8 // width, *parts.shape[1:])
                bits = [in_byte[:, i] << np.uint8(i * width) for i in range(8 // width)]
                parts = functools.reduce(jnp.bitwise_or, bits)
            shifts = [np.uint32(i * WORD_BITS // len(parts)) for i in range(len(parts))]
            wide = [part.astype(jnp.uint32) << by for part, by in zip(parts, shifts, strict=True)]
            word = functools.reduce(jnp.bitwise_or, wide)
            words.append(word)
            start += places
        return jnp.concatenate(words), fits

    def unpack(
        self, words: UInt32[Array, "words batch"], dtype: DTypeLike
    ) -> UInt[Array, "fields batch"]:
        """The fields of words, of a type that holds them."""
        placed, start = [], 0
        for width, places in self.classes:
            size = places * width // WORD_BITS
            some = words[start : start + size]
            least = max(width, 8)
            mask, kind = np.uint32((1 << least) - 1), jnp.dtype(f"uint{least}")
            for shift in range(0, WORD_BITS, least):
                part = (some >> np.uint32(shift) & mask).astype(kind)
                if width < 8:
                    few = np.uint8((1 << width) - 1)
                    placed += [
                        (part >> np.uint8(i) & few).astype(dtype) for i in range(0, 8, width)
                    ]
                else:
                    placed.append(part.astype(dtype))
            start += size
        fields = jnp.concatenate(placed)
        if self.place_of is None:
            return fields[: self.num_fields]
        return fields.at[self.place_of].get(mode="promise_in_bounds")


def width_of(value: int) -> int:
    """The least width for numbers up to `value`."""
    return next(width for width in WIDTHS if width >= value.bit_length())
