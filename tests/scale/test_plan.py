"""What is planned, and what happens."""

import jax
import numpy as np
import pytest

import snpjax as snp
from snpjax import scale
from snpjax.trajectory import nbytes_of
from snpjax_formats import ELL
from tests.support.meshes import generator, mesh_of, population


def own(tree):
    """The bytes that the first device has."""
    device = jax.devices()[0]
    shards = (s for x in jax.tree.leaves(tree) for s in x.addressable_shards)
    return sum(s.data.nbytes for s in shards if s.device == device)


def test_neurons():
    mesh = mesh_of(4, "neurons")
    found = scale.plan(population(), mesh)
    machine = snp.lower(population(), mesh=mesh, layout=ELL).machine
    assert abs(found.machine_nbytes - own(machine)) <= 0.1 * own(machine)
    assert found.state_nbytes == own(machine.placed_init())
    assert found.exchanged == {"table": machine.nbytes_exchanged()["table"]}
    assert found.seconds > 0 and "bytes as a table" in f"{found}"


def test_paths_exchange_nothing():
    mesh = mesh_of(4, "paths")
    found = scale.plan(generator(), mesh, paths=10)
    machine = snp.lower(generator()).machine
    assert found.machine_nbytes == nbytes_of(machine)
    assert found.state_nbytes == 3 * nbytes_of(machine.init())
    assert found.exchanged == {} and "nothing" in f"{found}"


def test_nothing_of_it_stays_on_devices():
    mesh = mesh_of(4, "neurons")
    bandwidths = scale.Bandwidths(1e9, 1e8)
    before = {id(x) for x in jax.live_arrays()}
    found = scale.plan(population(), mesh, bandwidths=bandwidths)
    after = [x for x in jax.live_arrays() if id(x) not in before]
    assert sum(x.nbytes for x in after) <= 1024
    moved = found.machine_nbytes + 2 * found.state_nbytes
    assert np.isclose(found.seconds, moved / 1e9 + found.exchanged["table"] / 1e8)


def test_what_cannot_be_split():
    net = snp.read_net("examples/half.lsn")
    with pytest.raises(TypeError, match="cannot be split"):
        scale.plan(net, mesh_of(2, "neurons"))
    with pytest.raises(ValueError, match="`plan` splits are `paths` and `neurons`"):
        scale.plan(net, mesh_of(2, "configurations"))
