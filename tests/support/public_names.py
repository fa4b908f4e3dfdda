"""The public names of both packages, and those that the pages of the API reference list."""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Protocol

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
    "snpjax.learn.flax",
    "snpjax.learn.layers",
    "snpjax.learn.nir",
    "snpjax.learn.robustness",
    "snpjax.learn.synapses",
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
    """Constants of several names may be one object, such as -1, and a package may wrap a function
    of another."""
    return name, id(inspect.unwrap(value) if inspect.isfunction(value) else value)


def exported(module: ModuleType) -> Iterator[str]:
    """Names that a package re-exports (`import x as x`), and those that a module defines."""
    assert module.__file__ is not None
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = (one.name for one in node.names if one.asname == one.name)
            yield from (name for name in names if not name.startswith("_"))
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
    """What is missing in the docstrings of public names, each with its path.

    A function lists exactly its parameters under **Arguments:**, and states its result and what it
    raises itself. A method of two or more parameters names each of them, unless a base class or a
    protocol describes it; a list in its docstring has exactly its parameters.
    """
    for path in public_names().values():
        value = value_of(path)
        if inspect.isclass(value):
            if value.__module__.split(".")[0] in ("snpjax", "snpjax_formats"):  # no alias
                yield from _missing_in_class(path, value)
        elif inspect.isfunction(value):
            yield from missing_in_function(path, value)


def _missing_in_class(path: str, owner: type) -> Iterator[str]:
    if not owner.__doc__ or owner.__doc__.startswith(f"{owner.__name__}("):  # of a dataclass
        yield f"{path}: no docstring"
    for name, member in vars(owner).items():
        method = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        is_own = inspect.isfunction(method) and method.__module__.startswith("snpjax")
        if is_own and (name == "__init__" or not name.startswith("_")):
            bases = {*owner.__mro__[1:], *_protocols()} - {object}
            known = {x for base in bases if name in vars(base) for x in _parameters(base, name)}
            own = _parameters(owner, name)
            yield from missing_in_method(f"{path}.{name}", method, own, known)


def _parameters(owner: type, name: str) -> list[str]:
    """Those of a method but for the object or class that it is bound to."""
    member = vars(owner)[name]
    is_static = isinstance(member, staticmethod)
    method = member.__func__ if isinstance(member, classmethod | staticmethod) else member
    return [*inspect.signature(method).parameters][not is_static :] if callable(method) else []


@cache
def _protocols() -> frozenset[type]:
    values = map(value_of, public_names().values())
    return frozenset(x for x in values if inspect.isclass(x) and Protocol in x.__bases__)


def missing_in_function(path: str, function: Callable[..., object]) -> Iterator[str]:
    """What the docstring of a function does not describe."""
    text = inspect.getdoc(function) or ""
    signature = inspect.signature(function)
    if not text:
        yield f"{path}: no docstring"
    yield from _differing(path, [*signature.parameters], _listed_arguments(text))
    if signature.return_annotation not in (None, "None") and "**Returns:**" not in text:
        yield f"{path}: no **Returns:**"
    if _raises(function) and "**Raises:**" not in text:
        yield f"{path}: no **Raises:**"


def missing_in_method(
    path: str, method: Callable[..., object], own: list[str], known: set[str]
) -> Iterator[str]:
    """Of two or more parameters those that neither a docstring names nor a base class describes,
    and what is missing in a list or has no parameter."""
    text = inspect.getdoc(method) or ""
    listed = _listed_arguments(text)
    if listed:
        yield from _differing(path, own, [*listed, *(known & {*own})])
    elif len(own) > 1 and method.__name__ != "__init__":
        missing = (x for x in own if x not in known and f"`{x}`" not in text)
        yield from (f"{path}: no description of `{name}`" for name in missing)


def _differing(path: str, own: list[str], listed: list[str]) -> Iterator[str]:
    yield from (f"{path}: no description of `{name}`" for name in own if name not in listed)
    yield from (f"{path}: no parameter `{name}`" for name in listed if name not in own)


def _listed_arguments(text: str) -> list[str]:
    """The names in the list after **Arguments:**, `- `a`, `b`: ...`."""
    _, _, after = text.partition("**Arguments:**")
    block = re.split(r"\n\n(?!- )", after.lstrip("\n"), maxsplit=1)[0]
    heads = [item.partition(":")[0] for item in re.split(r"^- ", block, flags=re.MULTILINE)[1:]]
    return [name for head in heads for name in re.findall(r"`(\w+)`", head)]


def _raises(function: Callable[..., object]) -> bool:
    """Whether a function itself, not one inside it, raises an exception."""
    code = inspect.unwrap(function)
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    except OSError:  # it was made at run time, as strategies are
        return False
    todo: list[ast.AST] = [*tree.body[0].body]  # pyright: ignore[reportAttributeAccessIssue]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Raise):
            return True
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            todo += ast.iter_child_nodes(node)
    return False


def value_of(path: str) -> object:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)
