"""Equivalence of two systems, or nets: the same numbers, traces or markings, bisimulation."""

from .bisimulation import Bisimilar as Bisimilar
from .comparison import AbstractComparison as AbstractComparison
from .equivalent import equivalent as equivalent
from .markings import SameMarkings as SameMarkings
from .nets import NetRun as NetRun
from .numbers import SameNumbers as SameNumbers
from .result import (
    Agreement as Agreement,
    Difference as Difference,
    Equivalence as Equivalence,
    OneRun as OneRun,
)
from .traces import SameTraces as SameTraces
