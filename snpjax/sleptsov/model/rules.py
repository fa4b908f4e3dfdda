"""How a step is made: which transitions fire, and how often."""

from collections.abc import Mapping
from types import MappingProxyType

import equinox as eqx


class AbstractRule(eqx.Module):
    """What a step is."""

    @property
    def name(self) -> str:
        """The name of the rule in files, in JSON and on the command line."""
        return type(self).__name__.lower()


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


#: All rules by name.
RULES: Mapping[str, AbstractRule] = MappingProxyType(
    {rule.name: rule for rule in (Sleptsov(), Petri(), Disjoint())}
)


def check_rule(rule: object) -> None:
    """Refuse what is no rule. **Raises:** `TypeError`."""
    if not isinstance(rule, AbstractRule):
        raise TypeError(f"`rule` is {rule!r}. Give Sleptsov(), Petri() or Disjoint().")
