"""Layers and networks as modules of Flax: `flax.linen` and `flax.nnx`.

Needs the extra `flax`. Import it by its name, `from snpjax.learn import flax`.
"""

from importlib.util import find_spec

from snpjax_formats.arguments import explain_arguments

from ..._text.optional import installing


if find_spec("flax") is None:
    raise ImportError(f"flax is not installed ({installing('flax')})")

from .linen import Linen as Linen
from .nnx import NNX as NNX, Constant as Constant


explain_arguments(__name__)
