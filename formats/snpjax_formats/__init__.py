"""Sparse layouts: ways to store a graph of weighted edges and to multiply by it."""

from .buckets import bucket as bucket
from .compressed import Compressed as Compressed
from .csr import CSR as CSR
from .dense import Dense as Dense
from .edges import Edges as Edges
from .ell import ELL as ELL
from .layout import AbstractLayout as AbstractLayout
from .memory import (
    LayoutTooLarge as LayoutTooLarge,
    fitting as fitting,
    free_bytes as free_bytes,
)
from .narrow import Float32Dense as Float32Dense, Int8Dense as Int8Dense
from .two_way import TwoWay as TwoWay


#: Every layout that is built from edges alone.
LAYOUTS: tuple[type[AbstractLayout], ...] = (
    Dense,
    Int8Dense,
    Float32Dense,
    ELL,
    Compressed,
    CSR,
    TwoWay,
)
