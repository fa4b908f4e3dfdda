"""How many programs XLA compiles before a first call answers."""

import subprocess
import sys

import pytest

from tests.support.helpers import REPOSITORY


#: Prints the names of the programs that a call compiles.
_COMPILED = """
import logging
import jax
import snpjax as snp

class Compiled(logging.Handler):
    def emit(self, record):
        message = record.getMessage()
        if message.startswith("Finished XLA compilation of "):
            print("compiled", message.split()[4])

system = snp.read("examples/natural_numbers.pli")
key = jax.random.key(0)
jax.config.update("jax_log_compiles", True)
logging.getLogger("jax").addHandler(Compiled())
"""

CALLS = {
    "snp.run(system, max_steps=100, choice=snp.UniformChoice(key))": 2,
    "snp.run(system, max_steps=100, choice=snp.UniformChoice(key), paths=100)": 3,
    "snp.explore(system)": 8,
    "snp.run(snp.read_net('examples/half.lsn'))": 2,
}


@pytest.mark.parametrize("call, most", CALLS.items())
def test_a_first_call_compiles_few_programs(call, most):
    command = [sys.executable, "-c", _COMPILED + call]
    out = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    compiled = [line for line in out.stdout.splitlines() if line.startswith("compiled")]
    assert compiled, "JAX says in other words what it compiles"
    assert len(compiled) <= most, compiled
