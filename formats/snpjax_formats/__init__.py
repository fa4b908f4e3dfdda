"""Sparse layouts: ways to store a graph of weighted edges and to multiply by it."""

from typing import TYPE_CHECKING

from .lazy import lazily


if TYPE_CHECKING:
    from . import graphs as graphs, select as select
    from .bits import BitDense as BitDense, BitGather as BitGather
    from .bsr import BSR as BSR
    from .compressed import Compressed as Compressed
    from .coo import COO as COO
    from .csc import CSC as CSC
    from .csr import CSR as CSR
    from .dense import Dense as Dense
    from .edges import Edges as Edges
    from .ell import ELL as ELL
    from .ellpack_r import ELLPACKR as ELLPACKR
    from .free_memory import (
        NotEnoughMemory as NotEnoughMemory,
        check_free as check_free,
        free_bytes as free_bytes,
    )
    from .host_memory import host_free_bytes as host_free_bytes
    from .hybrid import Hybrid as Hybrid
    from .implicit import (
        FixedInDegree as FixedInDegree,
        FixedProbability as FixedProbability,
        Grouped as Grouped,
        Identity as Identity,
        Ones as Ones,
    )
    from .interval import Interval as Interval
    from .layout import (
        AbstractLayout as AbstractLayout,
        BySource as BySource,
        ByTarget as ByTarget,
    )
    from .layouts import LAYOUTS as LAYOUTS
    from .memory import fitting as fitting
    from .narrow import Float32Dense as Float32Dense, Int8Dense as Int8Dense
    from .scaled import Scaled as Scaled
    from .select import (
        AbstractChooser as AbstractChooser,
        AbstractTimedLayout as AbstractTimedLayout,
        Decision as Decision,
        Features as Features,
        FixedChooser as FixedChooser,
        Published as Published,
        Question as Question,
        StartingTree as StartingTree,
        Workload as Workload,
        choose as choose,
        choose_for as choose_for,
        is_best_joined as is_best_joined,
    )
    from .sliced_ell import SlicedELL as SlicedELL
    from .stored import (
        bucket as bucket,
        device_array as device_array,
        storable as storable,
        value_bytes as value_bytes,
    )
    from .sum import Sum as Sum
    from .two_way import TwoWay as TwoWay

lazily(
    __name__,
    {
        ".bits": "BitDense BitGather",
        ".bsr": "BSR",
        ".compressed": "Compressed",
        ".coo": "COO",
        ".csc": "CSC",
        ".csr": "CSR",
        ".dense": "Dense",
        ".edges": "Edges",
        ".ell": "ELL",
        ".ellpack_r": "ELLPACKR",
        ".free_memory": "NotEnoughMemory check_free free_bytes",
        ".host_memory": "host_free_bytes",
        ".hybrid": "Hybrid",
        ".implicit": "FixedInDegree FixedProbability Grouped Identity Ones",
        ".interval": "Interval",
        ".layout": "AbstractLayout BySource ByTarget",
        ".layouts": "LAYOUTS",
        ".memory": "fitting",
        ".narrow": "Float32Dense Int8Dense",
        ".scaled": "Scaled",
        ".select": """
            AbstractChooser AbstractTimedLayout Decision Features FixedChooser Published
            Question StartingTree Workload choose choose_for is_best_joined
        """,
        ".sliced_ell": "SlicedELL",
        ".stored": "bucket device_array storable value_bytes",
        ".sum": "Sum",
        ".two_way": "TwoWay",
    },
    modules="graphs select",
)
