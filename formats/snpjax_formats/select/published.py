"""Choosers that ask nothing: a forced layout, and the heuristic of the paper."""

from dataclasses import dataclass

from ..csr import CSR
from ..dense import Dense
from ..ellpack_r import ELLPACKR
from ..free_memory import check_free
from ..layout import AbstractLayout
from .decision import AbstractChooser, Decision, Question


_DENSE = 0.6
_ELLPACK = 128


@dataclass(frozen=True)
class FixedChooser(AbstractChooser):
    """Always the same layout."""

    layout: type[AbstractLayout]

    def decide(self, question: Question) -> Decision:
        return Decision(self.layout, "requested", question, chooser="fixed")


@dataclass(frozen=True)
class Published(AbstractChooser):
    """A density of 0.6 or more is dense, else 128 edges a row or fewer are ELLPACK-R, else CSR: a
    baseline, whose thresholds are those of other kernels than ours.

    ??? cite "Source"
        Dinkelbach et al. 2022, section 2.3, which ANNarchy had before and has in part still.
    """

    def decide(self, question: Question) -> Decision:
        f = question.features
        if f.density >= _DENSE:
            layout, reason = Dense, f"density {f.density:.2f}"
        elif f.into.mean <= _ELLPACK:
            layout, reason = ELLPACKR, f"{f.into.mean:.3g} edges a target"
        else:
            layout, reason = CSR, f"{f.into.mean:.3g} edges a target"
        needed = layout.bytes_needed(question.edges)
        fix = 'Leave the layout at "auto".'
        check_free(needed, question.free, f"{layout.__name__} needs", fix)
        return Decision(layout, reason, question, chooser="the heuristic of Dinkelbach et al. 2022")
