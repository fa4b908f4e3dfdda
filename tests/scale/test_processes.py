"""Two processes with two devices each, over loopback."""

import json
import shutil
import sys
from pathlib import Path

import jax.random as jr
import pytest

import snpjax as snp
from snpjax import scale
from snpjax.check import emits
from tests.support.long_calls import ALL, fingerprint
from tests.support.meshes import generator, population
from tests.support.processes import environment, finished, run_processes


SCRIPT = Path(__file__).with_name("together.py")

pytestmark = pytest.mark.slow


def answers(*task, **machine):
    """What the processes print."""
    ended = run_processes(SCRIPT, *task, **machine)
    assert not any(one.returncode for one in ended), "".join(one.stderr for one in ended)
    return [json.loads(one.stdout.splitlines()[-1]) for one in ended]


def test_processes_compute_what_one_does():
    both = answers("computed")
    options = {"choice": snp.UniformChoice(jr.key(3)), "max_steps": 24}
    batch = snp.run(generator(), paths=11, save=snp.SAVE_ALL, **options)
    numbers = sorted(number for one in both for number in one["numbers"])
    assert numbers == list(range(11))
    summary = snp.run(generator(), paths=1003, observe=scale.ComputedNumbers(5), **options)
    found = snp.estimate(generator(), emits("n3"), key=jr.key(3), max_steps=12, paths=301)
    for one in both:
        assert one["steps"] == batch.steps[one["numbers"]].tolist()
        for number, configurations in zip(one["numbers"], one["configurations"], strict=True):
            assert configurations == batch[number].configurations.tolist()
        expected = [11, batch.steps.tolist(), batch[7].configurations.tolist()]
        assert one["gathered"] == expected
        assert one["summary"] == [summary.value.tolist(), summary.steps, summary.halted]
        assert one["estimate"] == [found.low, found.high, found.holds, found.undecided]
    assert sum(one["systems"] for one in both) == 5


def test_a_partitioned_network():
    options = {"choice": snp.UniformChoice(jr.key(3)), "max_steps": 12, "save": snp.SAVE_ALL}
    one = snp.run(population(), **options).configurations
    some = snp.run(population(), paths=3, **options).configurations
    for found in answers("partitioned"):
        assert found["one"] == one.tolist() and found["rest"] == one[5:].tolist()
        assert found["some"] == some.tolist()


def test_processes_go_on_from_checkpoints(tmp_path):
    """Two that end in the middle, then three, or one."""
    names = "every third", "sums", "neurons"
    calls = {name: ALL[name]() for name in names}
    expected = {name: fingerprint(call()) for name, call in calls.items()}
    assert answers("interrupted", tmp_path / "begun") == [{}, {}]
    folder = shutil.copytree(tmp_path / "begun", tmp_path / "three")
    for found in answers("interrupted", folder, "goes on", processes=3):
        assert {name: text for name, (_, text) in found.items()} == expected
    for found in answers("interrupted", folder, "goes on"):
        assert found == {name: [0, text] for name, text in expected.items()}  # at once
    for name, call in calls.items():
        found = call(checkpoint=snp.Checkpoint(tmp_path / "begun" / name))
        assert fingerprint(found) == expected[name]


def test_processes_share_cells_and_training(tmp_path):
    """Compiled as users' programs are, so that floats come from one process like them."""
    expected = answers("shared", processes=1, devices=1)
    for _ in range(2):  # from the beginning, and from the end
        assert answers("shared", tmp_path) == 2 * expected


def test_different_calls_are_refused():
    for text in answers("different"):
        assert text.startswith("`max_steps` of `run` differs between process 0 and process 1.")


def test_a_failure_ends_all():
    first, second = answers("failing")
    assert first == "A path of process 1 failed, which says how."
    assert "A neuron holds more spikes" in second


def test_the_command_of_several_processes():
    file = Path(__file__).parents[2] / "examples" / "natural_numbers.pli"
    given = ("run", f"{file}", "--paths", "50", "--json")
    alone = run_processes("-m", "snpjax", *given, processes=1, devices=1)
    both = run_processes("-m", "snpjax", *given, "--distributed")
    assert [one.returncode for one in both] == [0, 0], both[0].stderr + both[1].stderr
    assert json.loads(both[0].stdout) == json.loads(alone[0].stdout) and both[1].stdout == ""


@pytest.mark.parametrize("task", ["lost", "lost_while_waiting"])
def test_a_lost_process_ends_the_others(task):
    survivor, killed = run_processes(SCRIPT, task)  # which would end a survivor without a word
    assert killed.returncode == -9 and survivor.returncode not in (0, None)
    lines = survivor.stderr.strip().splitlines()
    assert len(lines) == 1 and "lost" in lines[0], survivor.stderr


def test_without_a_coordinator():
    call = "import snpjax as snp; snp.scale.initialize()"
    found = finished(sys.executable, "-c", call, env=environment(without=("JAX_",)))
    assert "ValueError: There is no coordinator" in found.stderr
