"""The reductions that `check` takes, and what each of them needs."""

from dataclasses import dataclass


@dataclass(frozen=True)
class AbstractReduction:
    """A way to decide a query from fewer configurations, given as `reductions=` to `check`."""


@dataclass(frozen=True)
class Symmetry(AbstractReduction):
    """Configurations that differ only in an exchange of interchangeable components are one.

    Components are neurons, or places, of which any two can be exchanged without a change to the
    model; each condition of the query must stay the same, too. Automorphisms are found in the
    coloured graph of the model and checked exactly. The components of a configuration are sorted.

    It applies to SN P systems of the definition and to nets, for every query that reads neither
    emissions nor rules.

    ??? cite "Source"
        Clarke, Enders, Filkorn, Jha 1996, Exploiting symmetry in temporal logic model checking.
        Differs from it in: 1. only groups that exchange components as they like, so that sorting
        gives a canonical form.
    """


@dataclass(frozen=True)
class StubbornSets(AbstractReduction):
    """Of transitions that do not disturb each other one order is followed.

    For nets of which one transition fires in a step, once: `Execution(net, rule=Petri())`, without
    priorities. Queries about deadlocks and termination (`never halted`, `eventually halted`) need
    sets with D1 and D2. Queries of linear time without `next`, on tokens only, need besides that a
    set with a transition that changes what is compared is the set of all transitions, and that
    every cycle of markings has a marking where all transitions are followed.

    SN P systems make one synchronous step: there is nothing to reorder.

    ??? cite "Source"
        Valmari, Hansen 2017, Stubborn set intuition explained: D1, D2 and V. Differs from it in:
        1. the condition on cycles is that of Kurshan, Levin, Minea, Peled, Yenigun 1998, Static
        partial order reduction: some transitions are chosen, in advance, such that every cycle
        has one of them. A linear function of the markings that all others increase proves it.
    """


@dataclass(frozen=True)
class ConeOfInfluence(AbstractReduction):
    """Neurons and places are removed that the query does not read, and that do not influence what
    it reads.

    Queries must not depend on halting or on the number of steps. Of SN P systems, which are
    synchronous, every other query has the same answer. Of nets whether a condition is ever reached
    has: other transitions may keep those in the cone from ever firing.

    ??? cite "Source"
        Clarke, Grumberg, Peled 1999, Model checking, section 13.1.
    """


#: All of them, in the order in which they are applied.
ALL_REDUCTIONS = (ConeOfInfluence(), StubbornSets(), Symmetry())
