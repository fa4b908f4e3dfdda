"""Files that are written, read by the tools that they are for: Storm, pm4py, networkx, Graphviz."""

import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import snpjax as snp
from snpjax import write_graph
from snpjax.check import reach_probability, reach_probability_range
from snpjax.sleptsov import Arcs, Execution, Petri, SleptsovNet
from tests.support.nets import kanban
from tests.support.processes import finished


pytestmark = [
    pytest.mark.tools,
    # Their own code, and that of what they import.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning"),
]
EXAMPLES = Path(__file__).parents[2] / "examples"


def dice() -> snp.SpikingSystem:
    """Three neurons that keep or lose their spikes by chance, so that probabilities are thirds."""
    rules = ["a^2/a -> a", "a^2 -> a", "a^2 -> lambda"]
    neurons = [snp.Neuron(f"n{i}", 2, rules) for i in range(3)]
    synapses = [("n0", "n1"), ("n1", "n2"), ("n2", "n0")]
    return snp.SpikingSystem(neurons, synapses, output=["n2"])


def philosophers(count: int) -> SleptsovNet:
    """Each takes the fork on his left and then that on his right, which may deadlock."""
    inputs, outputs, transitions = [], [], 0
    for i in range(count):
        fork, left, eats = 3 * i, 3 * i + 1, 3 * i + 2
        right = 3 * ((i + 1) % count)
        inputs += [(fork, transitions, 1), (left, transitions + 1, 1), (right, transitions + 1, 1)]
        inputs += [(eats, transitions + 2, 1)]
        outputs += [(left, transitions, 1), (eats, transitions + 1, 1)]
        outputs += [(fork, transitions + 2, 1), (right, transitions + 2, 1)]
        transitions += 3
    marking = [int(place % 3 == 0) for place in range(3 * count)]
    names = tuple(f"p{place}" for place in range(3 * count))
    arcs = {"inputs": Arcs.of(inputs), "outputs": Arcs.of(outputs)}
    return SleptsovNet(marking, **arcs, place_names=names)


@pytest.fixture(scope="module")
def graph():
    found = snp.explore(dice())
    assert found.is_complete and 10 < found.num_configurations < 1000
    return found


@pytest.fixture(scope="module")
def stormpy():
    return pytest.importorskip("stormpy", reason="stormpy 2 is not installed", exc_type=ImportError)


def is_empty(some):
    return (some.spikes == 0).all(axis=1)


def labelled(model, name):
    return set(map(int, model.labeling.get_states(name)))


def values(stormpy, model, formula):
    (property_,) = stormpy.parse_properties(formula)
    return np.array(stormpy.model_checking(model, property_).get_value_vector())


def test_storm_reads_chains(stormpy, graph, tmp_path):
    path = tmp_path / "graph.drn"
    write_graph(graph, path, chain=True, predicates={"empty": is_empty})
    model = stormpy.build_model_from_drn(f"{path}")
    assert model.nr_states == graph.num_configurations
    own = np.bincount(graph.sources, minlength=graph.num_configurations)
    pairs = Counter(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True))
    wanted = {edge: count / own[edge[0]] for edge, count in pairs.items()}
    wanted |= {(i, i): 1.0 for i in graph.halting().tolist()}
    found = {(s, e.column): e.value for s in range(model.nr_states) for e in rows(model, s)}
    assert found.keys() == wanted.keys()
    assert all(abs(found[edge] - wanted[edge]) < 1e-9 for edge in wanted)
    assert labelled(model, "init") == {0}
    assert labelled(model, "halting") == set(graph.halting().tolist())
    assert labelled(model, "deadlock") == set(graph.deadlocks().tolist())
    assert labelled(model, "empty") == set(graph.where(is_empty).tolist())
    for name, target in (("halting", graph.halting()), ("empty", is_empty)):
        exact = values(stormpy, model, f'P=? [F "{name}"]')
        assert abs(exact[0] - float(reach_probability(graph, target))) < 1e-9


def rows(model, state):
    return model.transition_matrix.get_row(state)


def test_storm_reads_decision_processes(stormpy, graph, tmp_path):
    path = tmp_path / "graph.drn"
    write_graph(graph, path, predicates={"empty": is_empty})
    model = stormpy.build_model_from_drn(f"{path}")
    assert model.nr_states == graph.num_configurations
    assert model.nr_choices == graph.num_choices + len(graph.halting())
    worst, best = reach_probability_range(graph, is_empty)
    for extreme, own in (("min", worst), ("max", best)):
        exact = values(stormpy, model, f'P{extreme}=? [F "empty"]')
        assert abs(exact[0] - float(own)) < 1e-9


def test_storm_reads_nets(stormpy, tmp_path):
    graph = snp.explore(Execution(philosophers(4), rule=Petri()))
    write_graph(graph, tmp_path / "graph.drn")
    model = stormpy.build_model_from_drn(f"{tmp_path / 'graph.drn'}")
    assert (model.nr_states, model.nr_choices) == (graph.num_configurations, graph.num_choices + 1)
    assert labelled(model, "deadlock") == set(graph.deadlocks().tolist())
    assert len(graph.deadlocks()) == 1


@pytest.mark.parametrize("net", [philosophers(4), kanban(1)], ids=["philosophers", "kanban"])
def test_pm4py_finds_the_same_state_space(net, tmp_path):
    pm4py = pytest.importorskip("pm4py", reason="pm4py is not installed")
    from pm4py.objects.petri_net.utils import reachability_graph  # pyright: ignore

    path = tmp_path / "net.pnml"
    snp.write_net(net, path)
    read, initial, _ = pm4py.read_pnml(f"{path}")
    other = reachability_graph.construct_reachability_graph(read, initial)
    graph = snp.explore(Execution(net, rule=Petri()))
    assert len(other.states) == graph.num_configurations
    assert len(other.transitions) == graph.num_transitions == graph.num_choices
    pm4py.write_pnml(read, initial, initial, f"{tmp_path / 'back.pnml'}")
    back = snp.read_net(tmp_path / "back.pnml")
    again = snp.explore(Execution(back, rule=Petri()))
    assert again.num_configurations == graph.num_configurations
    assert again.num_choices == graph.num_choices and len(back.final_markings) == 1


def test_networkx_reads_graphml(graph, tmp_path):
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    write_graph(graph, tmp_path / "graph.graphml")
    found = networkx.read_graphml(tmp_path / "graph.graphml", force_multigraph=True)
    size = (graph.num_configurations, graph.num_choices)
    assert (found.number_of_nodes(), found.number_of_edges()) == size
    system = snp.read(EXAMPLES / "natural_numbers.pli")
    snp.write(system, tmp_path / "system.graphml", lossy=True)
    network = networkx.read_graphml(tmp_path / "system.graphml")
    assert set(system.names) <= {network.nodes[node]["name"] for node in network.nodes}


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz (dot) is not installed")
def test_graphviz_reads_dot(graph, tmp_path):
    write_graph(graph, tmp_path / "graph.dot")
    snp.write(snp.read(EXAMPLES / "natural_numbers.pli"), tmp_path / "system.dot", lossy=True)
    for name, nodes in (("graph", graph.num_configurations), ("system", 3)):
        done = finished("dot", "-Tplain", f"{tmp_path / name}.dot")
        assert (done.returncode, done.stderr) == (0, "")
        assert sum(line.startswith("node ") for line in done.stdout.splitlines()) >= nodes
