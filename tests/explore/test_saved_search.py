"""A search that is interrupted goes on from its last checkpoint, and finds the same graph."""

import numpy as np
import pytest

import snpjax as snp
from snpjax.explore import Stop, explore, saved_search, searched, words_on_host
from snpjax.scale import CheckpointError
from tests.support.graphs import assert_is_beginning, assert_same_graph
from tests.support.helpers import slow
from tests.support.known_graphs import (
    CHUNKS as MESH_CHUNKS,
    countdown,
    dividing,
    growing,
    many_sinks,
    net,
    plastic,
)
from tests.support.meshes import mesh_of


CHUNKS = (8,)
SYSTEM = countdown(9)


class Interrupted(Exception):
    """Something that the search does not know."""


def resumed(system, folder, hows, *, every=3, **options):
    """The graph of a search that is interrupted again and again, and goes on each time in the next
    way, and how often it was interrupted."""
    options = {"chunks": CHUNKS, **options}
    checkpoint, num = snp.Checkpoint(folder, every_seconds=0), 0
    while True:
        chunks = []

        def progress(num, depth, chunks=chunks):
            chunks.append((num, depth))
            if len(chunks) > every:
                raise Interrupted

        try:
            how = hows[num % len(hows)]
            graph = explore(system, checkpoint=checkpoint, progress=progress, **options, **how)
            return graph, num
        except Interrupted:
            num += 1
            assert num < 100, "it does not go on"


LITTLE = {"memory": snp.MemoryLimits(device=3000, host=400)}


@pytest.mark.parametrize(
    "hows, edges",
    [
        pytest.param([{}, LITTLE], True, id="both"),
        pytest.param([{}], False, id="in memory", marks=pytest.mark.slow),
        pytest.param([LITTLE], False, id="on the host", marks=pytest.mark.slow),
    ],
)
def test_interrupted_searches(small_steps, tmp_path, hows, edges):
    found, num = resumed(SYSTEM, tmp_path, hows, edges=edges)
    assert num > 3
    expected = explore(SYSTEM, chunks=CHUNKS, edges=edges)
    assert_same_graph(found, expected)
    again = explore(
        SYSTEM,
        edges=edges,
        checkpoint=snp.Checkpoint(tmp_path),
        progress=lambda *_: pytest.fail("it had ended"),
    )
    assert_same_graph(again, expected)
    verdicts = [snp.check(graph, "always x <= 9") for graph in (again, expected)]
    assert verdicts[0].summary == verdicts[1].summary


@pytest.mark.parametrize("sizes", [(2,), pytest.param((2, 4), marks=pytest.mark.slow)])
def test_from_one_mesh_to_another(tmp_path, sizes):
    meshes = [{"mesh": mesh_of(num, "configurations")} for num in sizes]
    found, num = resumed(SYSTEM, tmp_path, [*meshes, {}], chunks=MESH_CHUNKS, every=1)
    assert num > 2
    assert_same_graph(found, explore(SYSTEM, chunks=MESH_CHUNKS))


@pytest.mark.parametrize("build", [net, *slow(plastic, dividing)])
def test_other_machines(tmp_path, build):
    system = build()
    found, num = resumed(system, tmp_path, [{}], max_configurations=60, every=1)
    assert num > 0
    assert_same_graph(found, explore(system, max_configurations=60, chunks=CHUNKS))


@pytest.mark.parametrize(
    "options",
    [
        *({"max_configurations": 33}, {"max_depth": 3}),
        *slow({"exact": False}, {"clock": 2}),
    ],
)
def test_limits_and_options(tmp_path, options):
    found, num = resumed(SYSTEM, tmp_path, [{}], **options)
    assert num > 0
    expected = explore(SYSTEM, chunks=CHUNKS, **options)
    assert_same_graph(found, expected)
    assert found.missed == expected.missed


@pytest.mark.slow
def test_words_that_were_packed_in_several_ways(tmp_path, monkeypatch):
    monkeypatch.setattr(searched, "_TIGHT_FROM", 4)
    monkeypatch.setattr(searched, "_TIGHT_AGAIN", 2)
    system = many_sinks()
    found, _ = resumed(system, tmp_path, [{}], max_configurations=200, every=9)
    assert_same_graph(found, explore(system, max_configurations=200, chunks=CHUNKS))


@pytest.mark.slow
def test_counts_that_grew_out_of_their_type(tmp_path):
    system = growing(100)
    found, num = resumed(system, tmp_path, [{}], max_configurations=60)
    assert num > 0 and found.spikes.max() > 127
    assert_same_graph(found, explore(system, max_configurations=60, chunks=CHUNKS))


def test_nothing_is_written_twice(tmp_path):
    found, num = resumed(SYSTEM, tmp_path, [{}])
    assert num > 3
    last = found.num_configurations
    with snp.scale.checkpoint.checkpoints_of(None, "explore") as none:
        assert none.restored is None
    rows = []

    def words(restored, host):
        rows.extend(
            segment.load({"rows": np.zeros(0)})["rows"]
            for segment in restored._restored.segments
            if segment.note["is_words"]
        )
        return original(restored, host)

    original = saved_search.RestoredSearch.words
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(saved_search.RestoredSearch, "words", words)
        explore(SYSTEM, chunks=CHUNKS, checkpoint=snp.Checkpoint(tmp_path))
    assert sum(map(len, rows)) == last and len(rows) > 3


def test_a_search_that_was_short_of_memory_goes_on(small_steps, tmp_path):
    expected = explore(SYSTEM, chunks=CHUNKS)
    checkpoint = snp.Checkpoint(tmp_path)
    short = snp.MemoryLimits(device=3000, disk=0)
    found = explore(SYSTEM, chunks=CHUNKS, memory=short, checkpoint=checkpoint)
    assert_is_beginning(found, expected)
    seen = []
    found = explore(
        SYSTEM, chunks=CHUNKS, checkpoint=checkpoint, progress=lambda num, _: seen.append(num)
    )
    assert_same_graph(found, expected)
    assert seen[0] > 20


def test_equal_fingerprints_after_a_checkpoint(small_steps, tmp_path, monkeypatch):
    """The search goes on from it, with other fingerprints."""
    calls = []

    def finish(memory):
        calls.append(memory.seed)
        if len(calls) == 5:
            raise words_on_host.SameFingerprint
        return original(memory)

    original = words_on_host.WordsOnHost.finish
    monkeypatch.setattr(words_on_host.WordsOnHost, "finish", finish)
    seen = []
    found = explore(
        SYSTEM,
        chunks=CHUNKS,
        checkpoint=snp.Checkpoint(tmp_path, every_seconds=0),
        progress=lambda num, _: seen.append(num),
        **LITTLE,
    )
    assert_same_graph(found, explore(SYSTEM, chunks=CHUNKS))
    assert len(calls) >= 5 and seen.count(seen[0]) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"edges": False}, "`edges=True` instead of False"),
        ({"max_depth": 5}, "`max_depth=None` instead of 5"),
        ({"exact": False}, "`exact=True` instead of False"),
        ({"saturate": {"x": 3}}, "another `saturate`"),
    ],
)
def test_another_search_is_refused(tmp_path, options, message):
    system = snp.SpikingSystem([snp.Neuron("x", 2)], [])
    explore(system, checkpoint=snp.Checkpoint(tmp_path))
    with pytest.raises(CheckpointError, match=message):
        explore(system, checkpoint=snp.Checkpoint(tmp_path), **options)
    with pytest.raises(CheckpointError, match="another `model`"):
        explore(SYSTEM, checkpoint=snp.Checkpoint(tmp_path))


def test_check_saves_its_search(tmp_path):
    checkpoint = snp.Checkpoint(tmp_path)
    first = snp.check(SYSTEM, "always x <= 9", checkpoint=checkpoint)
    again = snp.check(
        SYSTEM,
        "always x <= 9",
        checkpoint=checkpoint,
        progress=lambda *_: pytest.fail("it had ended"),
    )
    assert first.summary == again.summary and first.graph.stop is Stop.COMPLETE
