"""`snpjax run` of a file of Numerical WebSnapse."""

import json

from typer.testing import CliRunner

import snpjax as snp
from snpjax.cli.app import app


FILE = """{"nodes": [
 {"id": "a", "data": {"label": "p", "type": "reg", "var_": [["x", "1"], ["y", 2]],
  "prf": [["f", "1", [["x", "1/3"], ["y", "0"]]]]}},
 {"id": "b", "data": {"label": "q", "type": "reg", "var_": [["x", "-0.5"]],
  "prf": [["f", null, [["x", "2"]]], ["g", "", [["x", -1]]]]}},
 {"id": "d", "data": {"label": "out", "type": "out"}}],
 "edges": [{"source": "a", "target": "b"}, {"source": "b", "target": "a"},
  {"source": "b", "target": "d"}]}
"""


def test_the_command_runs_it(tmp_path):
    path = tmp_path / "numerical.json"
    path.write_text(FILE)
    one = CliRunner().invoke(app, ["run", f"{path}", "--steps", "2", "--first", "--json"])
    assert one.exit_code == 0, one.output
    shown = json.loads(one.stdout)
    solution = snp.run(snp.io.read_numerical(path), max_steps=2)
    assert shown["outputs"] == {"out": solution.outputs["out"].tolist()}
    assert shown["history"]["p"]["x"] == solution.variables["p"]["x"].tolist()
    table = CliRunner().invoke(app, ["run", f"{path}", "--steps", "2", "--paths", "3"])
    assert table.exit_code == 0 and "path" in table.stdout
    rows = CliRunner().invoke(app, ["run", f"{path}", "--steps", "2", "--csv"])
    assert rows.stdout.startswith("step,p.x,p.y,q.x,out:out\n0,1.0,2.0,-0.5,\n")
    refused = CliRunner().invoke(app, ["run", f"{path}", "--int64"])
    assert refused.exit_code == 2 and "a numerical system" in refused.stderr
    other = CliRunner().invoke(app, ["info", f"{path}"])
    assert other.exit_code == 2 and "use: snpjax run" in other.stderr
    for command in (["explore"], ["check"]):
        query = ["always p = 0"] * (command == ["check"])
        refused = CliRunner().invoke(app, [*command, f"{path}", *query])
        assert refused.exit_code == 2 and "whose values are real numbers" in refused.stderr
