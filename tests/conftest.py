import os
from pathlib import Path

import equinox as eqx
import jax
import jax.random as jr
import pytest
from hypothesis import settings


jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")
# Compiling takes two thirds of the time; the workers and later runs share what was compiled.
_COMPILED = Path(__file__).parents[1] / ".pytest_cache" / "compiled"
jax.config.update("jax_compilation_cache_dir", str(_COMPILED))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)

# Compilation makes Hypothesis's deadline of 200 ms meaningless.
settings.register_profile("dev", deadline=None, max_examples=40, print_blob=True)
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


@pytest.fixture
def getkey():
    """Fresh typed keys; the seed is printed when the test fails, and PYTEST_SEED pins it."""
    return eqx.internal.GetKey(int(os.environ.get("PYTEST_SEED", "0")) or None)


@pytest.fixture
def key():
    return jr.key(0)
