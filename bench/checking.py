"""How long do proofs by induction take, beside Spacer, the engine for Horn clauses within z3?

    python bench/checking.py [NAME...]

The systems are those of examples/unbounded_systems.py. A proof of `snpjax.prove` counts when
`snpjax.certify` has accepted its certificate, both within the same limit; Spacer gets nets under
the rule of Petri, and gives no certificate that is checked. The least of three times, after one
call that is not counted.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import z3
from figures import EXAMPLES

import snpjax as snp
from snpjax.sleptsov import Execution, Petri


sys.path.insert(0, str(EXAMPLES))
from unbounded_systems import Example, examples  # noqa: E402


_SECONDS, _REPEATS = 10.0, 3


def by_induction(example: Example) -> str:
    """What `prove` says."""
    verdict = snp.prove(example.system, example.query, seconds=_SECONDS)
    if verdict.certificate is not None:
        return f"proved, {len(verdict.certificate.invariant)} characters"
    return verdict.status.value


def by_spacer(example: Example) -> str:
    """What Spacer says of a net without priorities, inhibitors and tests."""
    system = example.system
    if not isinstance(system, Execution) or not isinstance(system.rule, Petri):
        return ""
    net = system.net
    assert not (len(net.priorities) or len(net.inhibitors) or len(net.tests))
    engine, tokens = z3.Fixedpoint(), z3.Ints([f"p{i}" for i in range(net.num_places)])
    engine.set(engine="spacer", timeout=int(1000 * _SECONDS))
    reached = z3.Function("reached", *[z3.IntSort() for _ in tokens], z3.BoolSort())
    broken = z3.Function("broken", z3.BoolSort())
    engine.register_relation(reached, broken)
    engine.declare_var(*tokens)
    engine.rule(reached(*map(z3.IntVal, net.marking.tolist())))
    for transition in range(net.num_transitions):
        taken = [(p, w) for p, t, w in net.inputs.triples() if t == transition]
        after: list[Any] = list(tokens)
        for p, w in taken:
            after[p] = after[p] - w
        for p, t, w in net.outputs.triples():
            after[p] = after[p] + w if t == transition else after[p]
        engine.rule(reached(*after), [reached(*tokens), *(tokens[p] >= w for p, w in taken)])
    names = dict(zip(net.place_names, tokens, strict=True))
    engine.rule(broken(), [reached(*tokens), z3.Not(_condition(example.query, names))])
    try:
        answer = engine.query(broken())
    except z3.Z3Exception as error:  # which a time-out raises
        assert "canceled" in f"{error}", error
        return "no answer"
    return {"unsat": "proved", "sat": "refuted"}.get(f"{answer}", "no answer")


def _condition(query: str, names: dict[str, z3.ArithRef]) -> Any:
    """A query of comparisons that `and` joins, as a term."""
    always, _, text = query.partition(" ")
    parts = text.strip("()").split(" and ")
    terms = [eval(part, {"__builtins__": {}}, dict(names)) for part in parts]  # of this repository
    joined = z3.And(*terms)
    return joined if always == "always" else z3.Not(joined)


def timed(call: Callable[[Example], str], example: Example) -> tuple[str, float]:
    """An answer, and the seconds that it took."""
    answer, seconds = "", []
    for _ in range(_REPEATS + 1):
        start = time.perf_counter()
        answer = call(example)
        seconds.append(time.perf_counter() - start)
        if not answer or seconds[-1] >= _SECONDS:
            break
    return answer, min(seconds[1:] or seconds)


def main() -> None:
    print(f"| {'system':20} | {'snpjax.prove':24} |      s | {'Spacer':10} |      s |")
    for example in examples():
        if len(sys.argv) > 1 and example.name not in sys.argv[1:]:
            continue
        answer, seconds = timed(by_induction, example)
        other, its_seconds = timed(by_spacer, example)
        its = f"{its_seconds:6.2f}" if other else f"{'':6}"
        row = f"| {example.name:20} | {answer:24} | {seconds:6.2f} | {other:10} | {its} |"
        print(row, flush=True)


if __name__ == "__main__":
    main()
