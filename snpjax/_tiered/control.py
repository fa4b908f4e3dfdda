"""Primitives that hold other programs."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr, JaxprEqn, Literal

from .estimate import NAME
from .rule import Call, Enclosing, NotInterpretable, Rule, dtype_of, shape_of


def _same(eqn: JaxprEqn, program: Enclosing) -> Call:
    if eqn.primitive.multiple_results:
        return lambda *values: values
    return lambda value: value


def _called(eqn: JaxprEqn, program: Enclosing) -> Call:
    jaxpr = eqn.params["jaxpr"]
    own = [place for place in _updated(jaxpr) if program.is_own(eqn.invars[place])]
    return program.nested(
        jaxpr,
        frozenset(jaxpr.jaxpr.invars[place] for place in own),
        is_estimate=eqn.params["name"] == NAME,
    )


def _platform(eqn: JaxprEqn, program: Enclosing) -> Call:
    platforms = eqn.params["platforms"]
    place = next((i for i, names in enumerate(platforms) if names is None or "cpu" in names), None)
    if place is None:
        raise NotInterpretable(f"a program for {platforms}")
    return lambda: np.int32(place)


def _branches(eqn: JaxprEqn, program: Enclosing) -> Call:
    last = len(eqn.params["branches"]) - 1
    which = program.constant(eqn.invars[0])
    if which is not None:  # the platform's, or there is no other
        branch = program.nested(eqn.params["branches"][min(max(int(which), 0), last)])
        return lambda _, *values: branch(*values)
    branches = [program.nested(branch) for branch in eqn.params["branches"]]
    return lambda which, *values: branches[min(max(int(which), 0), last)](*values)


def _updated(jaxpr: ClosedJaxpr) -> dict[int, int]:
    """Inputs of a program that it reads only to update slices of them, each by the output that is
    the updated array: one copy of that serves all iterations of a loop."""
    inner, pairs = jaxpr.jaxpr, {}
    read = [atom for eqn in inner.eqns for atom in eqn.invars] + list(inner.outvars)
    times = Counter(atom for atom in read if not isinstance(atom, Literal))
    for eqn in inner.eqns:
        if eqn.primitive.name == "dynamic_update_slice":
            pairs[eqn.outvars[0]] = eqn.invars[0]
        elif eqn.primitive.name == "jit":
            for place, end in _updated(eqn.params["jaxpr"]).items():
                pairs[eqn.outvars[end]] = eqn.invars[place]
    places, found = {var: place for place, var in enumerate(inner.invars)}, {}
    for number, end in enumerate(inner.outvars):
        start = None if isinstance(end, Literal) else pairs.get(end)
        if start is not None and not isinstance(start, Literal) and start in places:
            if times[start] == times[end] == 1:
                found[places[start]] = number
    return found


def _body(
    eqn: JaxprEqn, name: str, program: Enclosing, first: int, num_carry: int
) -> tuple[Call, list[int]]:
    """The body of a loop, and its buffers."""
    body = eqn.params[name]
    updated = _updated(body)
    buffers = [i for i in range(num_carry) if updated.get(first + i) == i]
    own = frozenset(body.jaxpr.invars[first + number] for number in buffers)
    return program.nested(body, own), buffers


def _copied(carry: Sequence[Any], buffers: list[int]) -> list[Any]:
    carry = list(carry)
    for number in buffers:
        carry[number] = carry[number].copy()
    return carry


def _while(eqn: JaxprEqn, program: Enclosing) -> Call:
    num_cond, num_body = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    goes_on = program.nested(eqn.params["cond_jaxpr"])
    num_carry = len(eqn.outvars)
    body, buffers = _body(eqn, "body_jaxpr", program, num_body, num_carry)
    tick = program.tick

    def loop(*values: Any) -> list[Any]:
        of_cond, of_body = values[:num_cond], values[num_cond : num_cond + num_body]
        carry = _copied(values[num_cond + num_body :], buffers)
        while goes_on(*of_cond, *carry)[0]:
            tick()
            carry = body(*of_body, *carry)
        return carry

    return loop


def _are_alike(atom: Any, aval: Any) -> bool:
    return len(shape_of(atom)) == len(aval.shape)


def _scan(eqn: JaxprEqn, program: Enclosing) -> Call:
    inner, length = eqn.params["jaxpr"], eqn.params["length"]
    # What the loop runs over has an axis more than what its body gets or gives.
    num_carry = sum(map(_are_alike, eqn.outvars, inner.out_avals))
    first = sum(map(_are_alike, eqn.invars, inner.in_avals))
    num_consts = first - num_carry
    body, buffers = _body(eqn, "jaxpr", program, num_consts, num_carry)
    rows = range(length)[::-1] if eqn.params["reverse"] else range(length)
    outs = [(shape_of(var), dtype_of(var)) for var in eqn.outvars[num_carry:]]
    tick = program.tick

    def loop(*values: Any) -> list[Any]:
        consts, stacked = values[:num_consts], values[first:]
        carry = _copied(values[num_consts:first], buffers)
        found = [np.empty(shape, dtype) for shape, dtype in outs]
        for row in rows:
            tick()
            results = body(*consts, *carry, *(x[row] for x in stacked))
            carry = results[:num_carry]
            for all_rows, one in zip(found, results[num_carry:], strict=True):
                all_rows[row] = one
        return [*carry, *found]

    return loop


RULES: dict[str, Rule] = {
    "optimization_barrier": _same,
    "xla_metadata_value": _same,
    "jit": _called,
    "platform_index": _platform,
    "cond": _branches,
    "while": _while,
    "scan": _scan,
}
