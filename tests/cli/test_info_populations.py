"""`snpjax info` of populations: their arrays say what their neurons would say one by one."""

import json
import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

import snpjax as snp
from snpjax import graphs
from snpjax.cli.app import app
from snpjax.cli.info import describe
from snpjax.cli.info_populations import describe_populations
from snpjax.cli.options import option_name
from snpjax.spiking import UNBOUNDED


#: Not in all neurons of `b`, whose third rule is two rules in one neuron and none in another.
TEMPLATES = [
    snp.RuleTemplate([(np.array([1, 2, 9, 1]), np.array([5, 1, 9, 3]), 2)], 1, 1, [0, 0, 3, 1]),
    snp.RuleTemplate(np.array([7, 8, 8, 11]), [7, 8, 8, 11], 1),
    snp.RuleTemplate([(np.array([2, 1, 20, 1]), np.array([4, 0, 20, 0]), 2)], snp.ALL),
]

SYSTEMS = {
    "rules": snp.PopulationSystem([snp.Population("b", 4, 3, TEMPLATES)], output="b"),
    "strict": snp.PopulationSystem(
        [snp.Population("x", 3, 1, ["a+/a -> a", "a(aa)*/a -> a; 2"]), snp.Population("y", 5)],
        [snp.Projection("x", "y"), snp.Projection("y", "x", graphs.Pairs([0, 4, 1], [1, 1, 0]))],
        input={"x": [[0, 0, 0], [0, 2, 0], [0, 0, 0]]},
    ),
    "overlap": snp.PopulationSystem(
        [snp.Population("x", 2, 0, ["a(aa)*/a -> a", snp.RuleTemplate([(2, 4)], snp.ALL)])]
    ),
    "overlap of one": snp.PopulationSystem(
        [snp.Population("x", 2, 0, ["a{3}/a -> a", snp.RuleTemplate(None, [2, 3])])]
    ),
    "guard": snp.PopulationSystem(
        [snp.Population("x", 2, 0, ["a+/a -> lambda", snp.RuleTemplate(np.array([1, 2]), 1, 0)])]
    ),
    "produce": snp.PopulationSystem(
        [snp.Population("x", 2, 0, [snp.RuleTemplate(None, 2, [2, 3])])]
    ),
    "weights": snp.PopulationSystem(
        [snp.Population("x", 4)], [snp.Projection("x", "x", graphs.AllToAll(3, self_edges=False))]
    ),
    "self": snp.PopulationSystem(
        [snp.Population("x", 4)],
        [snp.Projection("x", "x", graphs.Intervals([0, 2, 3, 3], [0, 3, 4, 3]))],
    ),
    "self by pairs": snp.PopulationSystem(
        [snp.Population("x", 4)], [snp.Projection("x", "x", graphs.Pairs([0, 3], [1, 3]))]
    ),
    "empty": snp.PopulationSystem([]),
}


def both(system):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        return describe_populations(system, "f"), describe(system.expand(), "f")


@pytest.mark.parametrize("name", SYSTEMS)
def test_populations_are_described_as_their_neurons(name):
    told, expected = both(SYSTEMS[name])
    same = ["neurons", "rules", "delays", "synapses", "weights", "in_degree", "out_degree", "level"]
    assert {key: told[key] for key in same} == {key: expected[key] for key in same}
    assert set(told) == set(expected)
    assert sum(told["initial_spikes"].values()) == sum(expected["initial_spikes"].values())
    codes = [{reason["code"] for reason in d["reasons"]} for d in (told, expected)]
    assert codes[0] == codes[1]
    assert SYSTEMS[name].num_rules == expected["rules"]["all"]


def test_guards_of_populations():
    told, expected = both(SYSTEMS["strict"])
    assert told["guards"] == expected["guards"] == {"a+": 3, "a(aa)*": 3}
    guards, num = (describe_populations(SYSTEMS["rules"], "f")[x] for x in ("guards", "num_guards"))
    assert num == 8 and guards == {
        **{"a|a{3}|a{5}": 1, "a{9}": 1, "a|a{3}": 1},
        **{"a{8}": 2, "a{7}": 1, "a{11}": 1},
        **{"a{2}|a{4}": 1, "a{20}": 1},
    }
    far = snp.RuleTemplate([(np.array([5000, 7]), np.array([9001, UNBOUNDED]))], 1)
    population = snp.PopulationSystem([snp.Population("x", 2, 0, [far])])
    assert describe_populations(population, "f")["guards"] == {"{5000..9001}": 1, "a{7,}": 1}


def test_reasons_name_the_first_neuron():
    (reason,) = describe_populations(SYSTEMS["produce"], "f")["reasons"]
    assert (
        reason["message"] == "population 'x', rule 1 produces more than it consumes in neuron x[1]"
    )


def test_inputs_and_outputs_are_named_by_population():
    assert describe_populations(SYSTEMS["strict"], "f")["inputs"] == {"x": 2}
    assert describe_populations(SYSTEMS["rules"], "f")["outputs"] == ["b"]
    silent = snp.PopulationSystem([snp.Population("x", 2)], input={"x": []})
    assert describe_populations(silent, "f")["inputs"] == {"x": 0}


def test_layouts_of_projections_are_those_of_a_run():
    system = snp.PopulationSystem(
        [snp.Population("x", 600, 1, ["a -> a"]), snp.Population("y", 600)],
        [snp.Projection("x", "y"), snp.Projection("x", "x", graphs.OneToOne(3))],
    )
    stored = snp.lower(system).machine.program.synapses.parts
    told = describe_populations(system, "f")
    assert told["layouts"] == {option_name(type(part)): part.nbytes for part in stored}
    assert told["layouts"] == {"ones": 0, "scaled": 4}
    assert told["auto"] == {"layout": "sum", "reason": "x to y as ones, x to x as scaled"}


def test_info_of_families(tmp_path):
    file = tmp_path / "families.pli"
    file.write_text(
        """@model<spiking_psystems>
def main()
{
  @mu = r{k} : 1<=k<=60000;
  @marcs = (r{k}, r{k+1}) : 1<=k<60000;
  [a --> a]'r{k} "a(aa)*" :: k : 1<=k<=60000;
  [a*2 --> a*3]'r{k} : 1<=k<=60000, k<>3;
  @min = r{1}; @minst = (4, 1);
  @mout = r{60000};
}
"""
    )
    result = CliRunner().invoke(app, ["info", str(file)])
    assert result.exit_code == 0
    text = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert text[0] == f"{file}: 60,000 neurons, 119,999 rules, 59,999 synapses"
    for line in (
        "rules 119,999 firing",
        "rule delays 1 to 60,000 in 60,000 rules",
        "in-degree min 0, mean 1.00, max 1",
        "inputs r{1} (horizon 4)",
        "outputs r{60000}",
        "guards 2 distinct",
        "a{2} in 59,999 rules",
        "level extended only; strict refuses:",
        "population 'r', rule 2 produces more than it consumes in neuron r{1}",
    ):
        assert line in text
    data = json.loads(CliRunner().invoke(app, ["info", str(file), "--json"]).stdout)
    assert (
        data["rules"] == {"all": 119_999, "firing": 119_999} and data["weights"]["count"] == 59_999
    )
