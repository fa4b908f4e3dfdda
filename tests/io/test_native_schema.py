"""The published JSON Schema accepts what is read and written, and refuses mistakes of form."""

import copy
import json

import jsonschema
import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

import snpjax as snp
from snpjax.io import native_schema
from snpjax.io.losses import Losses
from snpjax.io.native import write_native
from snpjax.io.native.write import SCHEMA
from snpjax.testing import dividing_systems, plastic_systems, systems
from tests.io.tables.holdable import any_variant
from tests.support.fuzz_seeds import NATIVE
from tests.support.helpers import REPOSITORY


VALIDATOR = Draft202012Validator(native_schema())

WHOLE = json.loads("""{
 "schema": "snpjax/1", "name": "whole", "level": "extended",
 "neurons": [
  {"id": "x", "spikes": 2, "label": "l", "rules": ["a -> a", {"consume": 1, "produce": 1, "delay": 2}]},
  {"id": "y", "rules": [{"guard": "a+", "divide": ["l", "m"]}, "[a]_y -> []_m || []_l"]},
  {"id": "z", "rules": [{"guard": "a", "bud": ["z", "l"]}]}
 ], "synapses": [["x", "y"], ["y", "z", 2]], "input": {"l": [1, 0, 2]}, "output": ["z", "m"],
 "rules_by_label": {"m": ["a -> a"]}, "dictionary": [["l", "m"]],
 "notes": {"positions": {"x": [0.5, 1]}}
}""")  # noqa: E501
#: What only networks that never change have.
OPTIONS = json.loads("""{
 "schema": "snpjax/1", "signed": true, "neurons": [{"id": "x"}], "synapses": [["x", "x", -2]],
 "compatibility": {"early_reopen": "accumulate", "guard_modulo": 256, "closed_receives": true}
}""")
LARGE = json.loads("""{
 "schema": "snpjax/1",
 "populations": [
  {"name": "p", "size": 3, "spikes": [1, 2, 3], "indices": [[1], [2], [3]], "rules": ["a -> a", {"guard": "a{2}", "consume": [1, 2, 1], "produce": 1}, {"guard": [[7, [8, null, 9], 1], [[3, 4, 5]]], "consume": "all"}]},
  {"name": "q", "size": 3, "rules": [{"guard": [[1, [2, 3, 4]]], "consume": 1, "plasticity": {"alpha": ["+", "+-", "-"], "k": [1, 2, 3], "targets": {"p": {"kind": "all_to_all"}, "q": {"kind": "pairs", "source": [0, 1], "target": [2, 2]}}}}]}
 ],
 "projections": [
  {"from": "p", "to": "p", "graph": {"kind": "random_in_degree", "in_degree": 2, "seed": 7}},
  {"from": "p", "to": "p", "graph": {"kind": "blocks", "weights": [[1, 2, 0]]}}
 ], "input": {"p": [[0, 1, 2]]}, "output": ["p{1}"]
}""")  # noqa: E501
SIGNED = json.loads("""{
 "schema": "snpjax/1",
 "neurons": [{"id": "x", "rules": [{"consume": 2, "produce": -1, "sign": -1}, "ā^3 -> ā"]}],
 "variant": {"kind": "anti_spikes"}
}""")
CONTROLLED = json.loads("""{
 "schema": "snpjax/1", "neurons": [{"id": "x"}], "synapses": [["x", "x"]],
 "variant": {"kind": "astrocytes", "astrocytes": [{"synapses": [["x", "x"]], "threshold": 0}]}
}""")
ROUTED = json.loads("""{
 "schema": "snpjax/1",
 "neurons": [
  {"id": "x", "rules": ["a -> a(1)", {"consume": 2, "produce": 1, "channel": "b"}]}, {"id": "y"}
 ],
 "variant": {"kind": "channels", "channels": [{"channel": "1", "synapses": [["x", "y"]]}, {"channel": "b", "synapses": [["x", "y"], ["x", "x"]]}]}
}""")  # noqa: E501
PLASTIC = json.loads("""{
 "schema": "snpjax/1",
 "neurons": [
  {"id": "x", "rules": [{"consume": 1, "plasticity": {"alpha": "+", "k": 1, "targets": ["y"]}}, "a^2/a -> -+2(x, {y})"]},
  {"id": "y"}
 ]
}""")  # noqa: E501


def written(model, folder):
    path = folder / "model.snp.json"
    path.write_text(json.dumps(model))
    return path


def test_it_is_a_schema_of_this_version(tmp_path):
    Draft202012Validator.check_schema(native_schema())
    assert native_schema()["properties"]["schema"]["const"] == SCHEMA
    for model in (
        WHOLE,
        OPTIONS,
        PLASTIC,
        SIGNED,
        CONTROLLED,
        ROUTED,
        LARGE,
        *map(json.loads, NATIVE),
    ):
        VALIDATOR.validate(model)
        system = snp.read(written(model, tmp_path))
        assert isinstance(system, snp.PopulationSystem) or system.notes == model.get("notes", {})
        VALIDATOR.validate(json.loads(write_native(system, Losses("native"))))


def test_it_has_every_option_of_compatibility():
    properties = native_schema()["properties"]["compatibility"]["properties"]
    of_truth, of_words = {"type": "boolean", "default": False}, {"default": None}
    assert properties.pop("guard_modulo") == {"$ref": "#/$defs/positive"}
    assert properties == {
        name: of_truth if choices[0] is False else {"enum": list(choices), **of_words}
        for name, choices in snp.compatibility.CHOICES.items()
    }


@given(systems(signed=None) | plastic_systems() | dividing_systems() | any_variant)
def test_random_systems_are_valid(system):
    VALIDATOR.validate(json.loads(write_native(system, Losses("native"))))


def test_examples_are_valid():
    examples = list((REPOSITORY / "examples").glob("*.snp.json"))
    assert examples
    for example in examples:
        VALIDATOR.validate(json.loads(example.read_text()))
        snp.read(example)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), "snpjax/2"),
        (("level",), "loose"),
        (("signed",), 1),
        (("edges",), []),
        (("neurons", 0, "id"), 7),
        (("neurons", 0, "spikes"), "2"),
        (("neurons", 0, "rules", 1, "consume"), 0),
        (("neurons", 0, "rules", 1, "sign"), 2),
        (("neurons", 0, "rules", 1, "sign"), True),
        (("variant",), "exhaustive"),
        (("variant",), {"kind": "astrocytes"}),
        (("variant",), {"kind": "exhaustive", "astrocytes": []}),
        (("variant", "astrocytes", 0, "threshold"), -1),
        (("variant", "astrocytes", 0, "synapses", 0), ["x"]),
        (("variant", "astrocytes", 0, "synapses"), []),
        (("neurons", 1, "rules", 0, "divide"), ["l"]),
        (("neurons", 0, "rules", 0, "plasticity", "alpha"), "*"),
        (("synapses", 0), ["x"]),
        (("synapses", 1, 2), 0),
        (("input", "l", 0), 0.5),
        (("output",), "z"),
        (("dictionary", 0), ["l", "m", "n"]),
        (("compatibility",), "sparse-snp"),
        (("compatibility", "early_reopen"), "later"),
        (("compatibility", "closed_receives"), 1),
        (("compatibility", "guard_modulo"), 0),
        (("compatibility", "choice"), "first"),
        (("notes",), []),
    ],
)
def test_mistakes_of_form_are_refused_by_both(path, value, tmp_path):
    options = OPTIONS if path[0] in OPTIONS.keys() - WHOLE.keys() else WHOLE
    options = CONTROLLED if "variant" in path else options
    model = copy.deepcopy(PLASTIC if "plasticity" in path else options)
    check_refused(model, path, value, tmp_path)


def check_refused(model, path, value, tmp_path):
    inner = model
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(model)
    with pytest.raises(snp.ReadError):
        snp.read(written(model, tmp_path))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("neurons",), []),
        (("variant",), {"kind": "exhaustive"}),
        (("synapses",), []),
        (("notes",), {}),
        (("populations",), {}),
        (("populations", 0, "name"), ""),
        (("populations", 0, "size"), 2**31),
        (("populations", 0, "size"), -1),
        (("populations", 0, "spikes"), [1, 2.5, 3]),
        (("populations", 0, "label"), "l"),
        (("populations", 0, "rules", 1, "consume"), 0),
        (("populations", 0, "rules", 1, "consume"), "some"),
        (("populations", 0, "rules", 1, "produce"), [1, -1, 1]),
        (("populations", 0, "rules", 1, "bud"), ["p", "q"]),
        (("populations", 0, "rules", 1, "plasticity"), {}),
        (("populations", 1, "rules", 0, "consume"), "all"),
        (("populations", 1, "rules", 0, "produce"), 1),
        (("populations", 1, "rules", 0, "plasticity", "alpha"), ["+", "*", "-"]),
        (("populations", 1, "rules", 0, "plasticity", "k"), 0),
        (("populations", 1, "rules", 0, "plasticity", "targets"), ["p"]),
        (("populations", 1, "rules", 0, "plasticity", "targets", "p"), {"kind": "ring"}),
        (("populations", 0, "rules", 2, "guard", 0, 0), None),
        (("populations", 0, "rules", 2, "guard", 1), []),
        (("projections", 0, "from"), 7),
        (("projections", 0, "weight"), 7),
        (("projections", 0, "graph", "kind"), "ring"),
        (("projections", 0, "graph", "weight"), 0),
        (("projections", 0, "graph", "seed"), -1),
        (("projections", 0, "graph", "seed"), None),
        (("projections", 0, "graph", "probability"), 0.5),
        (("projections", 1, "graph", "weights"), [1, 2, 0]),
        (("input", "p"), [[0, 1, "2"]]),
    ],
)
def test_mistakes_in_populations_are_refused_by_both(path, value, tmp_path):
    check_refused(copy.deepcopy(LARGE), path, value, tmp_path)
