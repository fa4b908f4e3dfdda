"""Programs that answer before they are compiled: their first calls are evaluated with NumPy, and
those that take long are compiled meanwhile, in a thread of their own."""

import contextlib
import functools
import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.core import Tracer

from .._xla import require_addresses
from .interpreter import Interpreted
from .rule import NotInterpretable, as_numpy, is_key, words_of_key


T = TypeVar("T")

#: Seconds of evaluation after which a program is compiled: about a third of what that takes. They
#: are those of the thread: beside other work the compiler is slower, too.
PATIENCE = 0.3
# A program of at most `_SMALL` equations compiles in 30 ms: after `_MANY` evaluations, it is.
_SMALL, _MANY = 50, 100
# A program whose results have more elements is compiled at once, and one with arguments that large
# on an accelerator, from where they would have to be moved.
_MOST_ELEMENTS = 2**26
_MOST_MOVED = 2**20  # bytes
_MOST_PROGRAMS = 256  # of one function
_THREAD = "snpjax-compile"


def tiered(
    *, static_argnames: tuple[str, ...] = (), donate_argnames: tuple[str, ...] = ()
) -> Callable[[Callable[..., T]], "Tiered[T]"]:
    """`jax.jit` of a function that is called from the host, whose first calls do not wait for the
    compiler. Static arguments are passed by keyword."""

    def decorate(function: Callable[..., T]) -> Tiered[T]:
        return Tiered(function, static_argnames, donate_argnames)

    return decorate


class Tiered(Generic[T]):
    """See `tiered`."""

    def __init__(
        self, function: Callable[..., T], static: tuple[str, ...], donated: tuple[str, ...]
    ):
        functools.update_wrapper(self, function)
        self.jitted = jax.jit(function, static_argnames=static, donate_argnames=donated)
        self._static = static
        self._programs: dict[Any, TracedProgram] = {}
        #: Outlines of arguments whose program is compiled. Without them a short run takes 1.18
        #: times as long, most of which is to find its key (2 cores, jax 0.10.2, 2026-11).
        self._compiled: set[Any] = set()

    def __call__(self, *args: Any, **kwargs: Any) -> T:
        if PATIENCE == 0 or jax.config.jax_disable_jit:  # pyright: ignore
            return self.jitted(*args, **kwargs)
        outline: Any = tuple(map(_outline, args)), tuple(kwargs.items())
        if isinstance(outline[0][0], type):
            outline = id(args[0]), outline
        if outline in self._compiled:
            return self.jitted(*args, **kwargs)
        static = {name: kwargs[name] for name in self._static if name in kwargs}
        assert kwargs.keys() == static.keys(), "arrays are passed by position"
        leaves, tree = jax.tree.flatten(args)
        if any(isinstance(x, Tracer) for x in leaves):
            return self.jitted(*args, **kwargs)
        if _may_be_moved(leaves):
            key = tree, tuple(map(jax.typeof, leaves)), tuple(static.items()), _setting()
            program = self._programs.pop(key, None)
            if program is None:
                program = TracedProgram(self.jitted.trace(*args, **kwargs))
                if len(self._programs) >= _MOST_PROGRAMS:
                    del self._programs[next(iter(self._programs))]
            self._programs[key] = program  # as the last one used
            if not program.is_compiled:
                try:
                    return program.evaluated(leaves)
                except _Compiled:
                    if not program.is_compiled:
                        require_addresses()
                    program.drop()
        if len(self._compiled) >= _MOST_PROGRAMS:
            self._compiled.clear()
        self._compiled.add(outline)
        return self.jitted(*args, **kwargs)


def _outline(x: Any) -> Any:
    """What nearly always tells arguments of different types apart, and is found at once; where it
    does not, a program is compiled that might have been evaluated first."""
    if isinstance(x, tuple):
        return tuple(map(_outline, x))
    return getattr(x, "shape", None) or type(x)


class _Compiled(Exception):
    """The compiled program is ready, or is required."""


class TracedProgram:
    """A function traced for arguments of some types."""

    def __init__(self, traced: Any):
        self.is_compiled = False
        self.patience = PATIENCE
        self._traced: Any = traced
        self._tree = traced.out_tree
        self._thread: threading.Thread | None = None
        self._seconds = self._began = 0.0
        self._evaluations = 0
        self._interpreted: Interpreted | None = None
        if any(_is_float(aval) for aval in traced.jaxpr.out_avals):
            return  # sums of floats depend on their order
        try:
            made = Interpreted(traced.jaxpr, self._tick)
        except NotInterpretable:
            return
        if made.num_elements <= _MOST_ELEMENTS:
            self._interpreted = made

    def evaluated(self, leaves: list[Any]) -> Any:
        """The results, as the compiled program gives them. **Raises:** `_Compiled`."""
        interpreted, traced = self._interpreted, self._traced  # another thread may drop them
        if interpreted is None or traced is None:
            raise _Compiled
        self._began = time.thread_time()
        jaxpr = traced.jaxpr
        given = [as_numpy(x, aval) for x, aval in zip(leaves, jaxpr.in_avals, strict=True)]
        with np.errstate(all="ignore"):
            found = interpreted(*given)
        outs = list(zip(found, jaxpr.out_avals, strict=True))
        found = jax.device_put([_words(x, aval) for x, aval in outs])
        found = [_as_keys(x, aval) for x, (_, aval) in zip(found, outs, strict=True)]
        self._seconds += time.thread_time() - self._began
        self._began = time.thread_time()
        self._evaluations += 1
        is_used_often = interpreted.num_equations <= _SMALL and self._evaluations > _MANY
        is_long = self._seconds > self.patience or is_used_often
        if is_long and not self.is_compiled:
            self._compile()
        return jax.tree.unflatten(self._tree, found)

    def drop(self) -> None:
        """Keep nothing: from now on there is the compiled program."""
        self.is_compiled = True
        self._interpreted = self._traced = self._thread = None

    def _tick(self) -> None:
        if self.is_compiled:
            raise _Compiled
        if self._seconds + time.thread_time() - self._began > self.patience:
            self._compile()

    def _compile(self) -> None:
        """Begin to, unless it is running already."""
        traced, setting = self._traced, _setting()
        # The thread of a process that was forked meanwhile is no longer alive.
        if traced is None or (self._thread is not None and self._thread.is_alive()):
            return
        require_addresses()

        def work() -> None:
            wide, device = setting
            # What fails does so again where the caller sees it.
            with contextlib.suppress(Exception), jax.enable_x64(wide), jax.default_device(device):
                traced.lower().compile()  # which `jitted` finds
            self.is_compiled = True

        self._thread = threading.Thread(target=work, name=_THREAD)
        with contextlib.suppress(RuntimeError):  # no memory for one more
            self._thread.start()


def _setting() -> tuple[bool, Any]:
    """What a program depends on besides its arguments."""
    config: Any = jax.config
    device = config.jax_default_device
    device = jax.local_devices(backend=device)[0] if isinstance(device, str) else device
    return config.jax_enable_x64, device


def _may_be_moved(leaves: list[Any]) -> bool:
    """Whether arguments are on the default device, and no large ones on an accelerator."""
    is_cpu = jax.default_backend() == "cpu"
    default = _setting()[1] or jax.local_devices()[0]
    for x in leaves:
        if isinstance(x, jax.Array) and (
            x.devices() != {default} or not (is_cpu or x.nbytes <= _MOST_MOVED)
        ):
            return False
    return True


def _is_float(aval: Any) -> bool:
    return jnp.issubdtype(aval.dtype, np.inexact)


def _words(x: Any, aval: Any) -> Any:
    return words_of_key(x) if is_key(aval) else x


def _as_keys(x: Any, aval: Any) -> Any:
    return jr.wrap_key_data(x, impl="threefry2x32") if is_key(aval) else x
