"""Probabilities of formulas of linear time, through a deterministic parity automaton."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from ...explore.conditions import Where
from ...explore.successors import ranges
from ..query.formula import Formula
from ..temporal.automaton import automaton_of
from ..temporal.determinised import ParityProduct, parity_product
from ..temporal.kripke import Structure
from ..temporal.labels import Labelling
from ..temporal.normal import normal
from .equations import end_components
from .mdp import Decisions


class ReachabilityGoal(NamedTuple):
    """A process, and what is to be reached in it: the largest probability of that is the largest
    one of a formula."""

    decisions: Decisions
    target: Where
    start: int


def reached(
    decisions: Decisions, structure: Structure, labels: Labelling, formula: Formula, *, may: bool
) -> ReachabilityGoal:
    """What is reached where a formula holds.

    - `decisions`: of the states of the structure; those that it has no actions of stay for ever,
      or go on in the only known way.
    - `may`: what is not known, successors or values, is taken for the best; otherwise for the
      worst.

    **Raises:** `TooLarge` for a formula with too many operators.

    ??? cite "Source"
        de Alfaro 1997, Formal verification of probabilistic systems; Baier, Katoen 2008, section
        10.6.4.
    """
    ended = np.flatnonzero((np.diff(decisions.first_action) == 0) & ~structure.is_open)
    if len(ended):
        decisions = decisions.with_steps(ended, structure.targets[structure.first_edge[ended]])
    product = parity_product(structure, automaton_of(normal(formula)), labels, may=may)
    paired = _paired(decisions, product)
    target = product.is_accepted.copy()
    for colour in np.unique(product.colour).tolist():
        if colour % 2 == 1:
            among = product.colour[paired.owner] >= colour
            part, inner = end_components(paired, among)
            stays = np.zeros(len(part), bool)
            stays[paired.owner[inner]] = True
            has_colour = stays & (product.colour == colour)
            target |= stays & np.isin(part, part[has_colour])
    if may:
        target |= structure.is_open[product.state] & ~product.is_rejected
    first = np.zeros(1, np.int64)
    start = product.number(first, first + structure.initial)
    return ReachabilityGoal(paired, target, int(start[0]))


def _paired(decisions: Decisions, product: ParityProduct) -> Decisions:
    """The actions of pairs, as far as they matter."""
    actions, owner = ranges(decisions.first_action, product.state)
    kept = ~(product.is_accepted | product.is_rejected)[owner]
    actions, owner = actions[kept], owner[kept]
    rows = decisions.matrix[actions]
    counts = np.diff(rows.indptr)
    columns = product.number(np.repeat(product.following[owner], counts), rows.indices)
    size = len(product.state)
    matrix = csr_array((rows.data, columns, rows.indptr), shape=(len(actions), size))
    first = np.searchsorted(owner, np.arange(size + 1))
    return Decisions(first, owner, matrix, decisions.most_choices)
