"""Runs that are interrupted and go on from their checkpoints, to the same bits."""

import pytest

import snpjax as snp
from snpjax.tile import Tile
from tests.support.long_calls import CALLS, fingerprint, short_chunks


class Interrupted(Exception):
    pass


@pytest.fixture(autouse=True)
def _short_chunks():
    with short_chunks():
        yield


class Counted:
    """Calls to the device, the `last` of which is interrupted."""

    def __init__(self, patch):
        self.num, self.last = 0, None
        real = Tile.advance

        def advance(tile, *args, **kwargs):
            if self.num == self.last:
                raise Interrupted
            self.num += 1
            real(tile, *args, **kwargs)

        patch.setattr(Tile, "advance", advance)


@pytest.fixture
def counted(monkeypatch):
    return Counted(monkeypatch)


def interrupted(call, counted, after, **options):
    """Make a call that is interrupted each time that it has made `after` calls to the device."""
    while True:
        counted.num, counted.last = 0, after
        try:
            return call(**options)
        except Interrupted:
            assert counted.num == after


@pytest.mark.parametrize("name", [name for name in CALLS if name != "an estimate"])
def test_an_interrupted_run_is_the_run(name, tmp_path, counted):
    call = CALLS[name]()
    expected = fingerprint(call())
    checkpoint = snp.Checkpoint(tmp_path, every_seconds=0)
    total = counted.num
    assert total > 3
    found = interrupted(call, counted, total // 3, checkpoint=checkpoint)
    assert fingerprint(found) == expected
    counted.num, counted.last = 0, 0
    assert fingerprint(call(checkpoint=checkpoint)) == expected  # at once
