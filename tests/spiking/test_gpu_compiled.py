"""What a run becomes on an H200: it is compiled for one here, without a GPU. Kernels and bytes are
held, so that more of them do not go unnoticed."""

import re
from importlib.util import find_spec
from unittest import mock

import jax
import numpy as np
import pytest
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding

import snpjax as snp
from snpjax.driver import _advance
from snpjax.spiking.step import gpu_loop
from snpjax.spiking.step.step import SpikingMachine
from tests.spiking.test_population import sorter


pytestmark = [
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

#: Instructions of a compiled program that are no kernel.
_FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast"}


@pytest.fixture(scope="module")
def h200() -> SingleDeviceSharding:
    found = topologies.get_topology_desc("h200", "cuda", target_config=H200, topology="1x1x1")
    return SingleDeviceSharding(found.devices[0])


def compiled(sharding: SingleDeviceSharding, choice: snp.AbstractChoice, unroll: int) -> str:
    """The call of `run` that makes the steps of sort 500, as XLA prints it."""
    with (
        mock.patch("jax.default_backend", lambda: "gpu"),
        mock.patch.object(gpu_loop, "num_cores", lambda: 132),
    ):
        machine = snp.lower(sorter(np.arange(1, 501))).machine_for(502)
        assert isinstance(machine, SpikingMachine)
        given = (machine, choice, machine.init(), np.asarray([0, 502], np.int32))
        shapes = jax.tree.map(
            lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding), given
        )
        traced = _advance.trace(
            *shapes, *3 * [None], longest=512, save=snp.SAVE_FINAL, grow=False, unroll=unroll
        )
        text = traced.lower(lowering_platforms=("cuda",)).compile().as_text()
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


def test_all_steps_of_a_run_are_one_kernel(h200):
    """Some more prepare it and pack the result, whatever the number of steps."""
    text = compiled(h200, snp.FirstChoice(), unroll=32)
    assert " while(" not in text
    assert re.findall(r'custom_call_target="(.*?)"', text) == ["__gpu$xla.gpu.triton"]
    kernels, _ = started(text, "ENTRY")
    assert kernels <= 14
    # What the programs exchange in two steps: a bit of each neuron, and whether one is active.
    exchanged = re.search(r"= \(s32\[(\d+)\]", text)
    assert exchanged is not None
    assert int(exchanged[1]) == 2 * (1536 // 16 + 12)


def test_a_random_step_is_few_kernels(h200):
    """Which the kernel of a run does not make."""
    text = compiled(h200, snp.UniformChoice(jax.random.key(0)), unroll=8)
    body = re.search(r" while\(.*body=(%[\w.-]+)", text)
    assert body is not None
    kernels, nbytes = started(text, body[1])
    assert kernels <= 7 * 8
    assert nbytes <= 440_000 * 8  # 295,000 are the matrix of bits
