"""What holds for every format alike: round trips, places of mistakes, cut files, encodings, limits
and hostile content. The tables are in tests/io/tables.

Coverage-guided fuzzing: tests/support/fuzz/readers.py."""

import json
import random
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import snpjax as snp
from snpjax.io import decoded
from snpjax.io.formats import FORMATS, formats_of
from snpjax.io.read import model_text
from tests.io.tables import LIMITS, LOSSES, MISTAKES
from tests.io.tables.holdable import AS_READ, HOLDABLE, HOLDS_CASE, OTHERS, any_system
from tests.io.tables.mistakes import Mistakes, quietly, read_text
from tests.io.tables.odd_systems import ODD
from tests.io.tables.pairs import NUMBERED, PAIRS, SYSTEM, WRITTEN
from tests.support.file_readers import file_readers
from tests.support.fuzz_seeds import SEEDS as SYSTEM_SEEDS
from tests.support.helpers import case_system, load_cases, many
from tests.support.mutants import mutated, read_mutants
from tests.support.sleptsov_seeds import SEEDS as NET_SEEDS


SEEDS = {**SYSTEM_SEEDS, **NET_SEEDS}
READ = [known.name for known in FORMATS if known.reader]
#: Those that are read and written; HSN names the files of its sub-nets.
BOTH = [x.name for x in FORMATS if x.reader and x.writer and x.name != "hsn"]
SYSTEMS = [name for name in BOTH if name in formats_of("system")]
NAMES = tuple(file_readers(Path()))
NUM_MUTANTS = 150
NUM_OF_SWEEP = 100_000  # of all readers

every_format = pytest.mark.parametrize("format", READ)
every_reader = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="module")
def readers(tmp_path_factory):
    return file_readers(tmp_path_factory.mktemp("files"))


def same(model: Any, other: Any) -> bool:
    if isinstance(model, snp.PopulationSystem):  # the law below compares their texts
        return [*model.populations] == [*other.populations]
    return model == other


def other_format(name: str) -> str:
    """The format in which a model of a format is written: its own, or one that holds it."""
    if name in BOTH:
        return name
    return "native" if name in formats_of("system") else "pnml"


def test_every_format_has_a_table():
    assert SEEDS.keys() == {*READ} == MISTAKES.keys()
    assert HOLDABLE.keys() == {*BOTH}


# Mistakes


@pytest.mark.parametrize("format", MISTAKES)
def test_mistakes_are_told_at_their_places(format):
    failures = [text for table in MISTAKES[format] for text in table.failures(format)]
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("format", LIMITS)
def test_sizes_are_bounded(format, monkeypatch):
    failures = []
    for limit in LIMITS[format]:
        with monkeypatch.context() as patch:
            patch.setattr(f"snpjax.io.{limit.name}", limit.value)
            table = limit.mistakes
            table = table if isinstance(table, Mistakes) else Mistakes(table)
            failures += table.failures(format)
    assert not failures, "\n".join(failures)


#: How many characters may be missing at the end of a pair; formats of lines may end earlier.
MAY_MISS = {
    **{"native": 1, "plingua": 2, "websnapse": 1, "xmp": 11, "factory-xml": 11},
    **{"factory-yaml": 125, "cusnp": 1},
}


@pytest.mark.parametrize("format", MAY_MISS)
def test_cut_files_are_refused(format):
    text = PAIRS[format]
    for length in range(len(text) - MAY_MISS[format]):
        try:
            quietly(read_text, format, text[:length])
        except snp.ReadError as error:
            if "xml" in format or format == "xmp":  # nothing about neurons that are cut off
                (found,) = error.diagnostics
                assert found.line and "not well-formed XML" in found.message
        else:
            raise AssertionError(f"read: {text[:length]!r}")


@every_reader
def test_seeds_are_read_whole_and_cut_anywhere(name, readers):
    for seed in readers[name].seeds:
        assert readers[name].outcome(seed)
        for length in range(0, len(seed), max(1, len(seed) // 25)):
            readers[name].outcome(seed[:length])


# Hostile content


@every_reader
def test_mutants_raise_nothing_else(name, readers):
    assert 0 < read_mutants(readers[name], NUM_MUTANTS, name) < NUM_MUTANTS


@pytest.mark.slow
@every_reader
def test_many_mutants_raise_nothing_else(name, readers):
    """The others of 100,000, each with 5 seconds."""
    count = NUM_OF_SWEEP // len(NAMES)
    assert 0 < read_mutants(readers[name], count, f"many of {name}") < count


@every_reader
def test_any_bytes_raise_nothing_else(name, readers):
    choose = random.Random(name)
    for _ in range(40):
        text = "".join(choose.choices("<>/&;'\"!-?[]{}ax1 \n:", k=20))
        readers[name].outcome(choose.choice([choose.randbytes(9), text.encode()]))


VALUES = [None, True, 0, -1, 1.5, "x", "a -> a", r"a\to a", "", 10**30, [], {}, [1], [[1]], "a"]
VALUES += [r"[a]_p\to[]_q||[]_x", {"id": "x"}, {"k": [0]}, {"rules": ["a"], "x": 1}, ["x", "x", 0]]


@pytest.mark.parametrize("name", ["native", "websnapse", "numerical", "proliferation", "measured"])
def test_values_of_wrong_types_raise_nothing_else(name, readers):
    choose = random.Random(name)
    for _ in range(150):
        document = inner = json.loads(choose.choice(readers[name].seeds))
        while True:
            key = choose.choice([*inner] if isinstance(inner, dict) else range(len(inner)))
            if not isinstance(inner[key], dict | list) or not inner[key] or choose.random() < 0.3:
                break
            inner = inner[key]
        inner[key] = choose.choice(VALUES)
        readers[name].outcome(json.dumps(document, indent=1).encode())


# Encodings


@every_format
def test_line_ends_and_a_mark_of_the_byte_order_change_nothing(format):
    for seed in SEEDS[format]:
        data = b"\xef\xbb\xbf" + seed.replace("\n", "\r\n").encode()
        again = decoded("model", data)
        assert again.text == seed
        with pytest.raises(snp.ReadError, match=r"model:\d+:\d+: not UTF-8: byte 0xff"):
            decoded("model", data + b"\xff")


# Round trips


@pytest.mark.parametrize("format", PAIRS)
def test_the_pair_is_read_and_written(format, tmp_path):
    system = NUMBERED if format == "cusnp" else SYSTEM
    known = formats_of("system")[format]
    for suffix in (*known.suffixes, known.suffixes[0].upper()):
        path = tmp_path / f"pair{suffix}"
        for text in (PAIRS[format], "\ufeff" + PAIRS[format], PAIRS[format].replace("\n", "\r\n")):
            path.write_bytes(text.encode())
            assert snp.read(path) == snp.read(str(path)) == system
    if known.writer:
        snp.write(snp.read(path), path, format=format)
        assert path.read_text() == WRITTEN[format] and snp.read(path, format=format) == system


@every_format
def test_what_is_read_can_be_written_and_read_again(format):
    choose, num_read = random.Random(format), 0
    written_as = other_format(format)
    texts = [seed.encode() for seed in SEEDS[format] if format != "hsn"]
    texts += [mutated(choose.choice(SEEDS[format]), choose) for _ in range(150 * bool(texts))]
    for data in texts:
        try:
            model = quietly(read_text, format, decoded("model", data, may_be_empty=True).text)
        except snp.ReadError:
            continue
        num_read += 1
        text, losses = quietly(model_text, model, written_as)
        again = quietly(read_text, written_as, text)
        if not losses.items and not losses.renamed:
            assert same(again, AS_READ.get(written_as, lambda x: x)(model)), data
            assert quietly(model_text, again, written_as)[0] == text, data
    assert num_read or format == "hsn"


def check_holds(format: str, model: Any) -> None:
    text, losses = quietly(model_text, model, format)
    level = model.level if isinstance(model, snp.SpikingSystem) else "extended"
    again = quietly(read_text, format, text, level)
    assert losses.items == [] and again == model
    assert quietly(model_text, again, format)[0] == text  # positions too


@pytest.mark.parametrize("format", ODD)
def test_odd_systems_are_read_again(format):
    for system in ODD[format]:
        check_holds(format, system)


@pytest.mark.parametrize("format", BOTH)
@settings(max_examples=25)
@given(data=st.data())
def test_models_of_a_format_are_read_again(format, data):
    check_holds(format, data.draw(HOLDABLE[format]))


@pytest.mark.slow
@pytest.mark.parametrize("format", BOTH)
@settings(max_examples=many(2000))
@given(data=st.data())
def test_many_models_of_a_format_are_read_again(format, data):
    check_holds(format, data.draw(HOLDABLE[format]))


def check_any(format: str, system: Any) -> None:
    """What is lost leaves a file that can be read."""
    text, losses = quietly(model_text, system, format)
    again = quietly(read_text, format, text)
    if not losses.items and not losses.renamed:
        assert again == AS_READ[format](system)


@pytest.mark.parametrize("format", SYSTEMS)
@settings(max_examples=25)
@given(data=st.data())
def test_any_system_is_written_and_read(format, data):
    check_any(format, data.draw(OTHERS.get(format, st.nothing()) | any_system))


@pytest.mark.slow
@pytest.mark.parametrize("format", SYSTEMS)
@settings(max_examples=many(2000))
@given(data=st.data())
def test_many_systems_are_written_and_read(format, data):
    check_any(format, data.draw(OTHERS.get(format, st.nothing()) | any_system))


@pytest.mark.parametrize("case", load_cases("spiking", schema="snpjax-case/1"))
def test_published_cases_are_written_and_read(case):
    if case["theme"] == "invalid" or case["variant"] not in ("static", "division-budding"):
        pytest.skip(f"{case['variant']} case, {case['theme']}")
    for format in SYSTEMS:
        system = case_system(case)
        if format == "cusnp":
            system = quietly(system.replace, output=())
        text, losses = quietly(model_text, system, format)
        holds = HOLDS_CASE[format](system)
        assert holds is None or holds == (not losses.items), (format, losses.items)
        again = quietly(read_text, format, text)
        if holds:
            wanted = AS_READ[format](system)
            assert again.replace(name="") == quietly(wanted.replace, name=""), format
        if format == "plingua":
            assert [n.rules for n in again.neurons] == [n.rules for n in system.neurons]


# Losses


@pytest.mark.parametrize("format", LOSSES)
def test_what_is_lost_is_named(format, tmp_path):
    path = tmp_path / "model"
    for system, items in LOSSES[format]:
        with pytest.raises(snp.WriteError) as caught:
            snp.write(system, path, format=format)
        assert not path.exists()
        lost = caught.value.items
        assert len(lost) == len(items) and all(map(str.startswith, lost, items)), lost
        assert all(item.endswith(")") for item in lost)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            snp.write(system, path, format=format, lossy=True)
            again = snp.read(path, format=format)
        assert any(isinstance(w.message, snp.WriteWarning) for w in told)
        assert isinstance(again, snp.SpikingSystem) and len(again.neurons) == len(system.neurons)
        path.unlink()
