"""A machine written outside the package, in some 130 lines, is explored, checked and drawn.

Its model is a token ring: each station holds requests, and whoever has the token serves one of its
own, or passes the token on. Nothing here is known to `snpjax.explore` or `snpjax.check`.
"""

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import networkx
import numpy as np
import pytest
from jaxtyping import Array, Bool, Int, UInt

import snpjax as snp
from snpjax.choice import AbstractChoice, NumberedChoice, Ways
from snpjax.machine import Action, EdgeLabels, Encoding, Record, Schema, Table
from tests.support.graph_readers import read_aut, read_dot, read_prism


ACTIONS = ("serve", "pass")


# ---- the machine ----


class RingState(eqx.Module):
    requests: Int[Array, "stations *paths"]
    token: Int[Array, "*paths"]
    status: Any


class RingMachine(eqx.Module):
    """The one chooser is who has the token."""

    requests: Int[Array, " stations"]

    @property
    def encoding(self) -> Encoding:
        return Encoding(np.dtype(np.uint32))

    def init(self) -> RingState:
        return RingState(self.requests, jnp.asarray(0, jnp.int32), snp.RESULTS.halted)

    def alternatives(self, state: RingState) -> Ways:
        at = jnp.expand_dims(state.token, 0)
        own = jnp.take_along_axis(state.requests, at, axis=0)
        left = jnp.any(state.requests > 0, axis=0, keepdims=True)
        return jnp.stack([own > 0, left])

    def choosers(self) -> Int[np.ndarray, " choosers"]:
        return np.zeros(1, np.int32)

    def step(self, state: RingState, choice: AbstractChoice) -> tuple[RingState, Record]:
        assert isinstance(choice, NumberedChoice)
        can = self.alternatives(state)
        (action,), _ = choice.decoded(can)
        station = jnp.expand_dims(jnp.arange(len(self.requests)), range(1, state.requests.ndim))
        serves, made = action == 0, jnp.any(can, axis=(0, 1))
        served = (station == state.token[None]) & serves[None]
        requests = state.requests - served.astype(jnp.int32)
        token = jnp.where(made & ~serves, (state.token + 1) % len(self.requests), state.token)
        return RingState(requests, token, state.status), Record((), action, made)

    def halted(self, state: RingState) -> Bool[Array, "*paths"]:
        return ~jnp.any(state.requests > 0, axis=0)

    def status(self, state: RingState) -> Any:
        return state.status

    def encode(self, state: RingState) -> UInt[Array, "fields *paths"]:
        return jnp.concatenate([state.requests, state.token[None]]).astype(jnp.uint32)

    def decode(self, fields: UInt[Array, "fields *paths"]) -> RingState:
        values = fields.astype(jnp.int32)
        status = jax.tree.map(lambda x: jnp.full(values.shape[1:], x), snp.RESULTS.halted)
        return RingState(values[:-1], values[-1], status)


# ---- its names ----


@dataclass(frozen=True, eq=False)
class Requests:
    stations: tuple[str, ...]
    requests: Int[np.ndarray, "configurations stations"]
    token: Int[np.ndarray, " configurations"]
    step: Int[np.ndarray, " configurations"]
    is_halting: Bool[np.ndarray, " configurations"]

    def __len__(self) -> int:
        return len(self.step)

    def __getitem__(self, name: str) -> Int[np.ndarray, " configurations"]:
        return self.requests[:, self.stations.index(name)]


@dataclass(frozen=True, eq=False)
class Moves:
    sources: Int[np.ndarray, " steps"]
    targets: Int[np.ndarray, " steps"]
    action: Int[np.ndarray, " steps"]

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def choices(self) -> snp.GivenChoices:
        return snp.GivenChoices(self.action[:, None])


@dataclass(frozen=True)
class Ring:
    """The model."""

    requests: Mapping[str, int]

    def enumerable(
        self, *, saturate: Mapping[str, int], clock: int, at_least: Any = None
    ) -> RingMachine:
        if saturate or clock or at_least:
            raise ValueError("A ring takes neither `saturate` nor `clock`.")
        return RingMachine(jnp.asarray(list(self.requests.values()), jnp.int32))

    def schema(self) -> Schema[Requests, Moves]:
        stations = tuple(self.requests)

        def configurations(state: RingState, is_halting: np.ndarray) -> Requests:
            step = np.zeros(len(is_halting), int)
            return Requests(stations, state.requests.T, state.token, step, is_halting)

        def tables(some: Requests) -> dict[str, Table]:
            has_token = some.token[:, None] == np.arange(len(stations))
            return {
                "requests": Table("requests", some.requests),
                "token": Table("token", has_token.astype(int), words="token {}"),
            }

        def actions(steps: Moves, labels: EdgeLabels) -> list[Action]:
            return [Action(np.ones(len(steps), bool), steps.action, ACTIONS.__getitem__)]

        return Schema(
            title="ring",
            counted="requests",
            column_kind="stations",
            columns=stations,
            configurations=configurations,
            steps=Moves,
            tables=tables,
            step_tables=lambda steps: {"action": Table("action", steps.action)},
            actions=actions,
            action_names=ACTIONS,
            alternatives=ACTIONS,
            selected=lambda steps: {ACTIONS[i] for i in np.unique(steps.action)},
            words=lambda steps, number: [ACTIONS[steps.action[number]]],
            num_choosers=1,
            is_stuck=lambda some: np.any(some.requests > 0, axis=1),
        )


# ---- what becomes of it ----


@pytest.fixture(scope="module")
def graph():
    return snp.explore(Ring({"a": 2, "b": 0, "c": 1}), chunks=(16,))


def by_hand():
    """Configurations and edges, breadth-first."""
    found, edges, waiting = {(2, 0, 1, 0): 0}, [], deque([(2, 0, 1, 0)])
    while waiting:
        *requests, token = now = waiting.popleft()
        following = []
        if requests[token]:
            left = (x - (i == token) for i, x in enumerate(requests))
            following.append(("serve", (*left, token)))
        if any(requests):
            following.append(("pass", (*requests, (token + 1) % 3)))
        for name, after in following:
            if after not in found:
                found[after] = len(found)
                waiting.append(after)
            edges.append((found[now], name, found[after]))
    return list(found), edges


def test_the_graph_is_the_one_made_by_hand(graph, tmp_path):
    configurations, edges = by_hand()
    some, steps = graph.configurations(), graph.transitions()
    assert np.c_[some.requests, some.token].tolist() == [list(x) for x in configurations]
    names = [ACTIONS[i] for i in steps.action]
    assert list(zip(steps.sources, names, steps.targets, strict=True)) == edges
    assert graph.is_complete and graph.num_transitions == len(edges)
    assert graph.bounds() == {"a": (0, 2), "b": (0, 0), "c": (0, 1)}
    assert graph.unused_rules() == [] and not len(graph.deadlocks())  # by `is_stuck`
    assert len(graph.halting()) == 2


def test_every_file_holds_the_graph(graph, tmp_path):
    configurations, edges = by_hand()
    for reader, suffix in ((read_aut, "aut"), (read_dot, "dot"), (read_prism, "tra")):
        paths = snp.write_graph(graph, tmp_path / f"graph.{suffix}")
        read = reader(paths[0])
        assert sorted(read.edges) == sorted(edges), suffix
        assert read.num_configurations == len(configurations)
        if suffix != "tra":  # where halting configurations have loops
            assert sorted(read.halting) == graph.halting().tolist()
    snp.write_graph(graph, tmp_path / "graph.json")
    value = json.loads((tmp_path / "graph.json").read_text())
    assert value["stations"] == ["a", "b", "c"] and value["name"] == "ring"
    requests = [node["requests"] for node in value["configurations"]]
    assert requests == [list(one[:3]) for one in configurations]
    read = [(edge["source"], ACTIONS[edge["action"]], edge["target"]) for edge in value["edges"]]
    assert read == edges
    snp.write_graph(graph, tmp_path / "graph.graphml")
    made, own = networkx.read_graphml(tmp_path / "graph.graphml"), graph.to_networkx()
    assert len(made) == len(own) and made.nodes["n0"]["requests"] == "2 0 1"
    ends = sorted((int(s[1:]), ACTIONS[x], int(t[1:])) for s, t, x in made.edges(data="action"))
    assert (
        ends == sorted(edges) == sorted((s, ACTIONS[x], t) for s, t, x in own.edges(data="action"))
    )


def test_pictures(graph):
    assert 'label="<2⁽¹⁾,0,1>"' in graph.to_dot() and 'label="serve"' in graph.to_dot()
    assert "&lt;2⁽¹⁾,0,1&gt;" in graph.to_svg() and graph._repr_html_().count("<rect") > 10


def test_checked_with_a_witness(graph):
    verdict = snp.check(graph, "always a + c >= 2")
    assert verdict.is_refuted and verdict.rules.tolist() == [[0], [0]]
    assert str(verdict).splitlines()[1:] == [
        "  step 0: a = 2 (token 1), c = 1",
        "  step 1: serve | a = 1 (token 1)",
        "  step 2: serve | a = 0 (token 1)",
    ]
    assert verdict.trace.as_json()["rules"] == [[0], [0]]
    assert snp.check(graph, lambda some: some["a"] <= 2)
    assert not snp.check(graph, "eventually halted")  # the token may go round for ever
    assert snp.check(Ring({"a": 1, "b": 1}), "on some path eventually b = 0 and a = 1")


def test_what_a_ring_has_not(graph):
    for query, problem in (
        ("always d = 1", "there is no 'd'"),
        ("always timer(a) = 1", "only neurons have `timer`"),
        ("always fires(a, 0)", "only neurons have `fires`"),
    ):
        with pytest.raises(snp.QueryError, match=problem):
            snp.check(graph, query)
    with pytest.raises(ValueError, match="has no inputs"):
        snp.explore(graph.system, inputs={"a": [1]})
    with pytest.raises(ValueError, match="neither `saturate`"):
        snp.explore(graph.system, saturate={"a": 1})
    with pytest.raises(ValueError, match="cannot be run"):
        snp.check(graph, "always a = 2").replay()
    with pytest.raises(ValueError, match="no model of NuSMV"):
        snp.write_graph(graph, "graph.smv")
    with pytest.raises(NotImplementedError, match="does not compare objects of the type Ring"):
        snp.equivalent(graph, graph)  # pyright: ignore
    for call in (snp.explore, lambda model: snp.check(model, "always a = 1")):
        with pytest.raises(TypeError, match="Pass a system"):
            call(3)
