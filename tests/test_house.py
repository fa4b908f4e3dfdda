"""The structure: which way imports point, and what may import JAX."""

import ast
import inspect
import re
import signal
import sys
import time
import typing
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import snpjax as snp
import snpjax_formats
from tests.support import processes
from tests.support.helpers import REPOSITORY


PACKAGES = {
    "snpjax": REPOSITORY / "snpjax",
    "snpjax_formats": REPOSITORY / "formats/snpjax_formats",
}
MODULES = sorted(path for folder in PACKAGES.values() for path in folder.rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports(path: Path) -> set[str]:
    """Absolute names of all modules that `path` imports, at the top or inside a function."""
    root = next(folder for folder in PACKAGES.values() if path.is_relative_to(folder))
    package = (root.name, *path.relative_to(root).parent.parts)
    found = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            found.add(".".join((*base, *([node.module] if node.module else []))))
    return found


MACHINES = ("spiking", "sleptsov", "rate", "proliferation", "numerical")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_imports_point_one_way(path):
    names = imports(path)

    def uses(*prefixes):
        return {n for n in names if any(n == p or n.startswith(p + ".") for p in prefixes)}

    relative = path.relative_to(REPOSITORY)
    if "snpjax_formats" in relative.parts:
        assert not uses("snpjax"), "layouts know nothing of neurons"
    machines = tuple(f"snpjax.{name}" for name in MACHINES)
    above = ("snpjax.io", "snpjax.viz", "snpjax.cli", "snpjax.testing", "snpjax.check")
    if relative.parent == Path("snpjax") and relative.name != "__init__.py":
        if relative.name != "__main__.py":
            assert not uses(*machines, *above), "the driver knows no machine"
    if relative.is_relative_to("snpjax/drawing"):
        assert not uses(*machines, *above), "a drawing knows no machine"
    if relative.is_relative_to("snpjax/explore"):
        assert not uses(*machines, *above), "a search knows no machine"
    if relative.is_relative_to("snpjax/spiking"):
        assert not uses(*machines[1:], *above, "snpjax.run"), "a machine imports no other machine"
    if relative.is_relative_to("snpjax/sleptsov"):
        others = ("snpjax.spiking", *machines[2:])
        assert not uses(*others, *above, "snpjax.run"), "a machine imports no other machine"
    if relative.is_relative_to("snpjax/io"):
        assert not uses("snpjax.cli", "snpjax.viz"), "readers know no command"


#: The rooms of a machine, from the bottom: what stands in one imports what is below it.
ROOMS = ("model", "step", "lower", "view")

#: Models, whose methods are the one door upwards: they import lowering and views when called.
DOORS = {
    "spiking/model/system",
    "spiking/model/population",
    "spiking/lower/batch",
    "sleptsov/model/net",
    "sleptsov/model/execution",
}


@pytest.mark.parametrize("machine", ["spiking", "sleptsov"])
def test_rooms_import_what_is_below(machine):
    for path in sorted((REPOSITORY / "snpjax" / machine).glob("*/*.py")):
        own = ROOMS.index(path.parent.name)
        tree = tree_of(path)
        for node in _run_time_imports(tree):
            room = (node.module or "").split(".")[0]
            if node.level != 2 or room not in ROOMS or ROOMS.index(room) <= own:
                continue
            name = str(path.relative_to(REPOSITORY / "snpjax"))[: -len(".py")]
            assert name in DOORS and node not in tree.body, f"{name} imports {node.module}"


def _run_time_imports(tree: ast.Module) -> Iterator[ast.ImportFrom]:
    """Imports, lazy ones included, but those for type checkers."""
    typed = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and id(node) not in typed:
            yield node


def test_no_module_stands_outside_the_tree():
    files = {path.stem for path in (REPOSITORY / "snpjax").glob("*.py")}
    assert files == {
        "__init__",
        "__main__",
        "_version",
        "_xla",
        "advance",
        "compilation",
        "driver",
        "footprint",
        "lowering",
        "machine",
        "memory",
        "results",
        "run",
        "schema",
        "simulate",
        "tile",
        "trajectory",
    }
    folders = {path.parent.name for path in (REPOSITORY / "snpjax").glob("*/__init__.py")}
    assert folders == {
        "_text",
        "_tiered",
        "check",
        "choice",
        "cli",
        "drawing",
        "explore",
        "io",
        "learn",
        "numerical",
        "proliferation",
        "rate",
        "scale",
        "sleptsov",
        "spiking",
        "testing",
        "viz",
    }


#: Modules that are public beside the packages, which name them.
PUBLIC_MODULES = {
    "snpjax.io.proliferation",
    "snpjax.sleptsov.programs",
    "snpjax.sleptsov.subnets",
    "snpjax.viz.page",
    "snpjax.viz.proliferation",
    "snpjax_formats.select.gathering",
    *(f"snpjax.testing.{path.stem}" for path in PACKAGES["snpjax"].glob("testing/*.py")),
}

_SCENES = {"snpjax.sleptsov.view.picture", "snpjax.spiking.view.picture"}

#: What tests import from inside another room of the product, and why.
FROM_OTHER_ROOMS = {
    "check/test_equivalence_growing": {"snpjax.spiking.model.validity"},  # labels that are born
    "check/test_graph_exports": {"snpjax.explore.text"},  # to have several blocks of few rows
    "check/test_markov": {"snpjax.explore.edges"},  # to give a graph other edges
    "scale/test_saved_runs": {"snpjax.check.probability.statistical"},  # to look at few paths
    "check/test_networks": {"snpjax.spiking.model.lookup"},  # rules of neurons or of labels
    "cli/test_formats": {  # to time nothing
        "snpjax_formats.select.candidates",
        "snpjax_formats.select.timing_cases",
        "snpjax_formats.select.gaussian",
        "snpjax_formats.select.timing",
    },
    "drawing/test_placing": {  # what is placed
        *_SCENES,
        "snpjax.explore.drawing",
        "snpjax.spiking.view.summary",
    },
    "io/test_revise": {"snpjax.viz.page.texts"},  # edits of the page are the use of it
    "viz/test_colours": {"snpjax.drawing.scene"},  # the palette
    "viz/test_view_browser": {  # what the page does as pictures on paper do
        "snpjax.drawing.edges",
        "snpjax.drawing.labels",
        "snpjax.spiking.model.rule",
        "snpjax.spiking.model.rule_syntax",
        "snpjax.spiking.view.pretty",
    },
    "viz/test_viz": {  # what is in a picture: the scene of a model
        *_SCENES,
        "snpjax._text.quoting",
        "snpjax.drawing.scene",
        "snpjax.drawing.tikz",
        "snpjax.explore.drawing",
        "snpjax.spiking.view.pretty",
        "snpjax.spiking.view.summary",
    },
}


def test_tests_mirror_the_product():
    """A folder of tests is named as the room that they test, a file beside them as a module."""
    tests = REPOSITORY / "tests"
    folders = {path.name for path in tests.iterdir() if path.is_dir()}
    rooms = {path.parent.name for path in PACKAGES["snpjax"].glob("*/__init__.py")}
    aside = {"support", "cases", "baseline", "__pycache__"}
    assert folders - aside <= {*rooms, "formats", "bench"}
    for path in tests.rglob("*.py"):
        assert path.parent.name == "fuzz" or (path.parent / "__init__.py").exists(), path
    modules = {path.stem.lstrip("_") for path in PACKAGES["snpjax"].glob("*.py")}
    beside = {path.stem.removeprefix("test_") for path in tests.glob("test_*.py")}
    # Texts and scripts, rules of the house, what is compiled, and all kinds of models.
    others = {
        "benchmarks",
        "docs",
        "house",
        "no_code_from_names",
        "extending",
        "dimacs",
        "gallery",
        "kinds",
        "papers",
        "programs",
        "tutorials",
    }
    assert beside - others <= modules


def test_tests_import_public_names_of_other_rooms():
    tests = REPOSITORY / "tests"
    found = {}
    for path in tests.rglob("test_*.py"):
        own = path.parent.relative_to(tests).as_posix()
        room = "snpjax_formats" if own == "formats" else f"snpjax.{own}"
        other = {
            name
            for name in modules_imported(path)
            if name.count(".") > 1 and not name.startswith(f"{room}.")
        }
        if other - PUBLIC_MODULES:
            found[path.relative_to(tests).with_suffix("").as_posix()] = other - PUBLIC_MODULES
    assert found == FROM_OTHER_ROOMS


@pytest.mark.parametrize("path", sorted(REPOSITORY.glob("bench/*.py")), ids=lambda path: path.stem)
def test_benches_use_public_names(path):
    doors = {"snpjax", "snpjax_formats", *PUBLIC_MODULES}
    for root, folder in PACKAGES.items():
        doors |= {f"{root}.{init.parent.name}" for init in folder.glob("[!_]*/__init__.py")}
    assert modules_imported(path) <= doors
    for node in ast.walk(tree_of(path)):
        match node:
            case ast.Attribute(attr=name) | ast.alias(name=name):
                assert not name.startswith("_") or name.endswith("__"), f"{path}:{node.lineno}"
            case _:
                pass


def modules_imported(path: Path) -> set[str]:
    """Modules of this repository's packages that a file outside them imports, also where one is
    imported as a name of its package that does not give it."""
    found = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            inside = {f"{node.module}.{alias.name}" for alias in node.names} & _HIDDEN
            found |= inside if len(inside) == len(node.names) else {*inside, node.module}
    return {name for name in found if name.split(".")[0] in PACKAGES}


def _hidden_modules() -> Iterator[str]:
    """Modules that are no names of their package."""
    for root, folder in PACKAGES.items():
        for path in MODULES:
            if not path.is_relative_to(folder) or path.name == "__init__.py":
                continue
            parts = path.relative_to(folder).with_suffix("").parts
            init = tree_of(path.parent / "__init__.py")
            given = {a.asname for node in ast.walk(init) for a in getattr(node, "names", ())}
            if parts[-1] not in given:
                yield ".".join((root, *parts))


_HIDDEN = set(_hidden_modules())


def test_class_names_have_one_meaning():
    homes: dict[str, set[str]] = {}
    for path in MODULES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, set()).add(str(path.relative_to(REPOSITORY)))
    assert {"Rule", "Edges", "SpikingSystem"} <= set(homes)
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_protocols_can_be_checked_at_run_time():
    """Type checkers at run time ask whether an argument follows a protocol."""
    unchecked = [
        f"{path.relative_to(REPOSITORY)}:{node.lineno}"
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ClassDef)
        and "Protocol" in map(ast.unparse, node.bases)
        and "runtime_checkable" not in map(ast.unparse, node.decorator_list)
    ]
    assert unchecked == [], "decorate it with `runtime_checkable`"


#: Where files are opened for writing: in the atomic writer, where timings are appended, as standard
#: output, and to lock a folder.
WRITERS = {"atomic", "temporary", "replacing", "gathering", "devices", "hosts", "store", "streams"}


def test_files_are_written_atomically():
    calls = {}
    for path in MODULES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call) and _writes(node):
                calls.setdefault(path.stem, []).append(node.lineno)
    assert {name: calls[name] for name in calls.keys() - WRITERS} == {}, "use `atomic_write`"
    assert calls.keys() >= {"temporary", "gathering"}


def _writes(call: ast.Call) -> bool:
    """Whether this opens a file for writing, or moves one."""
    name = ast.unparse(call.func)
    if name.split(".")[-1] in ("open", "fdopen"):
        texts = [x.value for x in ast.walk(call) if isinstance(x, ast.Constant)]
        return (
            "O_CREAT" in ast.unparse(call)
            or name == "os.open"
            or any(
                isinstance(text, str)
                and re.fullmatch("[rwaxbt+]{1,4}", text)
                and {*"wax+"} & {*text}
                for text in texts
            )
        )
    last = ("write_text", "write_bytes", "savetxt", "mkstemp", "NamedTemporaryFile")
    return name.split(".")[-1] in last or name in ("os.replace", "os.rename", "os.link")


def test_nothing_asks_what_attributes_an_object_has():
    calls = [
        f"{path.relative_to(REPOSITORY)}:{node.lineno}"
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Name) and node.id == "hasattr"
    ]
    assert calls == [], "use a protocol, an abstract class or isinstance"


def test_tests_start_processes_by_one_function():
    """It kills their groups, and gives them the signals of a shell's child."""
    starters = re.compile(
        r"subprocess|multiprocessing|pty"
        r"|os\.(fork|forkpty|popen|posix_spawnp?|spawn.*|system)|asyncio\.create_subprocess.*"
    )
    found = {
        f"{path.relative_to(REPOSITORY)}:{node.lineno}"
        for path in (REPOSITORY / "tests").rglob("*.py")
        if path != Path(processes.__file__)
        for node, name in _modules_and_attributes(tree_of(path))
        if starters.fullmatch(name)
    }
    assert found == set(), "use tests/support/processes.py"


def _modules_and_attributes(tree: ast.Module) -> Iterator[tuple[ast.stmt | ast.expr, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node, one.name) for one in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield node, module
                yield from ((node, f"{module}.{one.name}") for one in names)
            case ast.Attribute():
                yield node, ast.unparse(node)


_WITH_A_CHILD = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
print(child.pid, flush=True)
"""


@pytest.mark.parametrize("more", ["", "time.sleep(3600)"], ids=["an orphan", "a child"])
def test_processes_of_tests_end_with_their_group(more):
    with processes.started(sys.executable, "-c", _WITH_A_CHILD + more) as process:
        assert process.stdout is not None
        child = Path("/proc", process.stdout.readline().strip(), "stat")
        assert child.exists()
        if not more:
            process.wait()
    assert process.returncode == (-signal.SIGKILL if more else 0)
    while _is_running(child):
        time.sleep(0.01)


def _is_running(stat: Path) -> bool:
    """Not if it only waits for who adopted it to see that it has ended."""
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_processes_of_tests_have_default_signals():
    """Also in a suite that `nohup` or a shell in the background started, where they are ignored."""
    code = "import signal; print(*(signal.getsignal(x) is signal.SIG_IGN for x in (1, 2, 15)))"
    before = {x: signal.signal(x, signal.SIG_IGN) for x in (signal.SIGHUP, signal.SIGINT)}
    try:
        assert processes.python("-c", code) == "False False False\n"
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        for x, handler in before.items():
            signal.signal(x, handler)


FUNCTIONS = [name for name in dir(snp) if inspect.isfunction(getattr(snp, name))]


# `simulate` hands any state to what observes it, and types of networkx and anywidget are for type
# checkers only.
@pytest.mark.parametrize("name", sorted({*FUNCTIONS} - {"simulate", "to_networkx", "view"}))
def test_entry_points_are_typed(name):
    signature = inspect.signature(getattr(snp, name), eval_str=True)
    assert not contains_any(signature.return_annotation)
    for parameter in signature.parameters.values():
        assert not contains_any(parameter.annotation), parameter


def contains_any(annotation: object) -> bool:
    return annotation in (Any, inspect.Parameter.empty) or any(
        map(contains_any, typing.get_args(annotation))
    )


def test_reference_never_imports_jax():
    """Nor does anything it imports at the top of a module: rules, guards, the model, validity."""
    todo = [
        f"snpjax.testing.{name}"
        for name in (
            "reference",
            "reference_network",
            "reference_numerical",
            "reference_proliferation",
            "reference_rate",
            "reference_sleptsov",
            "reference_variants",
        )
    ]
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        base = name.split(".")[:-1]
        for node in ast.parse((REPOSITORY / f"{name.replace('.', '/')}.py").read_text()).body:
            if isinstance(node, ast.Import):
                assert not any("jax" in alias.name for alias in node.names), name
            elif isinstance(node, ast.ImportFrom):
                assert node.level or "jax" not in (node.module or "").split("."), name
                if node.level:
                    todo.append(".".join([*base[: len(base) - node.level + 1], node.module or ""]))
    assert "snpjax.spiking.model.guard" in seen


def test_dir_lists_exactly_the_public_names():
    listed = dir(snp)
    assert {"learn", "rate", "viz", "proliferation", "run", "lower", "simulate"} <= set(listed)
    assert {"choice", "io", "machine"} <= set(listed)  # what an extension imports from
    assert not {"import_module", "Any", "TYPE_CHECKING", "version", "lowering", "results"} & {
        *listed
    }
    for name in listed:
        assert getattr(snp, name) is not None, name


@pytest.mark.parametrize("package", [snp, snp.io, snpjax_formats])
def test_names_are_imported_from_where_their_types_are(package):
    """What a type checker reads in `__init__.py`, and what is imported."""
    tree = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        for one in node.names:
            assert one.asname == one.name
            seen[one.name] = "." * node.level + (node.module or "")
    assert {name: home for name, home in seen.items() if home != "."} == package._homes
    assert {name for name, home in seen.items() if home == "."} <= package._modules


@pytest.mark.parametrize(
    "command, others",
    [
        ("import snpjax; dir(snpjax)", ["jax", "numpy", "scipy"]),
        ("import snpjax_formats; dir(snpjax_formats)", ["jax", "numpy", "scipy"]),
        ("import snpjax as snp; snp.run", ["scipy.sparse", "lark", "networkx", "snpjax.check"]),
        ("import sys; sys.argv[1:] = ['--help']; from snpjax.cli.app import app; app()", ["jax"]),
    ],
)
def test_what_is_not_imported(command, others):
    """What nobody uses takes no time to import."""
    tell = f"atexit.register(lambda: print('loaded:', {{*sys.modules}} & {{*{others}}}))"
    code = f"import atexit, sys; {tell}; {command}"
    assert "loaded: set()" in processes.python("-c", code)
