"""Equinox modules as modules of `flax.linen`."""

from typing import Any

import equinox as eqx
import flax.linen as nn
import jax.random as jr

from .leaves import Selection, Source, leaves_of, made


class Linen(nn.Module):
    """A layer or network as a module of `flax.linen`.

    ```python
    module = learn.flax.Linen(lambda key: learn.SpikingLayer(3, 4, key=key, steps=8))
    variables = module.init(jax.random.key(0), train)
    sent = module.apply(variables, train)
    ```

    The weights are in the collection `params`, one entry for each array; all other arrays of the
    module, such as the guards of its rules, are in the collection `constants`.

    - `source`: an equinox module, which gives the initial parameters; or a function that makes one
      from a key, where `init` draws them with the generator `params`. It is also called in
      each compilation, for the shapes.
    - `where`: selects what is trained, as in `fit`; by default `trainable`.
    """

    source: Source
    where: Selection | None = None

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the equinox module."""
        return self.module()(*arguments, **options)

    @nn.compact
    def module(self) -> Any:
        """The equinox module with the present parameters, `bound.module()` of a bound module or
        `module.apply(variables, method="module")`; for its other methods, and for export."""
        if self.is_initializing():
            found = leaves_of(made(self.source, self.make_rng("params")), self.where)
        else:
            # Only shapes: which of them are trained is not known, but the variables exist.
            found = leaves_of(eqx.filter_eval_shape(made, self.source, jr.key(0)), None)
        arrays = {}
        for name, x in {**found.trained, **found.constants}.items():
            if name in found.trained or self.has_variable("params", name):
                arrays[name] = self.param(name, lambda _, x=x: x)
            else:
                arrays[name] = self.variable("constants", name, lambda x=x: x).value
        return found.structure.module(arrays)
