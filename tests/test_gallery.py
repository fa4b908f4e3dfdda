"""Everything that the gallery states of a system holds."""

import pytest

import snpjax as snp
from snpjax.viz.page import export
from tests.support.helpers import REPOSITORY, needs_execution, script


gallery = script("docs/make_gallery.py")
BY_NAME = {entry.name: entry for entry in gallery.ENTRIES}


@pytest.mark.slow
@needs_execution
@pytest.mark.parametrize("name", BY_NAME)
def test_claims_hold_and_there_is_a_picture_and_a_page(name, tmp_path):
    entry = BY_NAME[name]
    assert list(gallery.checked(entry))
    gallery.draw(entry, tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").read_text().lstrip().startswith("<")
    export(entry.model, tmp_path / "page.html", max_steps=entry.max_steps)
    assert "<title>" in (tmp_path / "page.html").read_text()


def test_there_are_at_least_twenty_and_each_file_is_shown_once():
    files = {entry.file for entry in gallery.ENTRIES}
    assert len(files) == len(gallery.ENTRIES) >= 20
    own = {path.name for path in (REPOSITORY / "examples" / "gallery").iterdir()}
    assert {name.removeprefix("gallery/") for name in files if "/" in name} == own


def test_claim_that_does_not_hold_ends_the_build():
    entry = BY_NAME["fin"]
    wrong = gallery.Entry(
        entry.title, "nobody", entry.file, "wrong", [gallery.Numbers([4], up_to=10)]
    )
    with pytest.raises(AssertionError, match=r"FIN: numbers computed up to 10: exactly 3"):
        list(gallery.checked(wrong))
    assert not gallery.Query("never halted").check(entry.model)[1]


def test_universal_machine_is_what_its_file_says():
    from register_machines import KOREC, to_system  # pyright: ignore[reportMissingImports]

    built = to_system(KOREC, [0, 1, 2, 1, 0, 1, 0, 0], name="a universal register machine")
    stored = snp.read(REPOSITORY / "examples" / "gallery" / "universal.snp.json")
    assert isinstance(stored, snp.SpikingSystem)
    assert built.neurons == stored.neurons and set(built.synapses) == set(stored.synapses)
