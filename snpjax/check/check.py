"""`check`: properties of all computations of a system, decided from its configuration graph."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Bool

from snpjax_formats.arguments import as_integer

from ..explore import Graph, Inputs, MemoryLimits, Patience, Stop, explore
from ..explore.conditions import condition_of
from ..explore.explore import with_inputs
from ..machine import (
    AbstractCapacity,
    ConfigurationsT,
    Explorable,
    LayoutLike,
    StepsT,
    advice_on,
)
from ..scale.checkpoint import Checkpoint
from .in_graph import Claim, check_query
from .induction.prove import decided
from .probability.answer import answer, check_choices, check_choosers
from .query.formula import Query
from .query.names import Needs, check_clock, check_names, needs_of
from .query.number_query import NumberQuery, parse_property
from .reduction.decide import FullGraph, decided_by
from .reduction.plan import ReducedModel
from .reduction.reductions import AbstractReduction
from .tracing import on_host
from .verdict import Verdict


#: Found of a system, if no other limit is given.
MAX_CONFIGURATIONS = 1_000_000

#: A query, or a function of configurations.
Property: TypeAlias = str | Callable[[ConfigurationsT], Bool[np.ndarray, " configurations"]]
#: Properties in a list.
Several: TypeAlias = (
    list[str] | list[Property[ConfigurationsT]] | tuple[Property[ConfigurationsT], ...]
)
#: What is asked: a query, a question for a number, or a function.
_Asked: TypeAlias = Query | NumberQuery | Callable[[Any], Bool[np.ndarray, " configurations"]]
_Choosers: TypeAlias = Sequence[str] | Literal["all"]


@overload
def check(
    subject: Explorable[ConfigurationsT, StepsT] | Graph[ConfigurationsT, StepsT],
    property: Property[ConfigurationsT],
    /,
    *,
    fair: Sequence[str] = ...,
    chosen: Sequence[str] | Literal["all"] = ...,
    max_configurations: int | None = ...,
    max_depth: int | None = ...,
    inputs: Inputs | None = ...,
    saturate: Mapping[str, int] | None = ...,
    layout: LayoutLike | None = ...,
    capacity: AbstractCapacity | None = ...,
    mesh: Mesh | None = ...,
    memory: MemoryLimits | None = ...,
    exact: bool | None = ...,
    checkpoint: Checkpoint | None = ...,
    progress: Callable[[int, int], None] | None = ...,
    induction: bool = ...,
    reductions: Sequence[AbstractReduction] | None = ...,
    seconds: float | Patience | None = ...,
) -> Verdict[ConfigurationsT, StepsT]: ...
@overload
def check(
    subject: Explorable[ConfigurationsT, StepsT] | Graph[ConfigurationsT, StepsT],
    property: Several[ConfigurationsT],
    /,
    *,
    fair: Sequence[str] = ...,
    chosen: Sequence[str] | Literal["all"] = ...,
    max_configurations: int | None = ...,
    max_depth: int | None = ...,
    inputs: Inputs | None = ...,
    saturate: Mapping[str, int] | None = ...,
    layout: LayoutLike | None = ...,
    capacity: AbstractCapacity | None = ...,
    mesh: Mesh | None = ...,
    memory: MemoryLimits | None = ...,
    exact: bool | None = ...,
    checkpoint: Checkpoint | None = ...,
    progress: Callable[[int, int], None] | None = ...,
    induction: bool = ...,
    reductions: Sequence[AbstractReduction] | None = ...,
    seconds: float | Patience | None = ...,
) -> tuple[Verdict[ConfigurationsT, StepsT], ...]: ...
@on_host("check")
def check(
    subject: Explorable[ConfigurationsT, StepsT] | Graph[ConfigurationsT, StepsT],
    property: Property[ConfigurationsT] | Several[ConfigurationsT],
    /,
    *,
    fair: Sequence[str] = (),
    chosen: Sequence[str] | Literal["all"] = (),
    max_configurations: int | None = None,
    max_depth: int | None = None,
    inputs: Inputs | None = None,
    saturate: Mapping[str, int] | None = None,
    layout: LayoutLike | None = None,
    capacity: AbstractCapacity | None = None,
    mesh: Mesh | None = None,
    memory: MemoryLimits | None = None,
    exact: bool | None = None,
    checkpoint: Checkpoint | None = None,
    progress: Callable[[int, int], None] | None = None,
    induction: bool = True,
    reductions: Sequence[AbstractReduction] | None = None,
    seconds: float | Patience | None = None,
) -> Verdict[ConfigurationsT, StepsT] | tuple[Verdict[ConfigurationsT, StepsT], ...]:
    """Whether a property holds of all computations of a system.

    **Arguments:**

    - `subject`: a system, a net, another model that `explore` takes, or a graph of `explore`.
    - `property`: a query, see `docs/checking.md`, or a function of `Configurations` that says of
      each whether it is as it always should be: `lambda c: c["n3"] <= 4`. Or several of them in
      a list: those that need the same graph share it.
    - `fair`: conditions that hold infinitely often on all paths that the query is about; or
      formulas of these paths, such as `infinitely often p implies infinitely often q`.
    - `chosen`: of a question for a number, the neurons whose rules somebody chooses, knowing the
      configuration, or `"all"`; of a net only that. All other choices are random: each choice of a
      configuration that agrees with what is chosen is equally likely. Of several properties it is
      for the questions for numbers among them.
    - `max_configurations` (1,000,000 by default), `max_depth`, `inputs`, `saturate`, `layout`,
      `capacity`, `mesh`, `memory`, `exact`, `checkpoint`, `progress`: how a system is explored, see
      `explore`. For a query, neurons without rules are saturated, and steps told apart, as far as
      it needs; `saturate` has precedence. Where several properties need more than one graph, the
      checkpoints of each are in a folder of its own, `0`, `1`, ...
    - `induction`: where a limit ends the search, and the query says that a condition always holds,
      try a proof by induction, see `prove`.
    - `reductions`: how to decide a query from fewer configurations: `Symmetry()`, `StubbornSets()`
      and `ConeOfInfluence()`, of which those are used whose conditions hold. By default all of
      them, but only if the full graph is larger than 65,536 configurations; `()` for none. Before
      that, random runs look for a configuration that decides the query, if the graph is larger
      than 4,096 configurations.
    - `seconds`: the time for all of that, for each graph; `None` for no limit. When it is over, or
      after the first Ctrl-C, the verdict is about what was found until then. A second Ctrl-C is an
      exception. With a `Patience` the time is for all graphs, and another thread may end the
      search.

    **Returns:** a `Verdict`, or of several properties a tuple of verdicts in their order. One step
    is one transition, and halting configurations follow themselves, so that all computations are
    infinite.

    **Raises:** `QueryError` (a `ValueError`) for a query that does not parse, names no neuron, or
    has too many operators, with the place; `ValueError` for a function that gives no booleans;
    `CheckpointError` for checkpoints of another call.
    """
    is_one = not isinstance(property, list | tuple)
    asked = [_asked(one, fair) for one in ([property] if is_one else property)]
    _check_choosers(asked, chosen)
    if isinstance(subject, Graph):
        check_choosers(subject.system, chosen)
        limits = (max_configurations, max_depth, inputs, saturate, layout, capacity)
        how = (mesh, memory, exact, checkpoint, progress, reductions, seconds)
        if any(x is not None for x in (*limits, *how)):
            raise ValueError("A graph is explored already. Give limits and inputs to `explore`.")
        _check_full(subject)
        found = [_in_graph(subject, one, chosen) for one in asked]
        if induction:
            patience = Patience(None)
            with patience.until_interrupted():
                found = [
                    _by_induction(verdict, one, subject.system, patience)
                    if isinstance(one, Query)
                    else verdict
                    for verdict, one in zip(found, asked, strict=True)
                ]
    elif not isinstance(subject, Explorable):
        fix = "Pass a system, a net, a graph, or a model with `enumerable` and `schema`."
        kind = type(subject).__name__
        fix = advice_on(subject, fix)
        raise TypeError(f"An object of the type {kind} cannot be checked. {fix}")
    else:
        model = subject if inputs is None else with_inputs(subject, inputs)
        check_choosers(model, chosen)
        used = _reductions(reductions, asked, is_plain=mesh is None and checkpoint is None)
        needs = [_needs(one, model, saturate, max_depth) for one in asked]
        keys = [(own.clock, *sorted(own.saturate.items())) for own in needs]
        groups = {key: [i for i, other in enumerate(keys) if other == key] for key in keys}
        verdicts: dict[int, Verdict] = {}

        def search(
            patience: Patience,
            folder: Checkpoint | None,
            model: Explorable,
            needs: Needs,
            most: int,
        ) -> Graph:
            return explore(
                model,
                max_configurations=most,
                max_depth=max_depth,
                saturate=needs.saturate,
                clock=needs.clock,
                layout="auto" if layout is None else layout,
                capacity=capacity,
                mesh=mesh,
                memory=memory or MemoryLimits(),
                exact=exact is not False,
                checkpoint=folder,
                progress=progress,
                seconds=patience,
            )

        limit = MAX_CONFIGURATIONS
        if max_configurations is not None:
            limit = as_integer("max_configurations", max_configurations)
        for number, members in enumerate(groups.values()):
            patience = Patience.of(seconds)
            folder = checkpoint
            if checkpoint is not None and len(groups) > 1:
                folder = replace(checkpoint, folder=Path(checkpoint.folder) / f"{number}")
            own_search = partial(search, patience, folder)
            is_over = partial(_is_over, patience)
            full = FullGraph(model, needs[members[0]], own_search, limit, is_over)
            with patience.until_interrupted():
                for i in members:
                    one = asked[i]
                    if not isinstance(one, Query):
                        verdicts[i] = _in_graph(full.explored(), one, chosen)
                        continue
                    verdict = decided_by(full, one, used, check_query, saturate=saturate)
                    if induction:
                        verdict = _by_induction(verdict, one, model, patience)
                    verdicts[i] = verdict
        found = [verdicts[i] for i in range(len(asked))]
    schema = subject.schema if isinstance(subject, Graph) else subject.schema()
    found = [replace(verdict, rule=schema.rule) for verdict in found]
    return found[0] if is_one else tuple(found)


def _asked(property: Property[Any], fair: Sequence[str]) -> _Asked:
    """What a property asks."""
    if isinstance(property, str):
        return parse_property(property, fair=fair)
    if not callable(property):
        raise TypeError(f"{property!r} is not a property. Give a query, or a function.")
    if fair:
        raise ValueError("A function is checked in each configuration. Give a query for `fair`.")
    return property


def _check_choosers(asked: Sequence[_Asked], chosen: _Choosers) -> None:
    numbers = [one for one in asked if isinstance(one, NumberQuery)]
    for one in numbers:
        check_choices(one, chosen)
    if len(chosen) and not numbers:
        raise ValueError("`chosen` is for questions for a number, such as `Pmin=? [ ... ]`.")


def _check_full(graph: Graph) -> None:
    if graph.stop is Stop.ONE_COMPUTATION or isinstance(graph.system, ReducedModel):
        raise ValueError(
            "This graph is not the full one: it was reduced for another query, or is a single "
            "computation. Check the model, or a graph of `explore`."
        )


def _needs(
    asked: _Asked,
    model: Explorable,
    saturate: Mapping[str, int] | None,
    max_depth: int | None,
) -> Needs:
    """How a model is explored for a property."""
    if not isinstance(asked, Query | NumberQuery):
        return Needs(saturate or {}, 0)
    query = asked.query if isinstance(asked, NumberQuery) else asked
    return needs_of(query, model, saturate=saturate, max_depth=max_depth)


def _in_graph(graph: Graph, asked: _Asked, chosen: _Choosers) -> Verdict:
    """The verdict on a property in a graph, without induction."""
    if isinstance(asked, NumberQuery):
        check_names(asked.query, graph.schema)
        check_clock(asked.query, graph.clock)
        return answer(graph, asked, None if chosen == "all" else chosen)
    if isinstance(asked, Query):
        return check_query(graph, asked)
    holds, is_cut = condition_of(graph, asked)
    name = getattr(asked, "__name__", repr(asked))
    return Claim(graph, f"always {name}", True).always(holds & ~is_cut, holds | is_cut)


def _by_induction(verdict: Verdict, query: Query, model: Any, patience: Patience) -> Verdict:
    """The verdict, or what induction finds where a limit left it open. Counterexamples and proofs
    are about all paths, fair or not."""
    if query.fair or _is_over(patience):
        return verdict
    return decided(verdict, query, model, patience)


def _is_over(patience: Patience) -> bool:
    return patience.stop() is not None


def _reductions(
    given: Sequence[AbstractReduction] | None, asked: Sequence[_Asked], *, is_plain: bool
) -> Sequence[AbstractReduction] | None:
    """The reductions to use; `None` for those that turn out to be needed.

    **Raises:** `TypeError` for what is not a reduction; `ValueError` with a mesh or a checkpoint,
    and for what is not a query.
    """
    if given is None:
        return None if is_plain else ()
    if isinstance(given, AbstractReduction):
        given = (given,)
    for one in given:
        if not isinstance(one, AbstractReduction):
            fix = "Give Symmetry(), StubbornSets() or ConeOfInfluence()"
            raise TypeError(f"`reductions` has {one!r}. {fix}, or () for none.")
    if given and not is_plain:
        raise ValueError(
            "A search over a mesh, or with checkpoints, is not reduced. Leave out `reductions`, or "
            "`mesh` and `checkpoint`."
        )
    if given and any(isinstance(one, NumberQuery) for one in asked):
        raise ValueError("A number is computed from the graph. Leave out `reductions`.")
    if given and not all(isinstance(one, Query) for one in asked):
        raise ValueError("What a function reads is unknown. Give a query, or no `reductions`.")
    return tuple(given)
