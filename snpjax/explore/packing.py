"""Configurations as few words: every field takes as many bits as its values need."""

import functools

import equinox as eqx
import jax
import jax.lax as lax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, DTypeLike, Int, UInt, UInt32

from snpjax_formats import bucket, device_array


WORD_BITS = 32
#: Widths that divide a word, so that no field lies in two.
WIDTHS = (1, 2, 4, 8, 16, 32)

# From this many fields on, fields of different widths are distinguished.
_FEWEST_CLASSED = 16
_FEW_WORDS = 16


class Packing(eqx.Module):
    """Where the fields of a configuration lie in its words.

    Fields are unsigned numbers; those of one width are a class. Number j * words + w of a class of
    this many words is part j of its word w, so that neighbours lie in different words, and packing
    is shifts of whole rows. Unpacking gathers the word of each field.

    - `order`: the field in each place; a padding place repeats a field of its class. `None`: places
      are fields.
    - `word_of`, `shift_of`, `mask_of`: where each field lies; its word, shifted right by that, and
      the bits that are its own then.
    """

    order: Int[Array, " places"] | None
    word_of: Int[Array, " fields"]
    shift_of: UInt32[Array, " fields"]
    mask_of: UInt32[Array, " fields"]
    classes: tuple[tuple[int, int], ...] = eqx.field(static=True)  # width, number of places

    def __init__(
        self,
        order: Int[np.ndarray, " places"] | None,
        classes: tuple[tuple[int, int], ...],
        num_fields: int,
    ):
        word_of, shift_of, mask_of, start = [], [], [], 0
        for width, places in classes:
            size = places * width // WORD_BITS
            part, word = np.divmod(np.arange(places), size)
            word_of.append(start + word)
            shift_of.append(part * width)
            mask_of.append(np.full(places, (1 << width) - 1))
            start += size
        place_of = np.arange(num_fields)
        if order is not None:
            place_of[order[::-1]] = np.arange(len(order))[::-1]  # the first of a field's places
        self.order = None if order is None else device_array(order, jnp.int32)
        self.word_of = device_array(np.concatenate(word_of)[place_of], jnp.int32)
        self.shift_of = device_array(np.concatenate(shift_of)[place_of], jnp.uint32)
        self.mask_of = device_array(np.concatenate(mask_of)[place_of], jnp.uint32)
        self.classes = classes

    @classmethod
    def uniform(cls, num_fields: int, width: int) -> "Packing":
        """Every field takes `width` bits."""
        per_word = WORD_BITS // width
        places = max(-(-num_fields // per_word), 1) * per_word  # never no word
        return cls(None, ((width, places),), num_fields)

    @classmethod
    def full_width(cls, num_fields: int, dtype: np.dtype) -> "Packing":
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
        return cls(np.concatenate(order), tuple(classes), num_fields)

    def is_same(self, other: "Packing") -> bool:
        """Whether fields lie in the same places."""
        if self.num_fields != other.num_fields or self.classes != other.classes:
            return False
        if self.order is None or other.order is None:
            return self.order is other.order
        return np.array_equal(self.order, other.order)

    @property
    def num_fields(self) -> int:
        return len(self.word_of)

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
        # Written in place, class by class; over zeros XLA would make each a padded array instead.
        words = jnp.broadcast_to(placed[:1].astype(jnp.uint32), (self.num_words, placed.shape[1]))
        fits = jnp.ones(placed.shape[1], bool)
        pack = _packed_in_rows if jax.default_backend() == "cpu" else _packed_by_sums
        start = first = 0
        for width, places in self.classes:
            word, own_fit = pack(placed[start : start + places], width)
            words = lax.dynamic_update_slice_in_dim(words, word, first, axis=0)
            fits &= own_fit
            start, first = start + places, first + len(word)
        return words, fits

    def unpack(
        self, words: UInt32[Array, "words batch"], dtype: DTypeLike
    ) -> UInt[Array, "fields batch"]:
        """The fields of words, of a type that holds them."""
        word = words.at[self.word_of].get(mode="promise_in_bounds")
        return (word >> self.shift_of[:, None] & self.mask_of[:, None]).astype(dtype)


def _packed_by_sums(
    fields: UInt[Array, "places batch"], width: int
) -> tuple[UInt32[Array, "words batch"], Bool[Array, " batch"]]:
    """The words of a class of fields, and which of them fit. On a GPU the slices of
    `_packed_in_rows` are one kernel of thousands of instructions, which took 13 times as long to
    compile (26 numbers of bench/exploration.py, jax 0.11.2)."""
    shifts = np.arange(0, WORD_BITS, width, dtype=np.uint32)
    parts = fields.reshape(len(shifts), -1, fields.shape[1]).astype(jnp.uint32)
    words = jnp.sum(parts << shifts[:, None, None], axis=0, dtype=jnp.uint32)
    if width >= 8 * fields.dtype.itemsize:
        return words, jnp.ones(fields.shape[1], bool)
    return words, jnp.all(parts < np.uint32(1 << width), axis=(0, 1))


def _packed_in_rows(
    fields: UInt[Array, "places batch"], width: int
) -> tuple[UInt32[Array, "words batch"], Bool[Array, " batch"]]:
    """The same by shifts of whole rows, which processors do several at once."""
    per_word = WORD_BITS // width
    parts = jnp.split(fields, per_word)
    fits = jnp.ones(fields.shape[1], bool)
    if width < 8 * fields.dtype.itemsize:
        bits = functools.reduce(jnp.bitwise_or, parts)
        most = functools.reduce(jnp.bitwise_or, bits) if len(bits) <= _FEW_WORDS else bits.max(0)
        fits = most < 1 << width
    # Narrow fields become bytes first, of which a processor handles four times as many.
    if width < 8:
        parts = [part.astype(jnp.uint8) for part in parts]
        parts = [_joined(parts[i : i + 8 // width], width) for i in range(0, per_word, 8 // width)]
    return _joined([part.astype(jnp.uint32) for part in parts], WORD_BITS // len(parts)), fits


def _joined(parts: list[UInt[Array, "size batch"]], width: int) -> UInt[Array, "size batch"]:
    """Numbers of `width` bits side by side, the first one lowest."""
    shifted = [part << np.asarray(i * width, part.dtype) for i, part in enumerate(parts)]
    return functools.reduce(jnp.bitwise_or, shifted)


def width_of(value: int) -> int:
    """The least width for numbers up to `value`."""
    return next(width for width in WIDTHS if width >= value.bit_length())
