"""Errors of public calls name the wrong argument, or the keyword that was probably meant."""

import inspect
import pickle
import random
import sys
import warnings

import jax
import pytest

import snpjax as snp
from snpjax import learn, proliferation, sleptsov
from snpjax.check import equivalent
from snpjax.explore import explore
from snpjax.testing import reference_proliferation as reference
from snpjax_formats.articles import with_article
from tests.support.helpers import many
from tests.support.random_calls import callables, outcomes


SYSTEM = snp.SpikingSystem([snp.Neuron("a", 1, ["a -> a"])])


@pytest.mark.parametrize(
    "call, misspelt, meant",
    [
        (lambda **k: snp.run(SYSTEM, **k), "max_step", "`max_steps`"),
        (lambda **k: snp.explore(SYSTEM, **k), "max_depths", "'max_depth'"),
        (lambda **k: snp.check(SYSTEM, "halted", **k), "max_configuration", "'max_configurations'"),
        (lambda **k: equivalent(SYSTEM, SYSTEM, **k), "max_depths", "'max_depth'"),
        (lambda **k: snp.read("x.pli", **k), "parameter", "'parameters'"),
        (lambda **k: snp.write(SYSTEM, "x.pli", **k), "lossi", "'lossy'"),
        (lambda **k: snp.Neuron("a", **k), "spike", "'spikes'"),
        (lambda **k: snp.SpikingSystem([], **k), "synapse", "'synapses'"),
        (lambda **k: snp.Rule("a", 1, **k), "dely", "'delay'"),
        (lambda **k: snp.Population("a", 3, **k), "spike", "'spikes'"),
        (lambda **k: snp.Save(**k), "evry", "'every'"),
        (lambda **k: snp.UniformChoice(**k), "keys", "'key'"),
        (lambda **k: learn.FastSigmoid(**k), "bet", "'beta'"),
        (lambda **k: learn.fit(None, **k), "epoch", "'epochs'"),
        (lambda **k: proliferation.CellType(**k), "nam", "'name'"),
        (lambda **k: sleptsov.SleptsovNet(**k), "place_name", "'place_names'"),
    ],
)
def test_suggestion(call, misspelt, meant):
    with pytest.raises(TypeError, match=f"Did you mean {meant}"):
        call(**{misspelt: 1})


def test_other_mistakes_keep_their_message():
    with pytest.raises(TypeError) as far:
        snp.read("x.pli", zzz=1)  # pyright: ignore[reportCallIssue]
    assert f"{far.value}" == "read() got an unexpected keyword argument 'zzz'"
    with pytest.raises(TypeError) as missing:
        snp.read()  # pyright: ignore[reportCallIssue]
    assert f"{missing.value}" == "read() missing 1 required positional argument: 'path'"

    class Strange:
        def __fspath__(self):
            return int("1", bas=2)  # pyright: ignore[reportCallIssue]

    with pytest.raises(TypeError) as inner:
        snp.read(Strange())
    assert "Did you mean 'format'" not in f"{inner.value}"


def test_functions_stay_what_they_are():
    assert pickle.loads(pickle.dumps(snp.explore)) is snp.explore is explore
    assert pickle.loads(pickle.dumps(SYSTEM)) == SYSTEM
    original = inspect.unwrap(snp.explore)
    assert inspect.signature(snp.explore) == inspect.signature(original)
    assert (snp.explore.__doc__, snp.explore.__module__) == (original.__doc__, original.__module__)
    assert inspect.getsource(snp.explore).startswith("def explore(")
    assert [*inspect.signature(snp.Neuron).parameters] == ["name", "spikes", "rules", "label"]


def test_classes_stay_what_they_are():
    class Base:
        def __init__(self, x):
            self.x = x

    class Model(snp.machine.Explorable, Base):
        pass

    assert Model(3).x == 3
    for value in callables().values():
        for method in ("__init__", "__new__", "__check_init__"):
            function, layers = vars(value).get(method), 0
            while function is not None:
                layers += getattr(function, "__code__", None) is snp.explore.__code__
                function = getattr(function, "__wrapped__", None)
            assert layers <= 1, value


def test_warnings_name_the_line_of_the_caller(tmp_path):
    twice = snp.Neuron("x", 0, ["a -> a", "a -> a"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        system = snp.SpikingSystem([twice], output="x")
        system.replace(name="again")
        snp.write(system.replace(signed=True), tmp_path / "x.pli", lossy=True)
        snp.read(tmp_path / "x.pli")
    assert {warning.filename for warning in caught} == {__file__}
    assert {warning.category for warning in caught} == {
        snp.ModelWarning,
        snp.WriteWarning,
        snp.ReadWarning,
    }


@pytest.fixture
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some calls write files
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.usefixtures("_elsewhere")
def test_random_constructors():
    """Hardly any of them compiles a program."""
    classes = [path for path, value in callables().items() if inspect.isclass(value)]
    assert list(outcomes(range(200), classes)) == []


@pytest.mark.slow
@pytest.mark.usefixtures("_elsewhere")
def test_random_calls():
    assert list(outcomes(range(many(1000, part=4)))) == []


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: snp.growth(None), "growth: `graph` is None. Pass"),
        (lambda: snp.SpikingSystem(3), "`neurons` is 3. Pass `Sequence[Neuron]`."),
        (lambda: snp.SpikingSystem([], input=3), "`input` is 3. Pass"),
        (lambda: snp.read(3), "read: `path` is 3. Pass a str or `PathLike[str]`."),
        (lambda: snp.proliferation.Bins("x", 3), "`lowest` is 'x'. Pass a float."),
        (lambda: snp.learn.cross_entropy((), 1), "`scores` is of the type tuple. Pass an array"),
        (lambda: snp.sleptsov.flat_size([1]), "`high` is of the type list. Pass `HighNet"),
        (lambda: snp.lower(snp.Neuron), "`model` is"),
        (
            lambda: snp.run(SYSTEM, progress=str),
            "run: `progress` is the class str. Pass `Callable[[int, int], N",
        ),
        (
            lambda: snp.run(SYSTEM, progress=lambda: None),
            "run: `progress` is of the type function. Pass `Callable",
        ),
        (lambda: reference.family("x", lambda n: 1, 3, 4), "family: `first` is 'x'. Pass a float"),
    ],
)
def test_sentence(call, message):
    with pytest.raises(TypeError) as error:
        call()
    assert message in f"{error.value}"
    assert "\n" not in f"{error.value}"


@pytest.mark.parametrize(
    "call",
    [
        lambda: reference.distribution(("a", "b")),
        lambda: reference.density(("norml", 1, 2)),
        lambda: reference.drawing((), random.Random(0)),
    ],
)
def test_laws_of_the_reference(call):
    with pytest.raises(ValueError, match='`law` is .*. Pass "'):
        call()


def test_errors_of_callbacks_stay_what_they_are():
    class Stop(RuntimeError):
        pass

    def progress(*_):
        raise KeyError("mine")

    def stop(*_):
        raise Stop("mine")

    def overflow(*_):
        raise OverflowError("mine")

    with pytest.raises(KeyError, match="mine"):
        reference.family(0, progress, 1, 3)
    with pytest.raises(Stop, match=r"^mine$"):  # a list is not quite what the annotation says
        learn.replay(SYSTEM, [[1]], steps=1, progress=stop)
    with pytest.raises(OverflowError, match=r"^mine$"):  # a number is large, but has no part in it
        snp.check(SYSTEM, overflow, max_configurations=100_000)


def test_intended_assertions_stay_what_they_are(monkeypatch):
    problem = "step 1: layer 0 differs"
    layer = learn.SpikingLayer(1, 1, key=jax.random.key(0), steps=1, guard=1)
    module = sys.modules["snpjax.learn.verify"]
    monkeypatch.setattr(module, "to_system", lambda *_, **__: SYSTEM)  # nothing is compiled
    monkeypatch.setattr(module, "replay", lambda *_, **__: None)
    monkeypatch.setattr(learn.Sequential, "runs", lambda *_, **__: None)
    monkeypatch.setattr(module, "_first_difference", lambda *_: problem)
    with pytest.raises(AssertionError, match=problem):
        learn.verify(layer, [[1]])


def test_articles_in_messages():
    words = ["int", "Execution", "Neuron", "UniformChoice"]
    assert [with_article(x).split()[0] for x in words] == ["an", "an", "a", "a"]
    assert with_article("int", "A") == "An int"
