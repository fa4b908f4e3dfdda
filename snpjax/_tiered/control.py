"""Primitives that hold other programs."""

from typing import Any

import numpy as np
from jax.extend.core import JaxprEqn

from .rule import Call, Enclosing, NotInterpretable, Rule, dtype_of, shape_of


def _same(eqn: JaxprEqn, program: Enclosing) -> Call:
    if eqn.primitive.multiple_results:
        return lambda *values: values
    return lambda value: value


def _called(eqn: JaxprEqn, program: Enclosing) -> Call:
    return program.nested(eqn.params["jaxpr"])


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


def _while(eqn: JaxprEqn, program: Enclosing) -> Call:
    goes_on, body = (program.nested(eqn.params[name]) for name in ("cond_jaxpr", "body_jaxpr"))
    num_cond, num_body = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    tick = program.tick

    def loop(*values: Any) -> list[Any]:
        of_cond, of_body = values[:num_cond], values[num_cond : num_cond + num_body]
        carry: Any = values[num_cond + num_body :]
        while goes_on(*of_cond, *carry)[0]:
            tick()
            carry = body(*of_body, *carry)
        return list(carry)

    return loop


def _are_alike(atom: Any, aval: Any) -> bool:
    return len(shape_of(atom)) == len(aval.shape)


def _scan(eqn: JaxprEqn, program: Enclosing) -> Call:
    inner, length = eqn.params["jaxpr"], eqn.params["length"]
    body = program.nested(inner)
    # What the loop runs over has an axis more than what its body gets or gives.
    num_carry = sum(map(_are_alike, eqn.outvars, inner.out_avals))
    first = sum(map(_are_alike, eqn.invars, inner.in_avals))
    num_consts = first - num_carry
    rows = range(length)[::-1] if eqn.params["reverse"] else range(length)
    outs = [(shape_of(var), dtype_of(var)) for var in eqn.outvars[num_carry:]]
    tick = program.tick

    def loop(*values: Any) -> list[Any]:
        consts, carry, stacked = values[:num_consts], values[num_consts:first], values[first:]
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
