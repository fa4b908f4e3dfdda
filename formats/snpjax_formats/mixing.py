"""Bits that look random, of numbers that do not."""

from typing import TypeVar

import numpy as np
from jaxtyping import Array, UInt32


Words = TypeVar("Words", UInt32[Array, "*n"], UInt32[np.ndarray, "*n"])


def mixed(bits: Words) -> Words:
    """The last steps of MurmurHash3 (Appleby, public domain): every bit depends on every bit."""
    bits = (bits ^ bits >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    bits = (bits ^ bits >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    return bits ^ bits >> np.uint32(16)
