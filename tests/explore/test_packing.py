"""Words hold the fields that fit, bit for bit."""

import jax
import numpy as np
import pytest

from snpjax.explore.packing import WIDTHS, WORD_BITS, Packing


PATHS = 7
UNPACK = jax.jit(Packing.unpack, static_argnums=2)


@pytest.fixture(params=["cpu", "gpu"])
def pack(request, monkeypatch):
    """`Packing.pack` as it is compiled for each platform."""
    monkeypatch.setattr(jax, "default_backend", lambda: request.param)
    return jax.jit(lambda packing, fields: packing.pack(fields))


def by_hand(packing, fields):
    """The words of one configuration, from the documented places."""
    order = range(len(fields)) if packing.order is None else np.asarray(packing.order).tolist()
    places = [fields[i] for i in order]
    words = []
    for width, num in packing.classes:
        size = num * width // WORD_BITS
        own, places = places[:num], places[num:]
        own += [0] * (num - len(own))
        words += [
            sum(value << width * part for part, value in enumerate(own[word::size]))
            for word in range(size)
        ]
    return words


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_what_fits_comes_back(pack, bits):
    dtype = np.dtype(f"uint{bits}")
    rng = np.random.default_rng(bits)
    # Fields of every width that the type has, and some more of the narrowest.
    widths = [*(w for w in WIDTHS if w <= bits for _ in range(5)), *[1] * 40]
    most = np.array([(1 << width) - 1 for width in rng.permutation(widths)], np.uint32)
    fields = np.stack([rng.integers(0, most.astype(np.int64) + 1) for _ in range(PATHS)], axis=1)
    fields[:, 0] = most
    fields = fields.astype(dtype)
    for packing in (Packing.fitting(most), Packing.full_width(len(most), dtype)):
        words, fits = pack(packing, fields)
        assert np.all(fits)
        assert np.asarray(words).T.tolist() == [by_hand(packing, row) for row in fields.T.tolist()]
        assert np.array_equal(UNPACK(packing, words, dtype), fields)


def test_what_does_not_fit_is_said(pack):
    most = np.array([1] * 20 + [3] * 12 + [15] * 9, np.uint32)
    packing = Packing.fitting(most)
    fields = np.repeat(most[:, None].astype(np.uint16), len(most) + 1, axis=1)
    for field in range(len(most)):  # one in each path but the last; also by whole bytes
        fields[field, field] += 1 if field % 2 else 256
    alone = np.diag(most + 1).astype(np.uint16)  # by one, beside zeros
    _, fits = pack(packing, np.concatenate([fields, alone], axis=1))
    num = len(most)
    assert np.asarray(fits).tolist() == [False] * num + [True] + [False] * num


def test_no_fields_take_a_word(pack):
    """A configuration without fields is still a row of a store."""
    packing = Packing.fitting(np.zeros(0, np.uint32))
    words, fits = pack(packing, np.zeros((0, PATHS), np.uint8))
    assert words.shape == (1, PATHS) and not np.any(words) and np.all(fits)
    assert UNPACK(packing, words, np.uint8).shape == (0, PATHS)
