"""Equivalence of two systems: the same numbers, the same traces, bisimulation."""

from .bisimulation import Bisimilar as Bisimilar
from .comparison import AbstractComparison as AbstractComparison
from .equivalent import equivalent as equivalent
from .numbers import SameNumbers as SameNumbers
from .result import (
    Agreement as Agreement,
    Difference as Difference,
    Equivalence as Equivalence,
    OneRun as OneRun,
)
from .traces import SameTraces as SameTraces
