"""`lower`, and the lowerings that `run` keeps."""

import contextlib
import difflib
import inspect
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar, Unpack

import jax
import jax.numpy as jnp
from jax.core import Tracer
from jax.extend.core import get_opaque_trace_state
from jax.sharding import Mesh
from jaxtyping import PyTree

from snpjax_formats.articles import kind_of

from ._xla import refuse_fork
from .choice import AbstractChoice, FirstChoice
from .machine import (
    AnySolution,
    Lowered,
    LoweringOptions,
    Model,
    export_of,
    follows,
    paths_told_apart,
)
from .scale.mesh import NEURONS, PATHS, checked_mesh


S = TypeVar("S", bound=AnySolution)
B = TypeVar("B", bound=AnySolution)

T = TypeVar("T")

# At most this many lowerings of a model are kept for a call, and of this many models.
_MOST_KEPT, _MOST_MODELS = 4, 256


def lower(
    model: Model[S, B], /, *, mesh: Mesh | None = None, **options: Unpack[LoweringOptions]
) -> Lowered[S, B]:
    """Lower a model to arrays that can be run any number of times.

    `run` lowers a model by itself and caches the result; call `lower` for inspection
    (`lowered.machine`, `lowered.nbytes`), for `snpjax.simulate`, or to keep the arrays explicitly.

    **Arguments:**

    - `model`: a `SpikingSystem`, or any other `snpjax.machine.Model`.
    - `mesh`: a `jax.sharding.Mesh` with the axis `neurons`, over which the neurons of one system
      are split. Each device holds the rules and the state of its own neurons, and the synapses that
      end there. No result depends on it.
    - `options`: those of `LoweringOptions` that apply to the model: `layout`, `count_dtype`,
      `faithful`, `capacity`, `engine`.

    **Returns:** a `Lowered`, which `run` and `explore` take in place of the model.

    **Raises:** `TypeError` for an option that this kind of model does not take; `NotEnoughMemory`
    for a layout that does not fit in memory; `ValueError` for options that contradict each other.
    """
    check_model(model)
    if isinstance(model, Lowered):
        raise TypeError(
            "`model` is already lowered. Use it as it is, or lower `lowered.model` again."
        )
    given: dict[str, Any] = dict(options)
    if mesh is not None:
        given["mesh"] = checked_mesh("lower", mesh, (NEURONS, PATHS))
    return model.lower(**taken(model, model.lower, "lower", given))


def lowering_of(
    model: Model[S, B] | Lowered[S, B],
    options: dict[str, Any],
    *,
    numbered: bool,
    paths: int,
) -> Lowered[S, B]:
    """The lowering for a run, kept for the next run with the same options. Its `model` is a weak
    reference, which would keep itself alive otherwise."""
    if isinstance(model, Lowered):
        if options:
            raise TypeError(
                f"The model is already lowered, so `{next(iter(options))}` comes too late. "
                "Pass it to `snpjax.lower`."
            )
        if numbered and not model.is_numbered:
            raise ValueError(
                "These choices refer to rules by number, and this lowering merged some. Lower "
                "the model with `faithful=True`."
            )
        return model
    given = {
        **taken(model, model.lower, "run", options),
        "numbered": numbered,
        "paths": max(number for number in paths_told_apart() if number <= paths),
    }

    def fresh() -> Lowered[S, B]:
        lowered = model.lower(**given)
        try:
            return replace(lowered, model=weakref.proxy(model))
        except TypeError:  # without weak references; it is not kept, either
            return lowered

    return kept_of("run", model, given, fresh)


def check_model(model: object) -> None:
    """**Raises:** `TypeError` for an object that cannot be run."""
    if isinstance(model, type) and issubclass(model, Model | Lowered):
        raise TypeError(f"`model` is the class {model.__name__}. Give an object of it.")
    is_known = isinstance(model, Lowered) or follows(model, Model)
    if not (is_known or isinstance(model, Model)):
        methods = ("lower", "solution", "solutions")
        missing = [f"`{name}`" for name in methods if name not in dir(model)]
        if len(missing) < len(methods) and not isinstance(model, str):  # which has `lower`
            raise TypeError(
                f"{kind_of(model, 'A')} cannot be run. Give it {' and '.join(missing)}."
            )
        fix = (
            "Give a system, which `snpjax.read` reads from a file, or a model with `lower`, "
            "`solution` and `solutions`."
        )
        raise TypeError(f"`model` is {kind_of(model)}. {export_of(model, fix)}")


def check_choice(choice: object) -> None:
    """**Raises:** `TypeError` for anything but a choice, with a hint."""
    if isinstance(choice, AbstractChoice):
        return
    if isinstance(choice, type) and issubclass(choice, AbstractChoice):
        arguments = "" if choice is FirstChoice else "..."
        raise TypeError(
            f"`choice` is the class {choice.__name__}. Give an object of it: "
            f"`choice=snp.{choice.__name__}({arguments})`."
        )
    if isinstance(choice, jax.Array) and jnp.issubdtype(choice.dtype, jax.dtypes.prng_key):
        raise TypeError(
            "`choice` is a key. Give a choice that uses it: `choice=snp.UniformChoice(key)`."
        )
    raise TypeError(
        f"`choice` is {choice!r}. Give snp.FirstChoice(), snp.UniformChoice(key), "
        "snp.WeightedChoice(logits, key) or snp.GivenChoices(rules)."
    )


def refuse_tracers(call: str, instead: str, arguments: PyTree) -> None:
    """**Raises:** `TypeError` if a host function is called while JAX traces; `RuntimeError` in a
    process that was forked after JAX was used."""
    refuse_fork(call)
    is_traced = get_opaque_trace_state() != _untraced()
    if is_traced or any(isinstance(x, Tracer) for x in jax.tree.leaves(arguments)):
        raise TypeError(
            f"`snpjax.{call}` works on the host and cannot be traced by `jax.jit`, `vmap` or "
            f"`grad`. Use `snpjax.{instead}` there."
        )


@cache
def _untraced() -> object:
    """The state of JAX where nothing is traced."""
    with jax.ensure_compile_time_eval():
        return get_opaque_trace_state()


def taken(
    model: object, method: Callable[..., Any], call: str, options: dict[str, Any]
) -> dict[str, Any]:
    """The options of `call`, if that method of the model takes them.

    **Raises:** `TypeError` for any other option, with a suggestion.
    """
    if not options:
        return options
    known = _options_of(getattr(method, "__func__", method))
    for name in options:
        if name not in known:
            raise TypeError(_unknown(name, call, type(model).__name__, known))
    return options


@cache
def _options_of(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(name for name in inspect.signature(function).parameters if name not in _OWN)


#: Arguments that `run` passes to `Model.lower` itself, and `explore` to `Explorable.enumerable`.
_OWN = ("self", "numbered", "paths", "saturate", "clock", "at_least")

#: What people call an argument that has another name here.
_MEANT = {
    "seed": "Give a key: `choice=snp.UniformChoice(jax.random.key(seed))`.",
    "key": "Give it to a choice: `choice=snp.UniformChoice(key)`.",
    "steps": "The largest number of steps is `max_steps`.",
    "batch": "The number of runs side by side is `paths`.",
    "batch_size": "The number of runs side by side is `paths`.",
    "mesh": "Its neurons cannot be split: give a mesh whose only axis is `paths`.",
    "dtype": "The type of counts is `count_dtype`.",
}


def _unknown(name: str, call: str, kind: str, known: Sequence[str]) -> str:
    elsewhere = name in LoweringOptions.__annotations__
    found = f"`{call}` of a {kind} takes no `{name}`."
    if name in _MEANT:
        return f"{found} {_MEANT[name]}"
    arguments = known
    if call == "run":
        from .run import RunOptions  # which imports this module

        own = RunOptions.__annotations__.keys() - LoweringOptions.__annotations__.keys()
        arguments = [*known, "paths", "observe", *sorted(own)]
    near = difflib.get_close_matches(name, arguments, 1)
    if near and not elsewhere:
        return f"{found} Did you mean `{near[0]}`?"
    if not known:
        return f"{found} Its lowering takes no options."
    return f"{found} The options of its lowering are {', '.join(f'`{x}`' for x in known)}."


#: A model, and what was made of it, by options.
_kept: OrderedDict[tuple[str, int], tuple[weakref.ref[Any], OrderedDict[Any, Any]]] = OrderedDict()


def kept_of(call: str, model: object, options: dict[str, Any], make: Callable[[], T]) -> T:
    """What `make` makes of a model for a call with these options, kept for the next one with the
    same ones. It should not refer to the model itself, which would stay alive with it."""
    key = (*sorted(options.items()), jax.config.jax_enable_x64)  # pyright: ignore
    number = call, id(model)
    try:
        hash(key)
        reference = weakref.ref(model, lambda _: _kept.pop(number, None))
    except TypeError:  # an option, or a model, that cannot be kept
        return make()
    held = _kept.get(number)
    if held is None or held[0]() is not model:
        held = _kept[number] = reference, OrderedDict()
    of_model = held[1]
    made = of_model.get(key)
    if made is None:
        made = of_model[key] = make()
    with contextlib.suppress(KeyError):  # another thread may have dropped it
        of_model.move_to_end(key)
        _kept.move_to_end(number)
    for kept, most in ((of_model, _MOST_KEPT), (_kept, _MOST_MODELS)):
        if len(kept) > most:
            kept.popitem(last=False)
    return made
