"""Fewer configurations for the same answer: symmetry, stubborn sets, and the cone of influence."""

from .reductions import (
    AbstractReduction as AbstractReduction,
    ConeOfInfluence as ConeOfInfluence,
    StubbornSets as StubbornSets,
    Symmetry as Symmetry,
)
