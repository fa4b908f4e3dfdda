"""Which reductions a query allows for a model, and why not the others."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from snpjax_formats import device_array
from snpjax_formats.articles import kind_of

from ..._text.counts import plural
from ...explore.text import names_of
from ...lowering import taken
from ...machine import (
    AbstractCapacity,
    Enumerable,
    Explorable,
    LayoutLike,
    LoweringOptions,
    Schema,
)
from ...sleptsov.lower.enumerable import SearchedNet
from ...sleptsov.model.execution import Execution
from ...sleptsov.model.net import AbstractRunnableNet, SleptsovNet
from ...sleptsov.model.rules import Petri
from ...spiking.lower.enumerable import SearchedMachine
from ...spiking.model.system import SpikingSystem
from ..query.formula import Observed, Query, comparisons, first_product
from .canonical_machine import CanonicalMachine
from .cone import net_of_cone, neurons_in_cone, places_in_cone, system_of_cone
from .net_relations import NetRelations, breakers_of_cycles
from .questions import (
    asks_for_deadlocks,
    asks_for_termination,
    goal_of,
    has_next,
    is_known,
    reads,
    reads_only,
    variables_of,
)
from .reductions import AbstractReduction, ConeOfInfluence, StubbornSets, Symmetry
from .stubborn_machine import StubbornNet
from .symmetry import Family, graph_of_net, graph_of_system, interchangeable


#: Larger models are not looked at: neurons, or places and transitions.
_MOST_VERTICES = 2000
#: Nets with more transitions have no stubborn sets: the closure takes their number squared.
_MOST_TRANSITIONS = 512


class NotReduced(Exception):
    """Why a reduction is off, in words."""


@dataclass(frozen=True, eq=False)
class ReducedModel:
    """A model to explore in place of another one.

    - `model`: it, or its part in the cone of influence.
    - `kept`: the columns of the original model that it has; `None` for all.
    - `families`: columns of interchangeable components.
    - `watched`: the transitions that no proper stubborn set contains; `None` where all enabled
      transitions are followed.
    - `used`, `unused`: the reductions in words, and why others are off.
    """

    model: Explorable[Any, Any]
    kept: Bool[np.ndarray, " columns"] | None = None
    families: tuple[Family, ...] = ()
    watched: Bool[np.ndarray, " transitions"] | None = None
    used: tuple[str, ...] = ()
    unused: tuple[str, ...] = field(default=())

    def enumerable(
        self,
        *,
        saturate: Mapping[str, int],
        clock: int,
        at_least: np.dtype | None = None,
        layout: LayoutLike | None = None,
        capacity: AbstractCapacity | None = None,
    ) -> Enumerable:
        """Its arrays, see `snpjax.machine.Explorable`."""
        lowering: LoweringOptions = {}
        if layout is not None:
            lowering["layout"] = layout
        if capacity is not None:
            lowering["capacity"] = capacity
        model = self.model
        taken(model, model.enumerable, "check", dict(lowering))
        machine: Enumerable = model.enumerable(
            saturate=saturate,
            clock=clock,
            at_least=at_least,
            **lowering,  # pyright: ignore[reportCallIssue]
        )
        if self.watched is not None:
            assert isinstance(machine, SearchedNet) and isinstance(model, AbstractRunnableNet)
            relations = NetRelations.of(model._execution.net)
            machine = StubbornNet.of(machine, relations, self.watched)
        if self.families:
            families = [device_array(x, np.int32) for x in self.families_of(machine)]
            machine = CanonicalMachine(machine, tuple(families))
        return machine

    def schema(self) -> Schema[Any, Any]:
        return self.model.schema()

    def families_of(self, machine: Enumerable) -> list[Int[np.ndarray, "components fields"]]:
        """The fields of the components."""
        fields = fields_of(machine)
        return [
            np.asarray([[field for column in one for field in fields[column]] for one in family])
            for family in (family.tolist() for family in self.families)
        ]


def fields_of(machine: Enumerable) -> list[list[int]]:
    """The fields that encode each column of a system or a net, padding included."""
    machine = _searched(machine)
    if isinstance(machine, SearchedNet):
        return [[place] for place in range(machine.machine.program.num_places)]
    size, num = machine.program.num_neurons, len(machine.delayed)
    if machine.program.delay is None:
        return [[neuron] for neuron in range(size)]
    delayed_of = np.asarray(machine.delayed_of).tolist()
    return [
        [neuron, size + at, size + num + at] if at < num else [neuron]
        for neuron, at in enumerate(delayed_of)
    ]


def field_of_step(machine: Enumerable) -> int:
    """The field that encodes the step, which follows those of all columns."""
    machine = _searched(machine)
    if isinstance(machine, SearchedNet):
        return machine.machine.program.num_places
    num_delayed = len(machine.delayed) if machine.program.delay is not None else 0
    return machine.program.num_neurons + 2 * num_delayed


def _searched(machine: Enumerable) -> SearchedMachine | SearchedNet:
    """The machine of a system or a net, without reductions."""
    if isinstance(machine, CanonicalMachine):
        machine = machine.machine
    if isinstance(machine, StubbornNet):
        machine = machine.net
    assert isinstance(machine, SearchedMachine | SearchedNet)
    return machine


def reduced(
    model: Explorable[Any, Any],
    query: Query,
    reductions: Sequence[AbstractReduction],
    *,
    saturate: Mapping[str, int],
) -> ReducedModel:
    """The model with those of the reductions whose conditions hold.

    **Arguments:**

    - `saturate`: neurons that are counted up to a number only: they are told apart from others.
    """
    found = ReducedModel(model)
    steps: dict[type[AbstractReduction], Callable[..., ReducedModel]] = {
        ConeOfInfluence: _with_cone,
        StubbornSets: _with_stubborn_sets,
        Symmetry: _with_symmetry,
    }
    for kind, step in steps.items():
        if not any(isinstance(reduction, kind) for reduction in reductions):
            continue
        try:
            if not is_known(query):
                raise NotReduced("the query is not one of linear time")
            if first_product(query.formula) is not None:
                raise NotReduced("the query multiplies numbers that vary")
            found = step(found, query, saturate)
        except NotReduced as problem:
            why = f"{_NAMES[kind]}: {problem}"
            found = _with(found, unused=(*found.unused, why))
    return found


_NAMES: dict[type[AbstractReduction], str] = {
    ConeOfInfluence: "cone of influence",
    StubbornSets: "stubborn sets",
    Symmetry: "symmetry",
}


def _with(found: ReducedModel, **changes: Any) -> ReducedModel:
    own = {name: getattr(found, name) for name in ReducedModel.__dataclass_fields__}
    return ReducedModel(**{**own, **changes})


def _net_of(model: object) -> SleptsovNet | None:
    return model._execution.net if isinstance(model, AbstractRunnableNet) else None


def _system_of(model: object) -> SpikingSystem:
    """The model as an SN P system of the definition."""
    if not isinstance(model, SpikingSystem):
        raise NotReduced(f"{kind_of(model)} is neither a SpikingSystem nor a net")
    if not model.is_static or model.signed or not model.compatibility.is_textbook:
        raise NotReduced("only SN P systems of the definition are known, without variants")
    if model.num_neurons > _MOST_VERTICES:
        raise NotReduced(f"the system has more than {_MOST_VERTICES:,} neurons")
    return model


def _check_size(net: SleptsovNet) -> None:
    if net.num_places + net.num_transitions > _MOST_VERTICES:
        raise NotReduced(f"the net has more than {_MOST_VERTICES:,} places and transitions")
    if net.order is not None:
        raise NotReduced("the net comes with a total order of its transitions")


# ---- cone of influence ----


def _with_cone(found: ReducedModel, query: Query, saturate: Mapping[str, int]) -> ReducedModel:
    if reads(query, Observed.HALTED, Observed.STEP, Observed.FINAL):
        raise NotReduced("the query reads `halted`, `final` or `step`, which depend on everything")
    names = {variable.neuron for variable in variables_of(query.formula)}
    if not names:
        raise NotReduced("the query reads nothing")
    net = _net_of(found.model)
    if net is None:
        system = _system_of(found.model)
        kept = neurons_in_cone(system, names)
        model, what = system_of_cone(system, kept), "neurons"
    else:
        _check_size(net)
        if len(net.priorities):
            raise NotReduced("priorities let every transition influence those below it")
        if goal_of(query) is None:
            raise NotReduced(
                "for nets the query has to ask whether a condition is ever true (always, never)"
            )
        kept = places_in_cone(net, names)
        model, what = net_of_cone(net, kept), "places"
        if isinstance(found.model, Execution):
            model = found.model.replace(net=model)
    if kept.all():
        raise NotReduced(f"all {what} influence what the query reads")
    used = f"cone of influence ({kept.sum()} of {len(kept)} {what})"
    return _with(found, model=model, kept=kept, used=(*found.used, used))


# ---- stubborn sets ----


def _with_stubborn_sets(
    found: ReducedModel, query: Query, saturate: Mapping[str, int]
) -> ReducedModel:
    del saturate
    if not isinstance(found.model, AbstractRunnableNet):
        raise NotReduced("the steps of this model are synchronous, so that there is no order")
    net, rule = found.model._execution.net, found.model._execution.rule
    if not isinstance(rule, Petri):
        raise NotReduced(
            "transitions fire as often as they can (check Execution(net, rule=Petri()))"
        )
    if len(net.priorities):
        raise NotReduced("the net has priorities")
    _check_size(net)
    if net.num_transitions > _MOST_TRANSITIONS:
        raise NotReduced(f"the net has more than {_MOST_TRANSITIONS} transitions")
    if reads(query, Observed.STEP):
        raise NotReduced("the query reads `step`")
    if asks_for_termination(query):
        watched, kind = np.zeros(net.num_transitions, bool), "for termination"
    elif asks_for_deadlocks(query):
        watched, kind = np.zeros(net.num_transitions, bool), "for deadlocks"
    else:
        if has_next(query):
            raise NotReduced("the query says `next`")
        if not reads_only(query, Observed.SPIKES):
            raise NotReduced("the query reads more than tokens, and is not about deadlocks")
        watched = _watched(net, query)
        kind = "for linear time without next"
        if watched.all():
            raise NotReduced("every transition changes what the query reads, or breaks a cycle")
    used = f"stubborn sets ({kind})"
    return _with(found, watched=watched, used=(*found.used, used))


def _watched(net: SleptsovNet, query: Query) -> Bool[np.ndarray, " transitions"]:
    """The transitions that change what is compared, and enough others to break all cycles."""
    effect = NetRelations.of(net).effect
    visible = np.zeros(net.num_transitions, bool)
    for comparison in comparisons(query.formula):
        weights = np.zeros(net.num_places, np.int64)
        for variable, coefficient in comparison.linear_terms:
            weights[net.place(variable.neuron)] += coefficient
        visible |= effect @ weights != 0
    return breakers_of_cycles(effect, visible)


# ---- symmetry ----


def _with_symmetry(found: ReducedModel, query: Query, saturate: Mapping[str, int]) -> ReducedModel:
    if reads(query, Observed.EMITS, Observed.FIRES, Observed.IN_FLIGHT):
        raise NotReduced("the query reads emissions or rules")
    net = _net_of(found.model)
    names = list(names_of(found.model.schema()))
    if net is None:
        system = _system_of(found.model)
        families = interchangeable(
            lambda more: graph_of_system(system, saturate, more), names, query
        )
    else:
        _check_size(net)
        families = interchangeable(lambda more: graph_of_net(net, more), names, query)
        found = _with_alike(found, net) if families else found
    if not families:
        raise NotReduced("no components can be exchanged without a change to a condition")
    column = "neuron" if net is None else "place"
    sizes = [f"{len(own)} components of {plural(own.shape[1], column)}" for own in families]
    used = f"symmetry ({', '.join(sizes)})"
    return _with(found, families=tuple(families), used=(*found.used, used))


def _with_alike(found: ReducedModel, net: SleptsovNet) -> ReducedModel:
    """With all transitions watched that may be exchanged with a watched one: a cycle of sorted
    markings then has one of them, too."""
    if found.watched is None:
        return found
    refined = np.asarray(graph_of_net(net, [None] * net.num_places).refined[net.num_places :])
    return _with(found, watched=np.isin(refined, refined[found.watched]))
