"""All commands that read models have the same options on reading."""

import importlib
import json
from contextlib import nullcontext

import pytest
import typer
from typer.main import get_command

import snpjax as snp
from snpjax.cli.app import app
from snpjax.sleptsov import Sleptsov
from snpjax.viz import page
from tests.support.command import invoke


OF_SYSTEMS = {"--from", "--set", "--strict", "--allow-includes-outside"}
OF_NETS = {"--from", "--rule", "--drop-time", "--net", "--ignore-unknown", "--max-flat-size"}
COMMANDS = {
    **dict.fromkeys(["run", "estimate", "info", "convert", "formats explain"], OF_SYSTEMS),
    **dict.fromkeys(["sleptsov run", "sleptsov info", "sleptsov convert"], OF_NETS),
    **dict.fromkeys(["explore", "check", "certify", "draw", "view"], OF_SYSTEMS | OF_NETS),
}
TIMED = """<pnml><net id="one" type="http://www.pnml.org/version-2009/grammar/ptnet"><page id="g">
<place id="p"><initialMarking><text>1</text></initialMarking></place>
<transition id="t"><rate><value>2.0</value></rate></transition>
<arc id="a" source="p" target="t"/></page></net></pnml>
"""


def commands(command, *words):
    """The options of each command, by its words."""
    with typer.Context(command) as context:
        if not hasattr(command, "commands"):
            yield " ".join(words), {option for x in command.params for option in x.opts}
            return
        for name in command.list_commands(context):
            _, child, _ = command.resolve_command(context, [name])
            yield from commands(child, *words, name)


def test_each_command_that_reads_a_model_has_all_options_on_reading():
    options = {
        words: given
        for words, given in commands(get_command(app))
        if "--from" in given and not words.startswith("proliferation")
    }
    assert options.keys() == COMMANDS.keys()
    missing = {words: COMMANDS[words] - given for words, given in options.items()}
    assert not any(missing.values()), missing


@pytest.fixture
def including(tmp_path):
    """A file that includes one outside its folder."""
    (tmp_path / "inside").mkdir()
    (tmp_path / "more.pli").write_text("def more() { @mu += x; @ms(x) = a; }\n")
    file = tmp_path / "inside" / "main.pli"
    file.write_text(
        '@model<spiking_psystems>\n@include "../more.pli"\n'
        "def main() { call more(); @mu += n; @ms(n) = a; [a --> a]'n; }\n"
    )
    return file


@pytest.fixture
def pages(monkeypatch):
    """The names and texts of the pages that would be served."""
    pages = []
    monkeypatch.setattr(page, "Session", lambda name, text, **options: pages.append((name, text)))
    monkeypatch.setattr(page, "PageServer", lambda session, port: nullcontext())
    monkeypatch.setattr(
        importlib.import_module("snpjax.cli.view"), "_serve", lambda *_, opens: None
    )
    return pages


def test_includes_outside_the_folder_are_allowed_by_an_option(including, pages, tmp_path):
    refused = invoke("info", including)
    assert refused.exit_code == 2 and "--allow-includes-outside)" in refused.stderr
    allowed = invoke("info", including, "--allow-includes-outside", "--json")
    assert json.loads(allowed.stdout)["neurons"] == 2
    assert invoke("view", including, "--allow-includes-outside").exit_code == 0
    assert "def more()" in pages[0][1]
    native = tmp_path / "x.json"
    snp.write(snp.read(including, allow_includes_outside=True), native)
    refused = invoke("run", native, "--allow-includes-outside")
    assert refused.exit_code == 2 and "has no option --allow-includes-outside" in refused.stderr


def test_the_page_reads_nets_with_the_options_of_the_other_commands(pages, tmp_path):
    net = tmp_path / "timed.pnml"
    net.write_text(TIMED)
    refused = invoke("view", net, "--net", "one")
    assert refused.exit_code == 2 and "--drop-time" in refused.stderr
    shown = invoke("view", net, "--drop-time", "--net", "one", "--rule", "sleptsov")
    assert shown.exit_code == 0, shown.stderr
    ((name, text),) = pages
    opened = page.open_model(name, text, format=None, level="strict").system
    with pytest.warns(snp.ReadWarning, match="rate"):
        assert opened == snp.read_net(net, drop_time=True, rule=Sleptsov())
    refused = invoke("view", net, "--drop-time", "--net", "two")
    assert refused.exit_code == 2 and "two" in refused.stderr
    for option in (["--drop-time"], ["--ignore-unknown"], ["--max-flat-size", 9]):
        assert "there is no net" in invoke("view", *option).stderr
    refused = invoke("view", net, "--allow-includes-outside")
    assert "this is a file of a net (leave it out)" in refused.stderr
