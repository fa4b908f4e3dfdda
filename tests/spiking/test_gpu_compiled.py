"""What a run becomes on an H200: it is compiled for one here, without a GPU. Kernels and bytes are
held, so that more of them do not go unnoticed."""

import re
from unittest import mock

import jax
import numpy as np

import snpjax as snp
from snpjax.advance import advance
from snpjax.spiking.step import gpu_loop
from snpjax.spiking.step.step import SpikingMachine
from tests.spiking.test_population import sorter
from tests.support.h200 import MARKS, compiled, started


pytestmark = MARKS


def run_of_sort(choice: snp.AbstractChoice, unroll: int) -> str:
    """The call of `run` that makes the steps of sort 500."""
    with (
        mock.patch("jax.default_backend", lambda: "gpu"),
        mock.patch.object(gpu_loop, "num_cores", lambda: 132),
    ):
        machine = snp.lower(sorter(np.arange(1, 501))).machine_for(502)
        assert isinstance(machine, SpikingMachine)
        given = (machine, choice, machine.init(), np.asarray([0, 502], np.int32), *3 * [None])
        options = {
            "longest": 512,
            "save": snp.SAVE_FINAL,
            "grow": False,
            "unroll": unroll,
            "lean": False,
        }
        return compiled(advance, *given, **options)


def test_all_steps_of_a_run_are_one_kernel():
    """Some more prepare it and pack the result, whatever the number of steps."""
    text = run_of_sort(snp.FirstChoice(), unroll=32)
    assert " while(" not in text
    assert re.findall(r'custom_call_target="(.*?)"', text) == ["__gpu$xla.gpu.triton"]
    kernels, _ = started(text, "ENTRY")
    assert kernels <= 14
    # What the programs exchange in two steps: a bit of each neuron, and whether one is active.
    exchanged = re.search(r"= \(s32\[(\d+)\]", text)
    assert exchanged is not None
    assert int(exchanged[1]) == 2 * (1536 // 16 + 12)


def test_a_random_step_is_few_kernels():
    """Which the kernel of a run does not make."""
    text = run_of_sort(snp.UniformChoice(jax.random.key(0)), unroll=8)
    body = re.search(r" while\(.*body=(%[\w.-]+)", text)
    assert body is not None
    kernels, nbytes = started(text, body[1])
    assert kernels <= 7 * 8
    assert nbytes <= 440_000 * 8  # 295,000 are the matrix of bits
