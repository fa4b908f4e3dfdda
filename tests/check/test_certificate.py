"""Certificates as files, and the digests of models."""

import json

import pytest

import snpjax as snp
from snpjax.check import model_digest
from snpjax.sleptsov import Arcs, Disjoint, Execution, Petri, SleptsovNet


RING = snp.SpikingSystem(
    [snp.Neuron("n1", 1, ["a -> a"]), snp.Neuron("n2", 0, ["a -> a", "a -> lambda"])],
    [("n1", "n2"), ("n2", "n1")],
)


def certificate(**changes):
    parts = {"property": "always n1 <= 1", "invariant": "n1 + n2 <= 1", "facts": ("a sum",)}
    return snp.Certificate(**{**parts, "model": model_digest(RING), **changes})


def test_certificates_are_read_as_they_were_written(tmp_path):
    own = certificate(k=2)
    assert snp.Certificate.from_json(own.to_json()) == own
    own.write(tmp_path / "proof.json")
    assert snp.Certificate.read(tmp_path / "proof.json") == own
    assert json.loads((tmp_path / "proof.json").read_text())["version"] == 1


def changed(**changes):
    parts = {**certificate().to_dict(), **changes}
    return json.dumps({name: x for name, x in parts.items() if x is not None})


TWICE = certificate().to_json().replace('"property"', '"property": "always s <= 0", "property"')


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"format":\n oops}', "p.json:2:2: not well-formed JSON"),
        ("[" * 100_000, "p.json:1:101: this is nested"),
        ("1" * 5_000, "p.json:1:1: a number has"),
        (TWICE, "p.json:4:32: the key 'property' appears twice"),
        ("[]", "this is not a certificate"),
        (changed(format="other"), "this is not a certificate"),
        (changed(version=2), "certificates of version 2 are not read"),
        (changed(version=True), "certificates of version True are not read"),
        (changed(version=None), "certificates of version None are not read"),
        (changed(invariant=None), 'the field "invariant" is missing'),
        (changed(invariant=7), "`invariant` is 7"),
        (changed(facts="a sum"), 'the field "facts" is not a list'),
        (changed(facts=[1]), "`facts` holds something else than strings"),
        (changed(k=0), "`k` is 0"),
        (changed(k=True), "`k` is True"),
        (changed(proof="yes"), 'unknown field "proof"'),
    ],
)
def test_what_is_no_certificate(text, words):
    with pytest.raises(snp.CertificateError) as caught:
        snp.Certificate.from_json(text, path="p.json")
    assert f"{caught.value}".startswith("p.json") and words in f"{caught.value}"


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(snp.ReadError, match="there is no such file"):
        snp.Certificate.read(tmp_path / "none.json")


def net(weight=1, **changes):
    parts = {"inputs": Arcs.of([(0, 0, weight)]), "outputs": Arcs.of([(1, 0, 1)])}
    return SleptsovNet([3, 0], **{**parts, **changes})


def test_a_digest_depends_on_the_steps_alone():
    ring = RING.replace(name="title", notes={"x": 1}, output="n1", synapses=RING.synapses[::-1])
    assert model_digest(ring) == model_digest(RING)
    models = [
        RING,
        RING.replace(synapses=RING.synapses[:1]),
        RING.replace(synapses=[*RING.synapses[:1], ("n2", "n1", 2)]),
        RING.replace(input={"n1": [0, 1]}),
        RING.replace(neurons=[snp.Neuron("n1", 2, ["a -> a"]), RING.neurons[1]]),
        RING.replace(neurons=[snp.Neuron("n1", 1, ["a -> a; 1"]), RING.neurons[1]]),
        RING.replace(neurons=[snp.Neuron("n1", 1, ["a+/a -> a"]), RING.neurons[1]]),
        net(),
        net(2),
        net(inhibitors=Arcs.of([(1, 0, 1)])),
        net(tests=Arcs.of([(1, 0, 1)])),
        net(place_names=["x", "y"]),
        Execution(net(), rule=Petri()),
    ]
    assert len({model_digest(model) for model in models}) == len(models)


def test_populations_have_the_digest_of_their_neurons():
    system = snp.PopulationSystem([snp.Population("x", 2, spikes=1, rules=["a -> a"])])
    assert model_digest(system) == model_digest(system.expand())


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Execution(net(), rule=Disjoint()), "nets under `Disjoint`"),
        (net(order=[0]), "a total order of transitions"),
        (
            net().replace(inputs=Arcs.none(), tests=Arcs.of([(0, 0, 1)])),
            "'t1', which consumes nothing",
        ),
        (RING.replace(variant=snp.Exhaustive()), "the variant `Exhaustive`"),
        (RING.replace(compatibility=snp.compatibility.WEBSNAPSE_V1), "`compatibility`"),
        (
            snp.SpikingSystem([snp.Neuron("i", 1, ["[a]_i -> []_j || []_k"])]),
            "DivisionRules (neuron 'i'",
        ),
        (7, "models of type int"),
    ],
)
@pytest.mark.filterwarnings("ignore::snpjax.ModelWarning")
def test_models_without_certificates_are_refused_by_name(model, words):
    with pytest.raises(NotImplementedError) as caught:
        model_digest(model)
    assert words in f"{caught.value}"
