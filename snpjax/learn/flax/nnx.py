"""Equinox modules as modules of `flax.nnx`."""

from typing import Any

import equinox as eqx
from flax import nnx

from .leaves import Selection, Source, leaves_of


class Constant(nnx.Variable):
    """An array that is not trained."""


class NNX(nnx.Module):
    """A layer or network as a module of `flax.nnx`.

    ```python
    module = learn.flax.NNX(
        lambda key: learn.SpikingLayer(3, 4, key=key, steps=8), rngs=nnx.Rngs(0)
    )
    optimiser = nnx.Optimizer(module, optax.adam(0.01), wrt=nnx.Param)
    ```

    Wrap also the layers that are attributes of another nnx module: nnx takes gradients in its own
    variables only. It refuses an equinox module as a plain attribute, and treats the arrays of one
    that is passed through `nnx.data` as constants.

    - `trained`: a `nnx.Param` for each array that is trained.
    - `constants`: a `Constant` for each other array, such as the guards of its rules.
    """

    def __init__(
        self,
        source: Source,
        /,
        *,
        rngs: nnx.Rngs | None = None,
        where: Selection | None = None,
    ):
        """**Arguments:**

        - `source`: an equinox module, which gives the initial parameters; or a function that makes
          one from a key.
        - `rngs`: gives that function its key, from the stream `params`.
        - `where`: selects what is trained, as in `fit`; by default `trainable`.

        **Raises:** `ValueError` for a function without `rngs`.
        """
        if isinstance(source, eqx.Module):
            module = source
        elif rngs is None:
            raise ValueError("A function draws weights. Give `rngs=nnx.Rngs(0)`.")
        else:
            module = source(rngs.params())
        found = leaves_of(module, where)
        self.trained = nnx.Dict({name: nnx.Param(x) for name, x in found.trained.items()})
        self.constants = nnx.Dict({name: Constant(x) for name, x in found.constants.items()})
        self.structure = nnx.static(found.structure)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the equinox module."""
        return self.module()(*arguments, **options)

    def module(self) -> Any:
        """The equinox module with the present parameters; for its other methods, and for export."""
        variables = {**self.trained, **self.constants}
        return self.structure.module({name: x[...] for name, x in variables.items()})
