"""Files that a P-Lingua file includes."""

import os

import pytest

import snpjax as snp
from snpjax.io import ReadError, ReadWarning
from snpjax.io.plingua import read_plingua
from snpjax.io.source import Source
from tests.support.command import invoke


HEAD = "@model<spiking_psystems>\n"
MAIN = "def main() {\n  call add(3);\n  @mout = x{3};\n}\n"
MODULE = """\
/* in a file of its own */
def add(n)
{
  @mu = x{i} : 1<=i<=n;
  [a --> a]'x{i} "a{i}a*" : 1<=i<=n;
}
"""


@pytest.fixture
def folder(tmp_path):
    """Writes files, and returns the path of the first one."""

    def write(**files):
        for name, text in files.items():
            path = tmp_path / "models" / f"{name.replace('__', '/')}.pli"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path / "models" / f"{next(iter(files))}.pli"

    return write


def refusals(path, **options):
    """The file, line, column and message of every error."""
    with pytest.raises(ReadError) as caught:
        snp.read(path, **options)
    return [str(d).replace(f"{path.parent}{os.sep}", "") for d in caught.value.diagnostics]


@pytest.mark.parametrize(
    "text",
    [
        f'{HEAD}@include "sub/add.pli"\n{MAIN}',
        f'{HEAD}{MAIN}@INCLUDE /* here */ "sub/add.pli";',
        f'@include "sub/add.pli" /* and its model */ {MAIN}',
        f'{HEAD}@include "sub/twice.pli"\n@include "./sub/add.pli"\n{MAIN}',
    ],
)
def test_included_files_are_one_text(folder, text):
    twice = f'{HEAD}@include "add.pli" /* @include "nothing" */'
    path = folder(first=text, sub__add=HEAD + MODULE, sub__twice=twice)
    assert snp.read(path) == read_plingua(Source("x", HEAD + MODULE + MAIN), "extended")


def test_definitions_of_plingua_5_may_be_included(folder):
    rules = "!pattern { a --> b } @model(spiking_psystems) = pattern;\n"
    path = folder(first=f'{HEAD}@include "rules.pli"\ndef main() {{ @mu = x; }}', rules=rules)
    with pytest.warns(ReadWarning, match=r"rules\.pli:1:22: the definition of the model"):
        assert [*snp.read(path).names] == ["x"]


def test_findings_are_at_their_places_in_their_files(folder):
    first = f'{HEAD}@include "add.pli"\n{MAIN}def add() {{ }}\n@include "more.pli"'
    more = "/* é */\ndef add(n) { @mu = x; }"
    (error, other) = refusals(folder(first=first, add=MODULE, more=more))
    assert error.startswith("first.pli:7:5: the module add is defined twice, first at ")
    assert error.endswith("add.pli:2:5 (rename one)")
    assert other.startswith("more.pli:2:5: the module add is defined twice, first at ")
    wrong = MODULE.replace("a{i}a*", "a{i}a)")
    (error,) = refusals(folder(first=f'{HEAD}@include "add.pli"\n{MAIN}', add=wrong))
    assert error.startswith("add.pli:5:24: the guard does not parse")
    path = folder(first=f'{HEAD}@include "add.pli"\n{MAIN}', add="@model<tdc2>\n")
    assert refusals(path)[0].startswith("add.pli:1:8: this is a model of 'tdc2'")


def test_what_is_not_included(folder, tmp_path):
    (tmp_path / "add.pli").write_text(MODULE)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "link.pli").symlink_to(tmp_path / "add.pli")
    directives = ['"../add.pli"', '"nothing.pli"', "nothing", '"link.pli"', f'"{tmp_path}/add.pli"']
    text = HEAD + "".join(f"@include {x}\n" for x in directives) + MAIN
    errors = refusals(folder(first=text))
    assert [error.split(": ")[0] for error in errors] == [
        *("first.pli:2:11", "first.pli:3:11", "first.pli:4:1", "first.pli:5:11", "first.pli:6:11")
    ]
    assert "is outside the folder of first.pli" in errors[0]
    assert "there is no such file" in errors[1] and "names no file" in errors[2]
    assert all("allow_includes_outside=True" in errors[i] for i in (0, 3, 4))
    outside = folder(first=f'{HEAD}@include "../add.pli"\n{MAIN}')
    assert len(snp.read(outside, allow_includes_outside=True).neurons) == 3
    inside = folder(first=f'{HEAD}{MAIN[:-2]}\n  @include "add.pli"\n}}')
    (error,) = refusals(inside)
    assert error.startswith("first.pli:6:3: files are included before or between modules")
    with pytest.raises(ValueError, match="no option `allow_includes_outside`"):
        snp.read(inside, format="esnp", allow_includes_outside=True)


def test_cycles_and_depth(folder):
    path = folder(a=f'{HEAD}@include "b.pli"', b='@include "c.pli"', c=' @include "b.pli"')
    (error,) = refusals(path)
    assert error == (
        "c.pli:1:12: b.pli includes itself: b.pli -> c.pli -> b.pli (remove one of these includes)"
    )
    files = {f"f{i}": f'@include "f{i + 1}.pli"' for i in range(20)}
    (error,) = refusals(folder(**files))
    assert error.startswith("f15.pli:1:11: the included files are more than 16 deep")


def test_a_text_without_a_file_includes_nothing(folder, monkeypatch):
    """Not even where a file of that name lies."""
    path = folder(first=f'{HEAD}@include "add.pli"\n{MAIN}', add=MODULE)
    monkeypatch.chdir(path.parent)
    for name in ("first.pli", str(path)):
        with pytest.raises(ReadError, match=r"2:11: a text that is not read from a file cannot in"):
            read_plingua(Source(name, path.read_text()), "extended")


def test_commands_say_which_files_are_part_of_what_they_write(folder):
    path = folder(first=f'{HEAD}@include "add.pli"\n{MAIN}', add=MODULE)
    for target in ("out.pli", "out.snp.json"):
        result = invoke("convert", path, path.with_name(target))
        assert result.exit_code == 0 and "holds the content of" in result.stderr
        assert snp.read(path.with_name(target)) == snp.read(path)
    page = path.with_name("page.html")
    result = invoke("view", path, "--export", page)
    assert result.exit_code == 0, result.stderr
    assert "add.pli, which" in result.stderr and "part of what the page saves" in result.stderr
