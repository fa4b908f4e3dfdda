"""The names in a query, and how the model is to be explored for it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..._text.nearest import nearest
from ...explore.text import names_of
from ...machine import LARGEST_CAP, Explorable, Schema
from .errors import QueryError
from .formula import Comparison, Observed, Query, Variable, comparisons


class Needs(NamedTuple):
    """How a system is to be explored for a query, see `snpjax.explore`."""

    saturate: Mapping[str, int]
    clock: int


def needs_of(
    query: Query,
    system: Explorable[Any, Any],
    *,
    saturate: Mapping[str, int] | None,
    max_depth: int | None,
) -> Needs:
    """How a system must be explored so that a query can be checked.

    **Arguments:**

    - `query`: a query, as `parse_query` returns it.
    - `system`: the system to be explored.
    - `saturate`: the largest numbers of spikes that are told apart, by neuron; they take precedence
      over those that the query needs.
    - `max_depth`: the depth to which the system will be explored; `None` if it is not limited.

    **Returns:** the `saturate` and `clock` arguments for `snpjax.explore`.

    **Raises:** `QueryError` for names that the system does not have.
    """
    schema = system.schema()
    check_names(query, schema)
    own, clock = saturation_for(query, schema), clock_for(query, max_depth)
    if clock > LARGEST_CAP:
        problem = f"`step` is compared with a number above {LARGEST_CAP - 1:,} (give a smaller one)"
        steps = (
            v.at
            for x in comparisons(query.formula)
            for v in x.variables
            if v == Variable(Observed.STEP)
        )
        raise QueryError(query.text, next(steps, query.formula.start), problem)
    return Needs({**own, **(saturate or {})}, clock)


def check_names(query: Query, schema: Schema[Any, Any]) -> None:
    """**Raises:** `QueryError` for the first name or rule that the model does not have."""
    for condition in query.fair:
        check_names(condition, schema)
    variables = [v for comparison in comparisons(query.formula) for v in comparison.variables]
    for variable in sorted(variables, key=lambda variable: variable.at):
        if variable.observed in (Observed.STEP, Observed.HALTED):
            continue
        problem = _problem(schema, variable.observed.value, variable.neuron, variable.rule)
        if problem is not None:
            whole = _unquoted(schema, query.text, variable.at)
            if whole is not None:
                problem = f'a name that is not a plain word is written in quotes: "{whole}"'
            raise QueryError(query.text, variable.at, problem)


def _unquoted(schema: Schema[Any, Any], text: str, at: int) -> str | None:
    """The name in a query that would have to be quoted: the longest that begins there."""
    found = (x for x in names_of(schema) if not x.isidentifier() and text.startswith(x, at))
    return max(found, key=len, default=None)


def _problem(schema: Schema[Any, Any], function: str, name: str, number: int) -> str | None:
    known = (Observed.SPIKES.value, *schema.quantities, *schema.step_quantities)
    if function == Observed.FINAL.value and function not in known:
        return 'only nets have final markings (for the spikes of a neuron write "final")'
    if function not in known:
        return f"only neurons have `{function}` (compare numbers by their names)"
    if schema.problem_of is not None:
        return schema.problem_of(function, name, number)
    names = names_of(schema)
    return None if name in names else f"there is no {name!r} ({nearest(name, names, 'names')})"


def saturation_for(query: Query, schema: Schema[Any, Any]) -> dict[str, int]:
    """Where the spikes of neurons without rules can be cut without a change to any answer; of
    labels without rules where neurons divide or bud, each neuron by itself.

    Nothing depends on their spikes but the comparisons of the query. A neuron in none of these is
    cut at 1, one that is the only variable of each of its comparisons above the largest number that
    decides one of them, and any other, as one in a congruence or a comparison with a number that
    cannot be a cap, not at all.
    """
    if schema.inert is None:
        return {}
    caps: dict[str, int | None] = {}
    for comparison in query.comparisons:
        for variable in comparison.variables:
            if variable.observed is Observed.SPIKES:
                name = variable.neuron
                known, needed = caps.get(name, 1), None
                if comparison.decides_a_number and known is not None:
                    needed = max(known, decided_from(comparison))
                caps[name] = needed
    found = {name: caps.get(name, 1) for name in schema.inert(list(caps))}
    return {name: cap for name, cap in found.items() if cap is not None and cap <= LARGEST_CAP}


def clock_for(query: Query, max_depth: int | None) -> int:
    """The step up to which configurations of different steps are told apart.

    **Raises:** `QueryError` where `step` is compared with neurons and nothing bounds it.
    """
    clock = max((clock_for(condition, max_depth) for condition in query.fair), default=0)
    for comparison in comparisons(query.formula):
        for variable in comparison.variables:
            if variable.observed is Observed.STEP:
                if comparison.decides_a_number:
                    clock = max(clock, decided_from(comparison))
                elif max_depth is None:
                    problem = "`step` is not compared with a constant (give `max_depth`)"
                    raise QueryError(query.text, variable.at, problem)
                else:
                    clock = max(clock, max_depth + 1)
    return clock


def check_clock(query: Query, clock: int) -> None:
    """**Raises:** `QueryError` where a graph does not tell the steps of a query apart."""
    for condition in query.fair:
        check_clock(condition, clock)
    for comparison in comparisons(query.formula):
        for variable in comparison.variables:
            if variable.observed is Observed.STEP:
                needed = decided_from(comparison) if comparison.decides_a_number else 1
                if clock < needed:
                    problem = (
                        f"the graph does not tell these steps apart (explore with `clock={needed}` "
                        "or more, or check the system itself)"
                    )
                    raise QueryError(query.text, variable.at, problem)


def decided_from(comparison: Comparison) -> int:
    """From where on the one variable of a comparison does not change its truth."""
    ((_, coefficient),) = comparison.linear_terms
    return max(comparison.constant // coefficient + 1, 1)
