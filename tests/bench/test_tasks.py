"""The tasks of the benchmark of learning, and short runs of it."""

import json
from dataclasses import replace

import jax.random as jr
import numpy as np
import pytest
import tasks
from figures import Setup

from tests.support.helpers import script


def drawn(task, size=200, seed=5):
    return tasks.TASKS[task].draw(np.random.default_rng(seed), size)


@pytest.mark.parametrize("name", [name for name in tasks.TASKS if name != "digits"])
def test_samples_have_the_shape_of_their_task(name):
    task = tasks.TASKS[name]
    trains, labels = drawn(name)
    assert trains.shape == (200, task.steps, task.inputs)
    assert 0 <= trains.min() and trains.max() == task.most
    assert {*labels.tolist()} == {*range(task.classes)}
    again = drawn(name)
    assert (again.trains == trains).all() and (again.labels == labels).all()


def test_coincidences_are_labelled_and_rates_say_nothing():
    for train, label in zip(*drawn("coincidence"), strict=True):
        assert train.sum(axis=0).tolist() == [4] * 8
        loads = sorted(train.sum(axis=1).tolist())
        assert loads[-2] <= 3 and loads[-1] == (5 if label else 3)


def test_xor_is_that_of_two_distant_bits():
    for train, label in zip(*drawn("delayed XOR"), strict=True):
        step, bit = np.nonzero(train[:, :2])
        assert len(step) == 2 and 10 <= step[1] - step[0] <= 16
        assert label == (bit[0] != bit[1])


def test_parity_is_that_of_the_first_neuron():
    for train, label in zip(*drawn("parity"), strict=True):
        assert label == sum(train[:, 0].tolist()) % 2
        assert train[:, 1].tolist() == [0] * 16 + [1]


def test_edges_move_the_way_of_their_class():
    """The mean place of the events moves, or the mean distance from the centre."""
    trains, labels = drawn("events", 600)
    images = trains.reshape(-1, 16, 6, 6)
    row, column = np.mgrid[:6, :6] - 2.5
    around = np.maximum(abs(row), abs(column))
    signs = {0: (column, 1), 1: (column, -1), 2: (row, 1), 3: (row, -1), 4: (around, 1)}
    signs[5] = around, -1
    for label, (place, sign) in signs.items():
        own = images[labels == label]
        early, late = own[:, 3:6].sum(axis=(0, 1)), own[:, 9:13].sum(axis=(0, 1))
        moved = (late * place).sum() / late.sum() - (early * place).sum() / early.sum()
        assert sign * moved > 0.3, label


#: A task of a few steps, so that programs compile quickly.
SHORT = replace(
    tasks.TASKS["delayed XOR"],
    draw=lambda random, size: tasks.Samples(*_short(random, size)),
    steps=5, inputs=2, hidden=3, sizes=(64, 0, 16), updates=2,
)  # fmt: skip


def _short(random, size):
    trains = random.integers(0, 2, (size, 5, 2)).astype(np.int8)
    return trains, trains[:, 0, 0]


@pytest.mark.slow
def test_a_short_run():
    """Training, the comparison with the export, and what is counted."""
    found = tasks.measure(SHORT, "exact", range(1))
    assert 0 <= found.accuracy == found.worst <= 1 and found.spikes is not None
    # 3 x 2 weights of hidden neurons, and of outputs 2 x 3 and 2 x 2, each one of 7 values
    assert found.bits == 3 * (6 + 6 + 4)
    assert json.loads(found.json(Setup("abc")))["task"] == "delayed XOR"


@pytest.mark.parametrize(
    ("kind", "numbers"), [("GRU", 3 * 3 * (2 + 3 + 1) + 3), ("LIF", 6 + 3 + 9 + 3)]
)
def test_networks_of_floats(kind, numbers):
    model = SHORT.model(kind, jr.key(0))
    trains = np.ones((4, 5, 2), np.float32)
    assert model(trains).shape == (4, 2)
    assert tasks.bits(model) == 32 * (numbers + 2 * 3 + 2)


@pytest.mark.slow
def test_a_register_collects_a_train():
    """The trained layers alone see what they see behind the register; and an export that differs
    is noticed."""
    task = replace(tasks.TASKS["digits"], steps=4, hidden=4, classes=3, most=2)
    trains = np.zeros((20, 4, 2), np.int8)
    trains[:, :3, 0] = np.random.default_rng(0).integers(0, 3, (20, 3))
    trains[:, 3, 1] = 1
    model = task.model("exact", jr.key(3))
    alone = tasks.AfterRegister(list(model.network.layers[1:]), task.temperature)
    floats = trains.astype(np.float32)
    found = np.asarray(tasks.scores(model, floats))
    assert np.abs(found).max() > 0
    assert (found == np.asarray(tasks.scores(alone, floats))).all()
    tasks.exact_spikes(model, trains)
    with pytest.raises(AssertionError, match="the export differs"):
        tasks.exact_spikes(Altered(model.network, 1.0), trains)


class Altered(tasks.Exact):
    """A model that counts wrongly."""

    def counts(self, trains):
        return super().counts(trains) + 1


def test_the_page_shows_every_figure():
    page = script("docs/make_benchmarks.py")
    text = "\n".join(page.learning())
    lines = [json.loads(x) for x in (page.MEASURED / "tasks.jsonl").read_text().splitlines()]
    assert {line["task"] for line in lines} == {*tasks.TASKS}
    newest = {(line["task"], line["model"]): line for line in lines}
    for line in newest.values():
        (row,) = [row for row in text.splitlines() if row.startswith(f"| {line['task']} |")]
        assert f"| {100 * line['accuracy']:.1f} |" in row and f"{line['bits']:,}" in row
