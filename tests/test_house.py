"""The structure: which way imports point, what may import JAX, and that the README is true."""

import ast
import inspect
import re
import typing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import snpjax as snp
from tests.helpers import REPOSITORY


PACKAGES = {
    "snpjax": REPOSITORY / "snpjax",
    "snpjax_formats": REPOSITORY / "formats/snpjax_formats",
}
MODULES = sorted(path for folder in PACKAGES.values() for path in folder.rglob("*.py"))


def imports(path: Path) -> set[str]:
    """Absolute names of all modules that `path` imports, at the top or inside a function."""
    root = next(folder for folder in PACKAGES.values() if path.is_relative_to(folder))
    package = (root.name, *path.relative_to(root).parent.parts)
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            found.add(".".join((*base, *([node.module] if node.module else []))))
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_imports_point_one_way(path):
    names = imports(path)

    def uses(*prefixes):
        return {n for n in names if any(n == p or n.startswith(p + ".") for p in prefixes)}

    relative = path.relative_to(REPOSITORY)
    if "snpjax_formats" in relative.parts:
        assert not uses("snpjax"), "layouts know nothing of neurons"
    machines = ("snpjax.spiking", "snpjax.sleptsov", "snpjax.rate", "snpjax.proliferation")
    above = ("snpjax.io", "snpjax.viz", "snpjax.cli", "snpjax.testing", "snpjax.check")
    if relative.parent == Path("snpjax") and relative.name != "__init__.py":
        if relative.name != "__main__.py":
            assert not uses(*machines, *above), "the driver knows no machine"
    if relative.is_relative_to("snpjax/explore"):
        assert not uses(*machines, *above), "a search knows no machine"
    if relative.is_relative_to("snpjax/spiking"):
        assert not uses(*machines[1:], *above), "a machine imports no other machine"
    if relative.is_relative_to("snpjax/io"):
        assert not uses("snpjax.cli", "snpjax.viz"), "readers know no command"


@pytest.mark.parametrize(
    "name", ["explore", "check", "estimate", "equivalent", "invariants", "growth"]
)
def test_entry_points_are_typed(name):
    entry = getattr(snp, name)
    for parameter in inspect.signature(entry, eval_str=True).parameters.values():
        assert not contains_any(parameter.annotation), parameter


def contains_any(annotation: object) -> bool:
    return annotation in (Any, inspect.Parameter.empty) or any(
        map(contains_any, typing.get_args(annotation))
    )


def test_reference_never_imports_jax():
    """Nor does anything it imports at the top of a module: rules, guards, the model, validity."""
    pure = [
        "testing/reference",
        "testing/reference_network",
        "testing/reference_proliferation",
        "testing/reference_rate",
        "testing/reference_sleptsov",
        "testing/reference_variants",
        "spiking/system",
        "spiking/compatibility",
        "spiking/rule",
        "spiking/rule_syntax",
        "spiking/guard",
        "spiking/validity",
        "nearest",
        "spiking/variants",
    ]
    for name in pure:
        tree = ast.parse((REPOSITORY / f"snpjax/{name}.py").read_text())
        for node in tree.body:
            if isinstance(node, ast.Import):
                assert not any("jax" in alias.name for alias in node.names), name
            elif isinstance(node, ast.ImportFrom):
                allowed = {"rule", "guard", "validity", "guard_syntax", "guard_bits"}
                allowed |= {"compatibility", "spiking.compatibility", "nearest", "rule_syntax"}
                allowed |= {"reference_network", "reference_variants", "variants"}
                allowed |= {"spiking.rule", "spiking.system", "spiking.variants", "model_warning"}
                assert not node.level or node.module in allowed, (name, node.module)


def test_code_of_the_readme_runs():
    blocks = re.findall(r"```python\n(.*?)```", (REPOSITORY / "README.md").read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        names: dict[str, object] = {}
        exec(compile(block, "README.md", "exec"), names)
        assert np.all(names.get("batch", names["solution"]).halted)  # pyright: ignore


def test_public_names_are_documented():
    for name, value in vars(snp).items():
        if not name.startswith("_") and callable(value) and "snpjax" in value.__module__:
            assert value.__doc__ and not value.__doc__.startswith(f"{name}("), name
