"""Programs compiled for an H200 without a GPU, and what they start."""

import re
from functools import cache
from importlib.util import find_spec
from typing import Any

import jax
import numpy as np
import pytest
from jax.experimental import topologies
from jax.sharding import (
    AbstractDevice,
    AbstractMesh,
    AxisType,
    SingleDeviceSharding,
    use_abstract_mesh,
)

from snpjax._tiered.programs import Tiered


#: Marks of a module whose tests compile for a GPU.
MARKS = [
    pytest.mark.skipif(
        find_spec("jax_cuda13_plugin") is None,
        reason="compiling for a GPU needs jax-cuda13-plugin, jax-cuda13-pjrt, nvidia-cuda-nvcc "
        "and nvidia-nvvm",
    ),
    pytest.mark.filterwarnings("default:The Pallas Triton backend:DeprecationWarning"),
]

H200 = """
gpu_device_info {
  threads_per_block_limit: 1024  threads_per_warp: 32  shared_memory_per_block: 49152
  shared_memory_per_core: 233472  threads_per_core_limit: 2048  core_count: 132
  fpus_per_core: 128  block_dim_limit_x: 2147483647  block_dim_limit_y: 65535
  block_dim_limit_z: 65535  memory_bandwidth: 4800000000000  l2_cache_size: 62914560
  clock_rate_ghz: 1.98  device_memory_size: 150000000000  shared_memory_per_block_optin: 232448
  cuda_compute_capability { major: 9 }
  registers_per_core_limit: 65536  registers_per_block_limit: 65536
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 12 }
device_description_str: "NVIDIA H200"
"""

_MESH = AbstractMesh(
    (1,), ("device",), AxisType.Auto, abstract_device=AbstractDevice("NVIDIA H200", 132, "gpu")
)

#: Instructions of a compiled program that start no kernel.
_FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast"}


@cache
def _h200() -> SingleDeviceSharding:
    try:
        h200 = topologies.get_topology_desc("h200", "cuda", target_config=H200, topology="1x1x1")
    except NotImplementedError:
        pytest.skip("JAX finds no CUDA driver here (compiling without one needs JAX_PLATFORMS=cpu)")
    return SingleDeviceSharding(h200.devices[0])


def compiled(function: Any, *given: Any, **static: Any) -> str:
    """A jitted function of these arguments for an H200, as XLA prints it."""
    shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=_h200()), given)
    jitted = function.jitted if isinstance(function, Tiered) else function
    with use_abstract_mesh(_MESH):  # kernels ask it for the device (jax 0.11)
        lowered = jitted.trace(*shapes, **static).lower(lowering_platforms=("cuda",))
    text = lowered.compile().as_text()
    assert text is not None
    return text


def started(text: str, computation: str) -> tuple[int, int]:
    """The kernels that a computation of a compiled program starts, and the bytes that they read and
    write at most."""
    block = re.search(rf"^{computation} .*?^}}", text, re.M | re.S)
    assert block is not None
    kernels = nbytes = 0
    sizes: dict[str, int] = {}
    for name, shape, operation, rest in re.findall(
        r"^  (?:ROOT )?(%\S+) = (.*?) ([a-z-]+)\((.*)$", block[0], re.M
    ):
        sizes[name] = sum(_nbytes(*one) for one in re.findall(r"([a-z]+\d*)\[([\d,]*)\]", shape))
        if operation not in _FREE:
            kernels += 1
            nbytes += sizes[name]
            nbytes += sum(sizes[used] for used in re.findall(r"%[\w.-]+", rest.split(")")[0]))
    return kernels, nbytes


def _nbytes(dtype: str, shape: str) -> int:
    size = {"pred": 8}.get(dtype) or int(re.sub(r"\D", "", dtype))
    return int(np.prod([int(x) for x in shape.split(",") if x], initial=1)) * size // 8
