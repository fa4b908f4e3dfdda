"""Which arrays of a model an optimiser changes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import equinox as eqx
import jax

from .layers.norm import Drive
from .relaxed import RelaxedSystem
from .synapses.abstract import AbstractSynapses


ModelT = TypeVar("ModelT")

#: The fields of a `RelaxedSystem` that can be trained.
PARAMETERS = ("low", "high", "consume", "produce", "initial", "synapses", "plastic")


def trainable(model: ModelT, /, *, parameters: Sequence[str] = ("synapses",)) -> ModelT:
    """Select what is trained, as a filter for `eqx.partition`: by default the weights of all
    relaxed systems and synapses in the model, and all arrays of floats outside of them but running
    statistics.

    ```python
    trained, rest = eqx.partition(model, learn.trainable(model))
    ```

    **Arguments:**

    - `model`: a relaxed system, a layer, a network, or any pytree that contains some.
    - `parameters`: the fields of each relaxed system that are trained, of `low`, `high`,
      `consume`, `produce`, `initial`, `synapses` and `plastic`. The weights and delays of layers
      are trained with `synapses`, their biases and normalisations always.

    **Returns:** a pytree with the structure of `model`, whose leaves are booleans.

    **Raises:** `ValueError` for an unknown parameter.
    """
    unknown = [name for name in parameters if name not in PARAMETERS]
    if unknown:
        raise ValueError(
            f"There is no parameter {unknown[0]!r}. Choose among {', '.join(PARAMETERS)}."
        )

    def selected(node: Any) -> Any:
        is_fixed = isinstance(node, AbstractSynapses) and "synapses" not in parameters
        if is_fixed or isinstance(node, Drive):
            return jax.tree.map(lambda _: False, node)
        if not isinstance(node, RelaxedSystem):
            return jax.tree.map(eqx.is_inexact_array, node)
        chosen = {
            name: jax.tree.map(eqx.is_inexact_array, getattr(node, name)) for name in parameters
        }
        return replace(jax.tree.map(lambda _: False, node), **chosen)

    return jax.tree.map(
        selected,
        model,
        is_leaf=lambda node: isinstance(node, RelaxedSystem | AbstractSynapses | Drive),
    )


def selected_by(where: Any, model: ModelT) -> ModelT:
    """The filter that `where` means: `None` for the default, a filter, or a function that maps the
    model to the part of it that is trained."""
    if where is None:
        return trainable(model)
    if isinstance(where, type(model)):
        return where
    falses = jax.tree.map(lambda _: False, model)
    chosen = eqx.tree_at(where, falses, replace_fn=lambda part: jax.tree.map(lambda _: True, part))
    return jax.tree.map(lambda is_one, x: is_one and eqx.is_inexact_array(x), chosen, model)
