"""The engines: two ways of finding the transition that fires. They give the same numbers."""

from ...machine import AbstractEngine


class FullScan(AbstractEngine):
    """Looks at every arc in every step, all at once.

    The arcs are stored by the width of their transition, slot by slot, so that a step is few
    operations over whole arrays; its cost grows with the net. It suits accelerators, small nets and
    large batches, and it alone knows the rule `Disjoint`.
    """


class EventDriven(AbstractEngine):
    """Looks only at what the last firing changed.

    The state counts, for every transition, its input arcs that are not satisfied; a firing changes
    the counts of the neighbours of the places it changes, and the set of those at 0 is kept as a
    tree of words, in which the first is found by a few instructions. The cost of a step does not
    depend on the size of the net. On a CPU the whole run is one kernel.
    """
