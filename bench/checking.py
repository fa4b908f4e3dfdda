"""How long do proofs by induction take, beside Spacer, the engine for Horn clauses within z3?

    python bench/checking.py [NAME...]

The systems are those of examples/unbounded_systems.py. A proof of `snpjax.prove` counts when
`snpjax.certify` has accepted its certificate, both within the same limit; Spacer gets the same
relation and gives no certificate that is checked. The least of three times, after one call that is
not counted.
"""

import sys
import time
from collections.abc import Callable

import z3
from figures import EXAMPLES

import snpjax as snp
from snpjax.check.induction.invariance import invariance_of
from snpjax.check.induction.models import relation_of
from snpjax.check.induction.relation import Marks, encoded
from snpjax.check.query.parse import parse_query


sys.path.insert(0, str(EXAMPLES))
from unbounded_systems import Example, examples  # noqa: E402


_SECONDS, _REPEATS = 10.0, 3


def by_induction(example: Example) -> str:
    """What `prove` says."""
    verdict = snp.prove(example.system, example.query, seconds=_SECONDS)
    if verdict.certificate is not None:
        return f"proved, {len(verdict.certificate.invariant.split(' and '))} conditions"
    return verdict.status.value


def by_spacer(example: Example) -> str:
    """What Spacer says of the same relation."""
    wanted = invariance_of(parse_query(example.query))
    assert wanted is not None
    relation = relation_of(example.system)
    engine, now = z3.Fixedpoint(), relation.frame(z3, 0)
    engine.set(engine="spacer", timeout=int(1000 * _SECONDS))
    after, marks = relation.frame(z3, 1), Marks(z3, 0)
    steps = z3.And(*relation.domain(z3, now), *relation.steps(z3, now, after, marks))
    variables = relation.variables
    reached = z3.Function("reached", *[z3.IntSort() for _ in variables], z3.BoolSort())
    broken = z3.Function("broken", z3.BoolSort())
    engine.register_relation(reached, broken)
    bound = sorted(_constants(steps), key=str)
    engine.declare_var(*bound, *now.values())
    engine.rule(reached(*(z3.IntVal(x) for x in relation.initial)))
    held = reached(*(now[v] for v in variables))
    engine.rule(reached(*(after[v] for v in variables)), [held, steps])
    engine.rule(broken(), [held, z3.Not(encoded(z3, wanted.condition, relation, now))])
    answer = engine.query(broken())
    return {"unsat": "proved", "sat": "refuted"}.get(f"{answer}", "no answer")


def _constants(term: z3.ExprRef) -> list[z3.ExprRef]:
    """The variables of a term."""
    todo, seen = [term], {}
    while todo:
        one = todo.pop()
        if one.get_id() not in seen:
            seen[one.get_id()] = one
            todo += one.children()
    kind = z3.Z3_OP_UNINTERPRETED
    return [x for x in seen.values() if z3.is_const(x) and x.decl().kind() == kind]


def timed(call: Callable[[Example], str], example: Example) -> tuple[str, float]:
    """An answer, and the seconds that it took."""
    answer, seconds = "", []
    for _ in range(_REPEATS + 1):
        start = time.perf_counter()
        answer = call(example)
        seconds.append(time.perf_counter() - start)
        if seconds[-1] >= _SECONDS:
            break
    return answer, min(seconds[1:] or seconds)


def main() -> None:
    print(f"| {'system':20} | {'snpjax.prove':24} |      s | {'Spacer':10} |      s |")
    for example in examples():
        if len(sys.argv) > 1 and example.name not in sys.argv[1:]:
            continue
        answer, seconds = timed(by_induction, example)
        other, its_seconds = timed(by_spacer, example)
        row = f"| {example.name:20} | {answer:24} | {seconds:6.2f} "
        print(f"{row}| {other:10} | {its_seconds:6.2f} |", flush=True)


if __name__ == "__main__":
    main()
