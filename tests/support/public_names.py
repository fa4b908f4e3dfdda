"""The public names of both packages, and those that the pages of the API reference list."""

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from tests.support.helpers import REPOSITORY


#: Where a name is listed if several modules export it: in the first of these.
MODULES = (
    "snpjax",
    "snpjax.spiking",
    "snpjax.sleptsov",
    "snpjax.sleptsov.programs",
    "snpjax.sleptsov.subnets",
    "snpjax.rate",
    "snpjax.numerical",
    "snpjax.proliferation",
    "snpjax.learn",
    "snpjax.explore",
    "snpjax.check",
    "snpjax.io",
    "snpjax.io.proliferation",
    "snpjax.viz",
    "snpjax.viz.page",
    "snpjax.viz.proliferation",
    "snpjax.scale",
    "snpjax.choice",
    "snpjax.machine",
    "snpjax.testing",
    *(
        f"snpjax.testing.{path.stem}"
        for path in sorted((REPOSITORY / "snpjax/testing").glob("[!_]*.py"))
    ),
    "snpjax.spiking.model.compatibility",
    "snpjax_formats",
    "snpjax_formats.graphs",
    "snpjax_formats.select",
    "snpjax_formats.select.gathering",
)


@cache
def public_names() -> dict[tuple[str, object], str]:
    """By the identity of each public object, its first public path."""
    found: dict[tuple[str, object], str] = {}
    for module in map(import_module, MODULES):
        for name in exported(module):
            value = getattr(module, name)
            if not isinstance(value, ModuleType):
                found.setdefault(identity(name, value), f"{module.__name__}.{name}")
    return found


def identity(name: str, value: object) -> tuple[str, object]:
    """Constants of several names may be one object, such as -1."""
    return name, id(value)


def exported(module: ModuleType) -> Iterator[str]:
    """Names that a package re-exports (`import x as x`), and those that a module defines."""
    assert module.__file__ is not None
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (one.name for one in node.names if one.asname == one.name)
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                if not name.startswith("_"):
                    yield name
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                if name.isupper() and len(name) > 1 and not name.startswith("_"):
                    yield name
            case _:
                pass


def listed_names() -> Iterator[str]:
    """Paths in the directives of the API reference, in the order of pages."""
    for page in sorted((REPOSITORY / "docs/api").glob("*.md")):
        yield from re.findall(r"^::: (\S+)", page.read_text(encoding="utf-8"), re.MULTILINE)


def items_of(path: str) -> Iterator[tuple[str, object]]:
    """What a directive documents: one object, or all that one of `MODULES` defines."""
    if path in MODULES:
        module = import_module(path)
        yield from (identity(name, getattr(module, name)) for name in exported(module))
    else:  # a function may have the name of its module
        module, _, name = path.rpartition(".")
        yield identity(name, getattr(import_module(module), name))


def undocumented() -> Iterator[str]:
    """Public names without a docstring; and functions of `snpjax` and `snpjax.viz` that have
    parameters and do not state arguments and result."""
    for path in public_names().values():
        value = value_of(path)
        text = inspect.getdoc(value) or ""
        if inspect.isclass(value) or inspect.isfunction(value):
            if not text or text.startswith(f"{value.__name__}("):
                yield path
            elif re.fullmatch(r"snpjax\.(viz\.)?\w+", path) and inspect.isfunction(value):
                signature = inspect.signature(value)
                told = signature.return_annotation in (None, "None") or "**Returns:**" in text
                if signature.parameters and not ("**Arguments:**" in text and told):
                    yield path


def value_of(path: str) -> object:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)
