"""The list of all layouts."""

from .bits import BitDense, BitGather
from .bsr import BSR
from .compressed import Compressed
from .coo import COO
from .csc import CSC
from .csr import CSR
from .dense import Dense
from .ell import ELL
from .ellpack_r import ELLPACKR
from .hybrid import Hybrid
from .interval import Interval
from .layout import AbstractLayout
from .narrow import Float32Dense, Int8Dense
from .sliced_ell import SlicedELL
from .sum import Sum
from .two_way import TwoWay


#: Every layout that is built from edges alone.
LAYOUTS: tuple[type[AbstractLayout], ...] = (
    Dense,
    Int8Dense,
    Float32Dense,
    BitDense,
    ELL,
    ELLPACKR,
    SlicedELL,
    Hybrid,
    BitGather,
    Compressed,
    CSR,
    CSC,
    COO,
    BSR,
    Interval,
    Sum,
    TwoWay,
)
