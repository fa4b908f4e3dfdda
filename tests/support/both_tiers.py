"""A plugin: every program that `snpjax` evaluates before it is compiled is also compiled, and both
must give the same bits. `pytest -p tests.support.both_tiers`."""

import time

import jax
import jax.random as jr
import numpy as np

from snpjax._tiered import programs


compared = 0

# Seconds of one evaluation, and of all of a program: what takes longer is no longer compared.
_AT_ONCE, _TOGETHER = 1.0, 3.0


class BothTiers(programs.TracedProgram):
    """A program that is never compiled in a thread, and evaluates beside the compiled one."""

    def evaluated(self, leaves):
        global compared
        self.patience = np.inf
        if self._seconds > _TOGETHER:
            raise programs._Compiled
        own = super().evaluated(leaves)
        compared += 1
        return own

    def _tick(self):
        if time.thread_time() - self._began > _AT_ONCE:
            raise programs._Compiled


def pytest_configure(config):
    del config
    evaluate = programs.Tiered.__call__

    def both(self, *args, **kwargs):
        before = compared
        own = evaluate(self, *args, **kwargs)
        if compared > before:
            assert_same(self.__name__, own, self.jitted(*args, **kwargs))
        return own

    programs.TracedProgram = BothTiers
    programs.Tiered.__call__ = both


def assert_same(name, own, compiled):
    assert jax.tree.structure(own) == jax.tree.structure(compiled), name
    theirs = jax.tree.leaves(compiled)
    for (path, x), y in zip(jax.tree_util.tree_leaves_with_path(own), theirs, strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape), (name, path)
        if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
            x, y = jr.key_data(x), jr.key_data(y)
        assert np.array_equal(x, y), (name, jax.tree_util.keystr(path), x, y)


def pytest_sessionfinish(session):
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["compared"] = compared
    elif not compared and not session.exitstatus:
        session.exitstatus = 1  # nothing was tested


def pytest_testnodedown(node):
    """A worker of several has ended."""
    global compared
    compared += node.workeroutput["compared"]


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"{compared:,} evaluations were compared with compiled programs")
