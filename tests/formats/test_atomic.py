"""Files that are written atomically, whatever fails and whenever the process dies."""

import errno
import os
import stat
import sys
import threading
from pathlib import Path

import pytest

from snpjax_formats.atomic import atomic_write, atomic_write_all
from tests.support.faulty_disk import FaultyDisk, Killed, content, on, plain
from tests.support.processes import PIPE, started


OLD, NEW = b"old" * 10, b"new" * 20


@pytest.fixture(params=["file", "set", "set of which one is new", "set without links", "folders"])
def written(request, tmp_path, monkeypatch):
    """A function that writes files, their folders, and what is in these before and after."""
    names = {"file": ["a"], "folders": ["a", "b"]}.get(request.param, ["a", "b", "c"])
    folders = [tmp_path / "x"]
    if request.param == "folders":
        folders.append(tmp_path / "y")
    if request.param == "set without links":

        def link(*_):
            raise PermissionError(errno.EPERM, "no hard links here")

        monkeypatch.setattr(os, "link", link)
    for folder in folders:
        folder.mkdir()
        for name in names:
            if name != "b" or "new" not in request.param:
                (folder / name).write_bytes(OLD)
    before = [content(folder) for folder in folders]
    after = [dict.fromkeys(names, NEW) for _ in folders]
    parts = (NEW[:30], NEW[30:])

    def write():
        atomic_write_all({folder / name: iter(parts) for folder in folders for name in names})

    return write, folders, before, after


def test_each_operation_fails_once(written, monkeypatch):
    """After an error all files are as they were; after the next write nothing else is there."""
    write, folders, before, after = written
    probe = FaultyDisk()
    with monkeypatch.context() as patch:
        on(probe, patch)
        write()
    assert [content(folder) for folder in folders] == after
    assert probe.done["fsync"] and probe.done["write"] and probe.done["replace"]
    num_failed = 0
    for number in range(probe.number):
        for folder, files in zip(folders, before, strict=True):
            for path in folder.iterdir():
                path.unlink()
            for name, data in files.items():
                (folder / name).write_bytes(data)
        disk = FaultyDisk(number)
        with monkeypatch.context() as patch:
            on(disk, patch)
            try:
                write()
                is_done = True
            except OSError as error:
                is_done, num_failed = False, num_failed + 1
                assert Path(error.filename).name in ("a", "b", "c"), error
        found = [plain(content(folder)) for folder in folders]
        assert found == after if is_done else found in (before, after), number
        for folder in folders:
            atomic_write(folder / "other", "")
            assert not any(name.startswith(".") for name in content(folder)), number
        again = [{**files, "other": b""} for files in found]
        assert [content(folder) for folder in folders] == again, number
    assert num_failed > probe.number // 3


def test_the_process_dies_before_each_operation(written, monkeypatch):
    """The next write into a folder leaves the old files or the new ones, and nothing else."""
    write, folders, before, after = written
    number, seen = 0, set()
    while True:
        for folder, files in zip(folders, before, strict=True):
            for path in folder.iterdir():
                path.unlink()
            for name, data in files.items():
                (folder / name).write_bytes(data)
        with monkeypatch.context() as patch:
            on(FaultyDisk(number, dies=True), patch)
            try:
                write()
                break
            except Killed:
                pass
        for path in (path for folder in folders for path in folder.iterdir()):
            assert path.name.startswith(".") or path.read_bytes() in (OLD, NEW)
        for folder, old, new in zip(folders, before, after, strict=True):
            atomic_write(folder / "other", "")
            found = content(folder)
            assert found in ({**old, "other": b""}, {**new, "other": b""}), number
            seen.add(found == {**new, "other": b""})
        number += 1
    assert seen == {False, True} and number > 5


@pytest.mark.skipif(sys.platform == "win32", reason="folders are not flushed")
def test_what_is_renamed_is_on_the_disk(tmp_path, monkeypatch):
    on(one := FaultyDisk(), monkeypatch)
    atomic_write(tmp_path / "a", "x")
    assert one.order[:4] == ["write", "flush", "replace", "flush folder"]
    on(two := FaultyDisk(), monkeypatch)
    atomic_write_all({tmp_path / "a": (b"x",), tmp_path / "b": (b"y",)})
    order = [name for i, name in enumerate(two.order) if name != "write" or i < 3]
    journal, renames = ["flush", "link", "flush folder"], ["replace", "replace", "flush folder"]
    assert order[:4] == ["write", "flush", "write", "flush"]
    assert order[4:12] == [*journal, *renames, "unlink", "flush folder"]


@pytest.mark.skipif(sys.platform == "win32", reason="no locks")
def test_files_of_live_processes_stay(tmp_path):
    """A process that is writing, then is killed."""
    code = (
        "import sys; from pathlib import Path; from snpjax_formats.atomic import atomic_write_all\n"
        "def blocks():\n    yield b'begun'\n    print('ready', flush=True)\n    sys.stdin.read()\n"
        "atomic_write_all({Path(sys.argv[1]): blocks()})"
    )
    with started(sys.executable, "-c", code, tmp_path / "slow", stdin=PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        atomic_write(tmp_path / "other", "x")
        assert len(list(tmp_path.iterdir())) == 2
    (left,) = (path for path in tmp_path.iterdir() if path.name != "other")
    assert left.read_bytes() == b"begun"
    atomic_write(tmp_path / "other", "y")
    assert content(tmp_path) == {"other": b"y"}


def test_a_set_that_is_being_replaced_is_not_undone(tmp_path, monkeypatch):
    """Another write into the folder, between the first and the second of two renames."""
    (tmp_path / "a").write_bytes(OLD)

    class Disk(FaultyDisk):
        def __getattr__(self, name):
            if name == "replace" and self.done["replace"] == 1:
                self.done["replace"] += 1
                with monkeypatch.context() as patch:
                    on(FaultyDisk(), patch)
                    atomic_write(tmp_path / "other", "")
            return super().__getattr__(name)

    with monkeypatch.context() as patch:
        on(Disk(), patch)
        atomic_write_all({tmp_path / name: (NEW,) for name in ("a", "b")})
    assert content(tmp_path) == {"a": NEW, "b": NEW, "other": b""}


def test_many_threads_write_into_a_folder(tmp_path):
    errors = []

    def work(number: int) -> None:
        try:
            for turn in range(25):
                text = f"{number} {turn}" * 100
                atomic_write_all({tmp_path / f"{number}{x}": (text.encode(),) for x in "ab"})
                atomic_write(tmp_path / "shared", text)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    found = content(tmp_path)
    assert found.keys() == {"shared", *(f"{number}{x}" for number in range(4) for x in "ab")}
    assert all(
        found[f"{number}{x}"] == (f"{number} 24" * 100).encode()
        for number in range(4)
        for x in "ab"
    )


@pytest.mark.parametrize("error", [FileNotFoundError, IsADirectoryError])
def test_errors_name_the_file_and_no_temporary_one(tmp_path, error):
    target = tmp_path if error is IsADirectoryError else tmp_path / "none" / "x.json"
    with pytest.raises(error) as raised:
        atomic_write(target, "")
    assert raised.value.filename == str(target) and ".snpjax" not in str(raised.value)
    assert not list(tmp_path.iterdir())
    assert not list(tmp_path.parent.glob(".snpjax*"))


def test_the_file_that_fails_of_a_set_is_named(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "a").write_bytes(OLD)
    with pytest.raises(IsADirectoryError) as raised:
        atomic_write_all({tmp_path / "a": (b"",), tmp_path / "b": (b"",)})
    assert raised.value.filename == str(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == OLD and len(list(tmp_path.iterdir())) == 2


def test_links_are_followed(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "file").write_bytes(OLD)
    (tmp_path / "link").symlink_to(Path("data", "file"))
    (tmp_path / "dangling").symlink_to(Path("data", "none"))
    (tmp_path / "loop").symlink_to("loop")
    for name in ("link", "dangling"):
        atomic_write(tmp_path / name, NEW)
        assert (tmp_path / name).is_symlink()
    assert content(tmp_path / "data") == {"file": NEW, "none": NEW}
    with pytest.raises(OSError) as raised:
        atomic_write(tmp_path / "loop", NEW)
    assert raised.value.errno == errno.ELOOP and raised.value.filename == str(tmp_path / "loop")
    assert (tmp_path / "loop").is_symlink()
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.skipif(sys.platform == "win32", reason="no such permissions")
def test_permissions(tmp_path):
    def mode(name: str) -> int:
        return stat.S_IMODE((tmp_path / name).stat().st_mode)

    before = os.umask(0o027)
    try:
        atomic_write(tmp_path / "new", "")
        for name, its in (("private", 0o600), ("open", 0o666), ("program", 0o755)):
            (tmp_path / name).write_bytes(OLD)
            (tmp_path / name).chmod(its)
        atomic_write(tmp_path / "private", NEW)
        atomic_write_all({tmp_path / name: (b"",) for name in ("open", "program", "newer")})
    finally:
        os.umask(before)
    assert mode("new") == mode("newer") == 0o640
    assert [mode(name) for name in ("private", "open", "program")] == [0o600, 0o666, 0o755]


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes with names")
def test_what_is_no_file_is_written_in_place(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    texts = []
    reader = threading.Thread(target=lambda: texts.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    atomic_write(tmp_path / "pipe", NEW * 10_000)
    reader.join()
    assert texts == [NEW * 10_000] and stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    atomic_write(Path(os.devnull), "x")
    assert not Path(os.devnull).is_file()


def test_names_may_be_as_long_as_the_file_system_allows(tmp_path):
    name = "é" * 127
    atomic_write(tmp_path / name, "")
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.skipif(sys.platform == "win32", reason="no locks")
@pytest.mark.parametrize(
    "entry",
    [
        ["../victim", None, 3, 0],
        ["victim/../../victim", ".snpjax-{0}-0.old", 3, 0],
        ["..", None, 3, 0],
        ["victim", "other", 3, 0],
        ["victim", ".snpjax-1123456789abcdef-0.old", 3, 0],
        ["victim", None, "3", 0],
        ["victim"],
        3,
    ],
)
def test_a_journal_of_someone_else_touches_nothing(tmp_path, entry):
    """Such as one that came with an archive."""
    import json

    token, folder = "0123456789abcdef", tmp_path / "folder"
    folder.mkdir()
    for path in (tmp_path / "victim", folder / "victim", folder / "other"):
        path.write_bytes(OLD)
    text = json.dumps({"files": [entry]}).replace("{0}", token)
    (folder / f".snpjax-{token}-journal").write_text(text)
    (folder / f".snpjax-{token}-0.old").write_bytes(b"evil")
    atomic_write(folder / "x", "")
    assert (tmp_path / "victim").read_bytes() == OLD
    assert content(folder) == {"victim": OLD, "other": OLD, "x": b""}


@pytest.mark.skipif(sys.platform == "win32", reason="no locks")
def test_files_that_were_written_after_an_interruption_stay(tmp_path, monkeypatch):
    for name in "ab":
        (tmp_path / name).write_bytes(OLD)

    class Disk(FaultyDisk):
        def __getattr__(self, name):
            if self.done["replace"] == 1:
                self.fails, self.dies = 0, True
            return super().__getattr__(name)

    with monkeypatch.context() as patch:
        on(Disk(), patch)
        with pytest.raises(Killed):
            atomic_write_all({tmp_path / name: (NEW,) for name in "ab"})
    assert plain(content(tmp_path)) == {"a": NEW, "b": OLD}
    (tmp_path / "a").write_bytes(b"by hand")
    atomic_write(tmp_path / "x", "")
    assert content(tmp_path) == {"a": b"by hand", "b": OLD, "x": b""}


@pytest.mark.skipif(sys.platform == "win32", reason="no locks")
def test_other_names_and_links_are_no_leftovers(tmp_path):
    token = "0123456789abcdef"
    names = [".snpjax", f".snpjax-{token}", f".snpjax-{token}-0.news", ".a.0123456789ab.tmp"]
    for name in names:
        (tmp_path / name).write_text("")
    (tmp_path / "mine").write_bytes(OLD)
    (tmp_path / f".snpjax-{token}-0.new").symlink_to("mine")
    (tmp_path / f".snpjax-{token}-1.new").mkdir()
    atomic_write(tmp_path / "x", "")
    assert {path.name for path in tmp_path.iterdir()} >= {*names, "mine"}
    assert (tmp_path / "mine").read_bytes() == OLD
