"""How long do proofs by induction, and answers from a graph, take beside other tools?

    python bench/checking.py [NAME...]

Proofs: the systems of examples/unbounded_systems.py beside Spacer, the engine for Horn clauses
within z3. A proof of `snpjax.prove` counts when `snpjax.certify` has accepted its certificate, both
within the same limit; Spacer gets nets under the rule of Petri, and gives no certificate that is
checked.

Numbers and deadlocks: `snpjax.check` beside Storm (`pip install stormpy`), which reads what is
explored here as a file, so that it searches no graph itself. Beside it is the time of `check` in a
graph that was explored before, which is what Storm does. Answers are compared first.

`cold` is the first call in a fresh process, compilation included (not the import), `warm` the
least of three calls after one that is not counted. Where the machine has other work to do, the CPU
seconds of a call are less than these.

pynusmv, with the engines of NuSMV, is not beside them: its source distribution (1.0rc8) builds
NuSMV itself and needs flex, bison, swig and patchelf for that, which no package of an index brings.
"""

import math
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import z3
from contest_nets import kanban, philosophers
from figures import EXAMPLES

import snpjax as snp
from snpjax.explore import Graph
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


def timed(call: Callable[[Any], Any], of: Any, *, most: float = _SECONDS) -> tuple[Any, float]:
    """An answer, and the seconds that it took."""
    answer, seconds = None, []
    for _ in range(_REPEATS + 1):
        start = time.perf_counter()
        answer = call(of)
        seconds.append(time.perf_counter() - start)
        if answer == "" or seconds[-1] >= most:
            break
    return answer, min(seconds[1:] or seconds)


def cold(name: str) -> str:
    """The seconds of the first call in a fresh process, and those of the CPU."""
    command = [sys.executable, __file__, "--cold", name]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return found.stdout.strip()


def first_call(name: str) -> str:
    """What `cold` asks a fresh process for."""
    calls: dict[str, Callable[[], Any]] = {
        **{one.name: lambda one=one: by_induction(one) for one in examples()},
        **{one.name: lambda one=one: snp.check(one.model, one.query) for one in questions()},
    }
    start, cpu = time.perf_counter(), time.process_time()
    calls[name]()
    return f"{time.perf_counter() - start:.2f} ({time.process_time() - cpu:.2f})"


# ---- beside Storm ----


@dataclass(frozen=True)
class Question:
    """A question for a number or a deadlock, and the same one for Storm.

    - `formula`: of Storm, about the labels of the file: "halting", and "good" where `good` holds.
    - `is_chain`: all choices are random, not made by somebody.
    """

    name: str
    model: Execution
    query: str
    formula: str
    good: Callable[[Any], Any] | None = None
    is_chain: bool = True


def questions() -> Iterator[Question]:
    """All of them."""
    dining, cards = philosophers(7), kanban(2)
    yield Question(
        "probability", dining, 'P=? [ "Eat_1" = 0 U "Eat_0" = 1 ]', 'P=? [!"bad" U "good"]',
        lambda some: some["Eat_0"] == 1,
    )  # fmt: skip
    yield Question("expected steps", dining, "E=? [ steps to halted ]", 'R=? [F "halting"]')
    yield Question(
        "steady state", cards, 'S=? [ "Pm1" = 1 ]', 'LRA=? ["good"]',
        lambda some: some["Pm1"] == 1,
    )  # fmt: skip
    deadlock = "on some path eventually halted"
    for name, model in (("deadlock, dining", dining), ("deadlock, kanban", cards)):
        yield Question(name, model, deadlock, 'Pmax=? [F "halting"]', is_chain=False)


def drn_of(question: Question, graph: Graph, folder: str) -> str:
    """A graph as a file for Storm, with a reward of 1 for each step that does not follow a halt."""
    file = Path(folder) / "graph.drn"
    predicates: dict[str, Any] = {}
    if question.good is not None:
        predicates = {"good": question.good}
    if "bad" in question.formula:
        predicates["bad"] = lambda some: some["Eat_1"] > 0
    snp.write_graph(graph, file, chain=question.is_chain, predicates=predicates)
    text = file.read_text().replace("@reward_models\n\n", "@reward_models\nsteps\n")
    text = re.sub(
        r"^(state \d+)(.*)$",
        lambda found: f"{found[1]} [{int('halting' not in found[2])}]{found[2]}",
        text,
        flags=re.MULTILINE,
    )
    file.write_text(text)
    return f"{file}"


def beside_storm(question: Question) -> str:
    """A row of the table."""
    import stormpy  # pyright: ignore[reportMissingImports]

    def answer_of(verdict: snp.Verdict) -> float:
        if verdict.value is None:
            return float(verdict.is_proved)
        return sum(verdict.value) / 2

    def by_storm(model: Any) -> list[float]:
        if not model.labeling.contains_label("halting"):  # the file has labels that hold somewhere
            model.labeling.add_label("halting")
        (formula,) = stormpy.parse_properties(question.formula)
        values = stormpy.model_checking(model, formula).get_value_vector()
        return [float(values[model.initial_states[0]])]

    graph = snp.explore(question.model)
    own, seconds = timed(lambda model: snp.check(model, question.query), question.model)
    _, in_graph = timed(lambda one: snp.check(one, question.query), graph)
    with tempfile.TemporaryDirectory() as folder:
        file = drn_of(question, graph, folder)
        model, reading = timed(stormpy.build_model_from_drn, file)
        (value,), its = timed(by_storm, model)
    assert math.isclose(answer_of(own), value, rel_tol=1e-5, abs_tol=1e-6), (own, value)
    return (
        f"| {question.name:16} | {graph.num_configurations:7,} | {cold(question.name):14} | "
        f"{seconds:6.3f} | {in_graph:8.3f} | {its:6.3f} | {reading:6.3f} | "
        f"{in_graph / its:8.2f} |"
    )


def main() -> None:
    if sys.argv[1:2] == ["--cold"]:
        print(first_call(sys.argv[2]))
        return
    wanted = sys.argv[1:]
    print(f"| {'system':20} | {'snpjax.prove':24} | cold (CPU), s | warm, s | Spacer |      s |")
    for example in examples():
        if wanted and example.name not in wanted:
            continue
        answer, seconds = timed(by_induction, example)
        other, its_seconds = timed(by_spacer, example)
        its = f"{other:10} | {its_seconds:6.2f}" if other else f"{'':10} | {'':6}"
        row = f"| {example.name:20} | {answer:24} | {cold(example.name):14} | {seconds:6.2f} "
        print(f"{row}| {its} |", flush=True)
    try:
        import stormpy  # noqa: F401  # pyright: ignore[reportMissingImports]
    except ImportError:
        print("Storm is not installed (pip install stormpy): no questions are timed beside it.")
        return
    print("\n| question | states | check, cold (CPU), s | warm, s | in a graph, s | "
          "Storm, s | reading, s | graph : Storm |")  # fmt: skip
    for question in questions():
        if not wanted or question.name in wanted:
            print(beside_storm(question), flush=True)


if __name__ == "__main__":
    main()
