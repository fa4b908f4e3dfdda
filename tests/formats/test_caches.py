"""Cache folders: the user's alone, or not used."""

import os
import stat
import sys
from pathlib import Path

import pytest

from snpjax_formats._platform import caches
from snpjax_formats._platform.caches import UnsafeFolder, check_private, create_private


if sys.platform == "win32":
    pytest.skip("folders of a profile are private there", allow_module_level=True)


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "cache"
    create_private(root / "snpjax" / "compiled", root)
    return root


def test_folders_are_created_for_the_user_alone(root):
    for path in (root, root / "snpjax", root / "snpjax" / "compiled"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    check_private(root / "snpjax" / "compiled" / "not yet", root)


def _opened(path):
    path.chmod(0o770)


def _linked(path):
    path.rename(path.with_name("target"))
    path.symlink_to(path.with_name("target"))


def _file(path):
    path.rename(path.with_name("target"))
    path.touch()


def test_our_folders_are_closed_to_others(root):
    folder = root / "snpjax" / "compiled"
    for check in (check_private, create_private):
        for path in (folder.parent, folder):  # as of earlier versions with umask 002
            path.chmod(0o775)
        check(folder, root)
        assert [stat.S_IMODE(path.stat().st_mode) for path in (folder.parent, folder)] == [
            0o755
        ] * 2


@pytest.mark.parametrize("level", [".", "snpjax", "snpjax/compiled"])
@pytest.mark.parametrize(
    ("change", "problem"),
    [(_opened, "others may write to"), (_linked, "is a link"), (_file, "is not a folder")],
)
def test_folders_that_others_may_write_to_are_refused(monkeypatch, root, level, change, problem):
    monkeypatch.setattr(caches, "_close_to_others", lambda path: False)  # a read-only file system
    change(root / level)
    for refuse in (check_private, create_private):
        with pytest.raises(UnsafeFolder, match=problem) as caught:
            refuse(root / "snpjax" / "compiled", root)
    assert str(root / level) in f"{caught.value}"


@pytest.mark.parametrize("level", [".", "snpjax", "snpjax/compiled"])
def test_folders_of_others_are_refused(monkeypatch, root, level):
    place, look = root / level, os.lstat

    def lstat(path):
        about = list(look(path))
        about[4] = 4242 if Path(path) == place else about[4]
        return os.stat_result(about)

    monkeypatch.setattr(os, "lstat", lstat)
    with pytest.raises(UnsafeFolder, match="belongs to another user"):
        check_private(root / "snpjax" / "compiled", root)


def test_a_relative_cache_home_is_ignored(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for value in ("", "cache", "./cache"):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert caches.user_cache("layouts") == tmp_path / ".cache" / "snpjax" / "layouts"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))
    assert caches.user_cache("layouts") == tmp_path / "own" / "snpjax" / "layouts"
    assert caches.root_of(caches.user_cache("layouts")) == tmp_path / "own"
    assert caches.root_of(tmp_path / "other") == tmp_path / "other"
