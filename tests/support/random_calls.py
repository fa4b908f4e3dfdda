"""Random calls of public functions and constructors with wrong kinds of models and arguments."""

import inspect
import random
import re
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cache
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

import snpjax as snp
from snpjax import numerical, proliferation, rate
from snpjax_formats.annotations import fits
from tests.support.public_names import public_names, value_of


#: They start servers or processes, change the state of all later calls, or measure the machine.
_LEFT_OUT = re.compile(
    r"\.(view|PageServer|initialize|use_compilation_cache|register_for_export|gather|measure"
    r"|check_free|limits_here|Measured|read_timings)$"
)
#: Of errors that are about the code inside rather than about an argument.
_INTERNAL = (AttributeError, LookupError, AssertionError, RecursionError, ArithmeticError)


@cache
def callables() -> dict[str, Callable[..., Any]]:
    """Public functions, and classes that can be constructed."""
    paths = [path for path in public_names().values() if not _LEFT_OUT.search(path)]
    return {path: cast(Any, value_of(path)) for path in paths if _is_callable(value_of(path))}


def _is_callable(value: object) -> bool:
    if inspect.isclass(value):
        is_odd = issubclass(value, BaseException | Enum | dict) or inspect.isabstract(value)
        is_protocol = getattr(value, "_is_protocol", False)
        return value.__module__.startswith("snpjax") and not (is_odd or is_protocol)
    return inspect.isfunction(value)


def _ignore(*_: Any, **__: Any) -> None:
    pass


@cache
def values() -> list[Any]:
    """Models of every kind, and values that are wrong nearly everywhere. No value is compiled."""
    neurons = [snp.Neuron("a", 2, ["a^2 -> a"]), snp.Neuron("b", 0, ["a -> 0"])]
    system = snp.SpikingSystem(neurons, [("a", "b")], output="b")
    net = snp.sleptsov.net_of_text("t: 2x -> y", {"x": 2})
    population = snp.PopulationSystem([snp.Population("p", 3, rules=["a -> a"])], [])
    cells = proliferation.ProliferationModel(
        proliferation.Histogram([8.0, 16.0], [5, 9]),
        [proliferation.CellType("c", 1.0, proliferation.Normal(40.0, 12.0))],
        duration=50.0,
        phi_min=4.0,
    )
    return [
        system,
        population,
        net,
        *neurons,
        snp.Rule("a", 1),
        snp.Synapse("a", "b"),
        rate.RateNetwork([rate.RatePopulation("r", 2, rate.leaky())], []),
        numerical.NumericalSystem([numerical.NumericalNeuron("n", {"x": 1.0}, [])], []),
        cells,
        cells.initial,
        cells.types,
        snp.FirstChoice(),
        snp.UniformChoice(jax.random.key(0)),
        snp.SAVE_ALL,
        jax.random.key(0),
        None,
        True,
        "",
        "a",
        "no such file.pli",
        "a{",
        "always a <= 1",
        b"a",
        0,
        1,
        2,
        -1,
        2**40,
        2**63,
        -(2**70),
        0.5,
        -1.5,
        float("nan"),
        float("inf"),
        1j,
        np.int8(3),
        np.float64(0.5),
        (),
        [],
        {},
        set(),
        ("a", "b"),
        ["a"],
        [1, 2],
        (0.5, -1.0),
        [("a", "b")],
        [(0, 1)],
        {"a": 1},
        {"z": -1},
        {1: "a"},
        np.zeros(0),
        np.zeros((2, 2), np.int32),
        np.array([1.5, np.nan]),
        np.array(["a"]),
        jnp.arange(2),
        jnp.zeros((1, 2, 3)),
        float,
        snp.SpikingSystem,
        object(),
        _ignore,
        range(3),
        iter([1]),
    ]


def draw_call(seed: int, among: list[str] | None = None) -> tuple[str, dict[str, Any], list[Any]]:
    """A function's path, its keyword arguments, and those that are positional."""
    numbers = random.Random(seed)
    path = numbers.choice(among or [*callables()])
    function = callables()[path]
    positional, keywords = [], {}
    scope = getattr(inspect.unwrap(getattr(function, "__init__", function)), "__globals__", {})
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        is_needed = parameter.default is parameter.empty
        if not is_needed and numbers.random() < 0.7:
            continue
        pool = values()
        if numbers.random() < 0.6:
            pool = [x for x in pool if fits(x, parameter.annotation, scope)] or pool
        value = numbers.choice(pool)
        if parameter.kind is parameter.POSITIONAL_ONLY:
            positional.append(value)
        else:
            keywords[parameter.name] = value
    return path, keywords, positional


def complaint_about(error: BaseException, path: str, arguments: list[Any]) -> str | None:
    """What is wrong with an error that a wrong call ended in."""
    message = f"{error}"
    if isinstance(error, _INTERNAL):
        return "an error from inside"
    if not message or "Traceback" in message:
        return "no sentence"
    subjects = ["query", "file", "directory", "missing", "unexpected", "is not installed"]
    subjects += [x.rstrip("s") or x for x in inspect.signature(callables()[path]).parameters]
    subjects += [
        text for x in arguments for text in (type(x).__name__, f"{x!r}"[:20], f"{x}:"[:20])
    ]
    is_named = re.search(rf"(?i)(?<!\w)({'|'.join(map(re.escape, subjects))})", message)
    return None if is_named else "no argument is named"


def outcomes(seeds: range, among: list[str] | None = None) -> Iterator[tuple[int, str, str]]:
    """Make calls. **Yields:** the seed, the call, and what is wrong with its end."""
    for seed in seeds:
        path, keywords, positional = draw_call(seed, among)
        try:
            callables()[path](*positional, **keywords)
        except Exception as error:
            complaint = complaint_about(error, path, [*positional, *keywords.values()])
            if complaint:
                arguments = ", ".join(
                    [*map(_short, positional), *(f"{k}={_short(v)}" for k, v in keywords.items())]
                )
                yield seed, f"{path}({arguments})", f"{complaint}: {type(error).__name__}: {error}"


def _short(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) < 60 else f"{text[:57]}..."
