"""Commands and packages import little, so that they start quickly."""

from tests.support.processes import environment, python


def test_what_is_not_imported():
    """One process imports more and more. Commands of the cache, and help texts, need no JAX."""
    code = """
import sys

def loaded(when, *names):
    assert not {*sys.modules} & {*names}, (when, {*sys.modules} & {*names})

def command(*arguments):
    sys.argv[1:] = arguments
    try:
        app()
    except SystemExit as end:
        assert not end.code, arguments
    loaded(arguments, "jax")

import snpjax, snpjax_formats
dir(snpjax), dir(snpjax_formats)
loaded("import", "jax", "numpy", "scipy")
from snpjax.cli.app import app
for arguments in ("--help",), ("cache", "info"), ("cache", "info", "--help"), ("cache", "clear"):
    command(*arguments)
snpjax.run
loaded("run", "scipy.sparse", "lark", "networkx", "snpjax.check")
assert "jax" in sys.modules
print("the end")
"""
    without = "SNPJAX_COMPILATION_CACHE", "JAX_COMPILATION_CACHE_DIR"
    env = environment(without=without, SNPJAX_COMPILATION_CACHE="/nonexistent")
    assert python("-c", code, env=env).endswith("the end\n")
