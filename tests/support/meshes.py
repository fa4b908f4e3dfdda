"""Runs over meshes of devices, compared with the same runs on one device."""

import re
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

import snpjax as snp


def mesh_of(num: int, axis: str) -> Mesh:
    """So many of the devices, in one axis."""
    return jax.make_mesh((num,), (axis,), devices=jax.devices()[:num])


def assert_same(found: Any, expected: Any) -> None:
    """The same tree of arrays: structure, shapes, types and every bit."""
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        one, other = np.asarray(one), np.asarray(other)
        assert one.shape == other.shape and one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()


def assert_same_trajectory(found: Any, expected: Any) -> None:
    """The same of all that two runs saved."""
    for name in ("final", "states", "outputs", "details", "steps", "result"):
        assert_same(getattr(found.trajectory, name), getattr(expected.trajectory, name))
    assert found.saved == expected.saved


def generator() -> snp.SpikingSystem:
    """Halts after a random number of steps."""
    return snp.SpikingSystem(
        [
            snp.Neuron("n1", 2, ["a^2/a -> a", "a^2 -> a"]),
            snp.Neuron("n2", 1, ["a -> a"]),
            snp.Neuron("n3", 1, ["a -> a", "a^2 -> lambda"]),
        ],
        [("n1", "n2"), ("n2", "n1"), ("n1", "n3"), ("n2", "n3")],
        output="n3",
    )


def population() -> snp.PopulationSystem:
    """700 neurons that fire now and then, each hearing three others."""
    templates = [snp.RuleTemplate(snp.Guard("a^2a*"), 1, 1), snp.RuleTemplate(snp.Guard("a"), 1, 1)]
    return snp.PopulationSystem(
        [snp.Population("p", 700, np.arange(700) % 4, templates)],
        [snp.Projection("p", "p", snp.graphs.RandomInDegree(3, seed=1))],
    )


_COLLECTIVE = re.compile(
    r" (all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter)(-start)?\("
)


def loop_depths(text: str) -> set[int]:
    """In how many loops the collectives of a compiled program are."""
    bodies: dict[str, list[str]] = {}
    name = entry = ""
    for line in text.splitlines():
        if line.endswith("{") and (begun := re.match(r"(ENTRY )?%?([\w.-]+) ", line)):
            name = begun[2]
            entry = name if begun[1] else entry
            bodies[name] = []
        elif name:
            bodies[name].append(line)
    assert entry
    found, seen = set(), set()

    def look(name: str, depth: int) -> None:
        if (name, depth) in seen:
            return
        seen.add((name, depth))
        for line in bodies[name]:
            if _COLLECTIVE.search(line):
                found.add(depth)
            inner = depth + (" while(" in line)
            for called in re.findall(r"%?([\w.-]+)", line.partition("(")[2]):
                if called in bodies:
                    look(called, inner)

    look(entry, 0)
    return found
