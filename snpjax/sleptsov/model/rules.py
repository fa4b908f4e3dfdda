"""How a step is made: which transitions fire, and how often."""

import equinox as eqx


class AbstractRule(eqx.Module):
    """What a step is."""


class Sleptsov(AbstractRule):
    """The chosen transition fires in its maximal multiplicity C(t).

    A transition without a regular input arc has none: a run in which it is chosen ends before that,
    with `RESULTS.unbounded_multiplicity`.
    """


class Petri(AbstractRule):
    """The chosen transition fires once. Nets take far more steps: 7 + 5 takes 13 instead of 3."""


class Disjoint(AbstractRule):
    """Transitions that share no place fire together, each in its maximal multiplicity.

    In a round the fireable transitions are asked in order of priority; one fires if none of its
    places was taken by one before it, and takes its places whether it fires or not.

    This is another semantics: those that fire commute, but one of them may enable a transition of
    higher priority, which would have come before another one. The final marking of a net may
    differ; of the published arithmetic programs it does not.
    """
