"""Rules of the source tree: which way imports point, what is public, what a wheel holds, and words.

Each test collects all violations and reports them together, each with its file and line. No rule
lists files by name, so a file may move. Exceptions are the names of packages and functions, or a
comment at the place.
"""

import ast
import fnmatch
import gc
import inspect
import re
import tomllib
import typing
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import snpjax as snp
import snpjax_formats
from tests.support.helpers import REPOSITORY
from tests.support.public_names import MODULES, items_of, listed_names, public_names


PACKAGES = {
    "snpjax": REPOSITORY / "snpjax",
    "snpjax_formats": REPOSITORY / "formats/snpjax_formats",
}


class Module(NamedTuple):
    """A parsed file; a package has the name of its folder."""

    name: str
    path: Path
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    def at(self, node: ast.stmt | ast.expr) -> str:
        return f"{self.path.relative_to(REPOSITORY)}:{node.lineno}"


class Import(NamedTuple):
    """A name that a module imports: at its top, inside a function ("lazy") or for type checkers."""

    module: Module
    node: ast.stmt
    kind: str
    base: str
    name: str | None

    @property
    def place(self) -> str:
        return self.module.at(self.node)


def parse(root: str, folder: Path) -> Iterator[Module]:
    was_enabled = gc.isenabled()
    gc.disable()  # it would visit the nodes of all trees again and again: 8 s instead of 1.5 s
    try:
        for path in sorted(folder.rglob("*.py")):
            parts = root, *path.relative_to(folder).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            yield Module(name, path, ast.parse(path.read_text(encoding="utf-8")))
    finally:
        if was_enabled:
            gc.enable()


@cache
def product() -> dict[str, Module]:
    modules = [module for root, folder in PACKAGES.items() for module in parse(root, folder)]
    return {module.name: module for module in modules}


@cache
def modules_outside() -> list[Module]:
    """Tests and benchmarks."""
    return [module for root in ("tests", "bench") for module in parse(root, REPOSITORY / root)]


def statements(body: Sequence[ast.stmt], kind: str = "top") -> Iterator[tuple[ast.stmt, str]]:
    for node in body:
        yield node, kind
        inner = kind
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            inner = "types"
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and kind == "top":
            inner = "lazy"
        for part in ("body", "orelse", "finalbody"):
            yield from statements(getattr(node, part, ()), inner)
        for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            yield from statements(part.body, inner)


def imports(module: Module) -> Iterator[Import]:
    package = module.name.split(".") if module.is_package else module.name.split(".")[:-1]
    for node, kind in statements(module.tree.body):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module, node, kind, alias.name, None)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join((*above, *([node.module] if node.module else [])))
            for alias in node.names:
                yield Import(module, node, kind, base, alias.name)


@cache
def imports_of_product() -> dict[str, list[Import]]:
    return {name: [*imports(module)] for name, module in product().items()}


@cache
def exports(package: str) -> dict[str, str]:
    """Where a package has the names from that it re-exports."""
    if package not in product() or not product()[package].is_package:
        return {}
    return {one.name: one.base for one in imports_of_product()[package] if one.name is not None}


def module_of(one: Import) -> str:
    """The module that is imported, or of which a name is imported."""
    inner = f"{one.base}.{one.name}"
    return inner if inner in product() and one.name not in exports(one.base) else one.base


# ---- circles ----

#: Modules that are in circles today, and in the largest one. They may only fall, to zero.
MOST_IN_CIRCLES, LARGEST_CIRCLE = 96, 40


def test_imports_make_no_further_circles():
    """Imports at the top, inside functions and for type checkers count alike.

    There are still circles. Until none is left, this test compares their sizes with limits, which
    have to be lowered with every circle that is resolved and never raised. A circle that is as
    large as one that was resolved before passes.
    """
    circles = circles_of({name: edges(name) for name in product()})
    num_modules, largest = sum(map(len, circles)), max(map(len, circles), default=0)
    is_allowed = num_modules <= MOST_IN_CIRCLES and largest <= LARGEST_CIRCLE
    limits = f"at most {MOST_IN_CIRCLES} and {LARGEST_CIRCLE}"
    lines = [f"{len(circle)}: {' '.join(sorted(circle))}" for circle in circles]
    head = f"{num_modules} modules in circles, {largest} in the largest one ({limits})"
    assert is_allowed, "\n".join([head, *lines])


def edges(name: str) -> set[str]:
    """The files that a module depends on. A package stands for the files whose names it exports, so
    its own file is in no circle."""
    if product()[name].is_package:
        return set()
    targets = {source_of(one.base, one.name) for one in imports_of_product()[name]}
    return {x for x in targets - {name} if x in product() and not product()[x].is_package}


def source_of(base: str, name: str | None) -> str:
    """The file that defines a name which a package may re-export."""
    while name is not None:
        if f"{base}.{name}" in product():
            return f"{base}.{name}"
        if name not in exports(base) or exports(base)[name] == base:
            break
        base = exports(base)[name]
    return base


def circles_of(edges: dict[str, set[str]]) -> list[set[str]]:
    """Strongly connected components of two nodes or more, the largest ones first."""
    reached = {node: {node, *targets} for node, targets in edges.items()}
    for middle, beyond in reached.items():
        for targets in reached.values():
            if middle in targets:
                targets |= beyond
    circles = {
        frozenset(x for x in targets if node in reached[x]) for node, targets in reached.items()
    }
    return sorted((set(x) for x in circles if len(x) > 1), key=len, reverse=True)


# ---- arrows ----

#: Packages that the modules of each package may import. `driver` are the modules at the top of
#: `snpjax` but for `run`, and `snpjax` is its face, `import snpjax`.
ARROWS = {
    "snpjax_formats": "",
    "_text": "snpjax_formats",
    "_tiered": "driver",
    "drawing": "_text",
    "driver": "snpjax_formats _text _tiered choice scale run",
    "choice": "snpjax_formats _text _tiered driver",
    "scale": "snpjax_formats _text choice driver snpjax",
    "run": "snpjax_formats _text choice driver scale",
    "spiking": "snpjax_formats _text _tiered drawing choice driver scale",
    "sleptsov": "snpjax_formats _text _tiered drawing choice driver",
    "rate": "snpjax_formats _text choice driver",
    "numerical": "snpjax_formats _text choice driver",
    "proliferation": "snpjax_formats _text driver scale",
    "explore": "snpjax_formats _text _tiered drawing choice driver scale",
    "testing": "snpjax_formats _text choice spiking sleptsov numerical explore check",
    "check": "snpjax_formats _text _tiered choice driver scale run spiking sleptsov explore io"
    " testing",
    "learn": "snpjax_formats _text choice driver scale run spiking explore check",
    "io": "snpjax_formats _text drawing driver spiking sleptsov numerical proliferation explore"
    " check",
    "viz": "snpjax_formats _text drawing choice driver spiking sleptsov proliferation explore check"
    " io snpjax",
    "cli": "snpjax_formats _text choice driver scale spiking sleptsov numerical proliferation"
    " explore check io viz snpjax",
    "snpjax": "snpjax_formats choice driver scale run spiking sleptsov rate numerical proliferation"
    " explore check learn io viz",
    "__main__": "cli",
}
MACHINES = {"spiking", "sleptsov", "rate", "numerical", "proliferation"}
USERS = {"io", "viz", "cli", "testing", "check", "learn"}  # of machines


def package_of(module: str) -> str:
    root, *inner = module.split(".")
    if root == "snpjax_formats" or not inner:
        return root
    is_driver = f"snpjax.{inner[0]}" in product() and not product()[f"snpjax.{inner[0]}"].is_package
    return "driver" if is_driver and inner[0] not in ("run", "__main__") else inner[0]


def test_imports_go_down():
    """Between packages and between the layers of a machine; and tests, benchmarks and reference
    interpreters import only what they are allowed to."""
    violations = [
        *upward_arrows(),
        *upward_layers(),
        *imports_of_jax_by_references(),
        *dict.fromkeys(private_imports_of_tests()),
        *private_names_in_benchmarks(),
        *folders_of_tests_without_a_package(),
    ]
    assert not violations, "\n".join(violations)


def upward_arrows() -> Iterator[str]:
    allowed = {package: {*targets.split()} for package, targets in ARROWS.items()}
    # The table itself may grow, but not by these.
    never = {package: MACHINES - {package} | USERS | {"run"} for package in MACHINES}
    never |= dict.fromkeys(("driver", "run", "drawing", "explore", "choice"), MACHINES | USERS)
    never |= {"snpjax_formats": {*ARROWS}, "io": {"cli", "viz"}}
    for package, targets in never.items():
        yield from (f"ARROWS: {package} never imports {x}" for x in allowed[package] & targets)
    for name, records in imports_of_product().items():
        package = package_of(name)
        for one in records:
            target = package_of(module_of(one))
            is_ours = module_of(one).split(".")[0] in PACKAGES
            if is_ours and target not in (package, *allowed.get(package, ())):
                yield f"{one.place}: {package} imports {target}"


#: The layers of a machine, from the bottom.
LAYERS = ("model", "step", "lower", "view")


def upward_layers() -> Iterator[str]:
    """Only models import from higher layers, when one of their methods is called."""
    for name, records in imports_of_product().items():
        if not re.match(r"snpjax\.(spiking|sleptsov)\.\w+\.", name):
            continue
        machine, layer = name.split(".")[1:3]
        for one in records:
            _, *inner = module_of(one).split(".")
            if inner[:1] != [machine] or one.kind == "types":
                continue
            if LAYERS.index(inner[1]) > LAYERS.index(layer):
                if one.kind != "lazy" or not has_a_model(product()[name]):
                    yield f"{one.place}: {layer} imports {inner[1]}"


def has_a_model(module: Module) -> bool:
    """Look for a class with methods that `snpjax.machine.Model` asks for."""
    return any(
        isinstance(node, ast.FunctionDef) and node.name in ("lower", "solution", "solutions")
        for owner in module.tree.body
        if isinstance(owner, ast.ClassDef)
        for node in owner.body
    )


def imports_of_jax_by_references() -> Iterator[str]:
    """Also through what they import at the top of a module: rules, guards, models, validity. The
    layouts do import JAX, but these modules use only their functions of texts and arguments."""
    references = {name for name in product() if name.startswith("snpjax.testing.reference")}
    todo = [*references - {"snpjax.testing.reference_state"}]  # it converts states of machines
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        for one in imports_of_product()[name]:
            if one.kind == "top" and one.node in product()[name].tree.body:
                if one.base.split(".")[0] in ("jax", "jaxlib"):
                    yield f"{one.place}: {name} imports {one.base}"
                todo += [module_of(one)] if one.base.startswith("snpjax.") else []
    assert "snpjax.spiking.model.guard" in seen


def private_imports_of_tests() -> Iterator[str]:
    """A test imports public names, and what is inside the package that its folder is named after.
    A comment on the line says why another one is imported."""
    for test in modules_outside():
        if not test.path.name.startswith("test_"):
            continue
        folder = test.name.split(".")[1]
        own = "snpjax_formats" if folder == "formats" else f"snpjax.{folder}"
        for one in imports(test):
            name = module_of(one)
            is_inner = name.split(".")[0] in PACKAGES and name.count(".") > 1
            if is_inner and not f"{name}.".startswith(f"{own}.") and name not in MODULES:
                lines = _text(test).splitlines()[one.node.lineno - 1 : one.node.end_lineno]
                if not re.search("#(?! *(noqa|pyright|fmt|type):)", "".join(lines)):
                    yield f"{one.place}: {name} is not public (add a comment that says why)"


def private_names_in_benchmarks() -> Iterator[str]:
    for bench in modules_outside():
        if not bench.name.startswith("bench."):
            continue
        for one in imports(bench):
            name = module_of(one)
            is_package = name in product() and product()[name].is_package and name.count(".") == 1
            is_public = name in (*PACKAGES, *MODULES) or is_package and "._" not in name
            if name.split(".")[0] in PACKAGES and not is_public:
                yield f"{one.place}: {name} is not public"
        for node in ast.walk(bench.tree):
            match node:
                case ast.Attribute(attr=name) | ast.alias(name=name):
                    if name.startswith("_") and not name.endswith("__"):
                        yield f"{bench.at(node)}: {name} is not public"
                case _:
                    pass


def folders_of_tests_without_a_package() -> Iterator[str]:
    """A folder of tests has the name of the package that they test."""
    packages = {path.parent.name for path in PACKAGES["snpjax"].glob("*/__init__.py")}
    yield from (f"ARROWS: no line for snpjax.{name}" for name in packages - ARROWS.keys())
    allowed = {*packages, "formats", "bench", "support", "cases", "baseline"}
    for test in modules_outside():
        if test.name.startswith("tests."):
            if test.path.parent.name != "fuzz" and not (test.path.parent / "__init__.py").exists():
                yield f"{test.path.parent}: no __init__.py"
            folder = test.path.relative_to(REPOSITORY / "tests").parts[0]
            if not folder.endswith(".py") and folder not in allowed:
                yield f"{test.path}: no package is called {folder}"


# ---- entry points ----


#: `simulate` hands any state to what observes it; types of networkx and anywidget are for type
#: checkers only.
UNTYPED = {"simulate", "to_networkx", "view"}


def test_entry_points_are_typed():
    """No `Any` in a signature; and a protocol can be checked at run time, as type checkers do."""
    functions = {x: getattr(snp, x) for x in dir(snp) if inspect.isfunction(getattr(snp, x))}
    violations = []
    for name in functions.keys() - UNTYPED:
        signature = inspect.signature(functions[name], eval_str=True)
        annotations = {x.name: x.annotation for x in signature.parameters.values()}
        annotations["its result"] = signature.return_annotation
        code = inspect.unwrap(functions[name]).__code__
        violations += [
            f"{code.co_filename}:{code.co_firstlineno}: {name} does not state the type of {x}"
            for x, annotation in annotations.items()
            if contains_any(annotation)
        ]
    for module in product().values():
        for node, _ in statements(module.tree.body):
            if isinstance(node, ast.ClassDef) and "Protocol" in map(ast.unparse, node.bases):
                if "runtime_checkable" not in map(ast.unparse, node.decorator_list):
                    violations.append(f"{module.at(node)}: decorate it with `runtime_checkable`")
    assert not violations, "\n".join(sorted(violations))


def contains_any(annotation: object) -> bool:
    return annotation in (Any, inspect.Parameter.empty) or any(
        map(contains_any, typing.get_args(annotation))
    )


# ---- public names ----


def test_the_reference_lists_each_public_name_once():
    """And `dir` lists exactly these names, imported from where type checkers read that they are;
    and a class name has one meaning."""
    public = public_names()  # first: using the name of a lazy package changes its function
    listed = [item for path in listed_names() for item in items_of(path)]
    names = {public.get(key, key[0]) for key in listed}
    assert {path for key, path in public.items() if key not in listed} == set(), "in docs/api"
    assert names == {*public.values()}, "not public, or under another name"
    assert len(listed) == len(set(listed)), "twice"

    assert {"learn", "rate", "viz", "proliferation", "run", "lower", "simulate"} <= {*dir(snp)}
    assert {"choice", "io", "machine"} <= {*dir(snp)}  # what an extension imports from
    hidden = {"import_module", "Any", "TYPE_CHECKING", "version", "lowering", "results"}
    assert not hidden & {*dir(snp)}
    assert [name for name in dir(snp) if getattr(snp, name) is None] == []

    for package in (snp, snp.io, snpjax_formats):
        block = next(x for x in product()[package.__name__].tree.body if isinstance(x, ast.If))
        places = {}
        for node in block.body:
            assert isinstance(node, ast.ImportFrom), package
            assert all(one.asname == one.name for one in node.names), ast.unparse(node)
            places |= {one.name: "." * node.level + (node.module or "") for one in node.names}
        assert {name: place for name, place in places.items() if place != "."} == package._homes
        assert {name for name, place in places.items() if place == "."} <= package._modules

    classes: dict[str, list[str]] = {}
    for module in product().values():
        for node, _ in statements(module.tree.body):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes.setdefault(node.name, []).append(module.at(node))
    assert {"Rule", "Edges", "SpikingSystem"} <= classes.keys()
    assert {name: places for name, places in classes.items() if len(places) > 1} == {}


# ---- the wheel ----


def test_a_wheel_holds_both_packages_and_nothing_else():
    """Hatchling packs all files of the two folders but those that git ignores. The gate compares a
    wheel with the files of both, see `.ci/distributions.py`."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert {*wheel} == {"packages"}, "other options leave files out or move them"
    assert [REPOSITORY / path for path in wheel["packages"]] == [*PACKAGES.values()]
    suffixes = {".py", ".typed", ".lark", ".json", ".js", ".html", ".css", ".npz", ".md", ".txt"}
    ignored = (REPOSITORY / ".gitignore").read_text().split()
    violations = []
    for folder in PACKAGES.values():
        assert (folder / "py.typed").is_file(), folder
        for path in sorted(folder.rglob("*")):
            parts = path.relative_to(REPOSITORY).parts
            if "__pycache__" in parts or path.is_dir() and not path.is_symlink():
                continue
            if path.is_symlink():
                violations.append(f"{path}: a link is left out without a word")
            elif path.suffix not in suffixes:
                violations.append(f"{path}: a file of this kind is not used")
            elif {"tests", "test"} & {*parts} or path.name.startswith(("test_", "conftest")):
                violations.append(f"{path}: a test")
            for pattern in ignored:
                if any(fnmatch.fnmatch(part, pattern.strip("/")) for part in parts):
                    violations.append(f"{path}: `{pattern}` of .gitignore leaves it out")
    assert not violations, "\n".join(violations)


# ---- phrases ----


#: Phrases that are not idiomatic, and what to write.
PHRASES = {
    r"\bso (many|few)\b(?! that)": "this many, that many, n",
    r"\bthat there is not\b": "an unknown ..., an out-of-range ...",
    r"\bwhole,? or not there\b": "written atomically",
    r"\banew\b": "again, re-...",
    r"\bgive one of them\b": "use either ... or ...",
    r"\bcorrect this place\b": "expected ..., fix the syntax here",
    r"\bsays? the rest\b": "see ...",
    r"\botherwise than\b": "differently from",
    r"\bvain\b": "redundant",
    r"\bof account\b": "to matter",
    r"\bkin\b": "related",
}

#: The same for what users read: the documentation and the examples.
PHRASES_OF_PAGES = {
    r"\b(is|are|was|were) told\b": "takes, receives, knows",
    r"\btold apart\b|\btells? (\S+ ){1,4}apart\b": "distinguish",
    r"\bknows? nothing of\b": "is independent of",
    r"\bgo(es)? on\b": "continue",
    r"\blooked at\b": "examined, evaluated",
    r"(?<!there )\b(is|are) no (?!longer\b|more\b)[a-z]": "is not a ...",
    r"\ba \w+ a (column|neuron|node|path|place|row|rule|step)\b": "one ... for each ...",
    r"\bhears?\b": "listens to, receives from",
    r"\bwhat (is|was) (asked|given|meant|said|told|wrong)\b": "name it",
    r"\bstands? (after|among|at|before|behind|in)\b": "is in, follows",
    r"\b(is|are|was|were) asked (for|of)\b": "request, pass",
    r"\bwhich \w+ says\b": "as ... states; ... says so",
    r"\ball the same\b": "nevertheless",
    r"\blikewise\b": "in the same way",
    r"\bmade up\b(?! of)": "invented",
    r"\bin the end\b": "at the end, finally",
    r"\bother ones\b": "others",
    r"\bbeside\b": "next to, compared with",
    r"\bwhoever\b": "name the actor",
    r"\bof (our|one's) own\b": "of your own",
    r"\bwhole numbers?\b": "integers",
}

#: Code that the product does without.
CODE = {r"\bhasattr\(": "a protocol, an abstract class or isinstance"}

#: Folders of `docs` that the build of the site writes.
GENERATED = ("gallery", "benchmarks")


def test_no_listed_phrases():
    """Of English that is not idiomatic, and of code that has a better form."""
    pages = "README.md", "CONTRIBUTING.md"
    violations = [
        *phrases(PHRASES, ("snpjax", "formats", "docs", "examples", "bench"), pages),
        *phrases(PHRASES_OF_PAGES, ("docs", "examples"), pages),
        *phrases(CODE, ("snpjax", "formats"), suffixes=("*.py",)),
        *files_opened_for_writing(),
        *processes_of_tests(),
    ]
    assert not violations, "\n".join(violations)


def phrases(
    patterns: dict[str, str],
    folders: Sequence[str],
    names: Sequence[str] = (),
    suffixes: Sequence[str] = ("*.py", "*.md", "*.js", "*.html", "schema.json"),
) -> Iterator[str]:
    """Places where the files of the folders, and the files with these names, have a phrase."""
    texts = [
        path
        for folder in folders
        for suffix in suffixes
        for path in sorted((REPOSITORY / folder).rglob(suffix))
        if not {"vendor", *GENERATED} & {*path.parts}
    ]
    for path in [*texts, *(REPOSITORY / name for name in names)]:
        text = path.read_text(encoding="utf-8")
        for pattern, instead in patterns.items():
            for match in re.finditer(pattern, text, re.IGNORECASE):
                line = text.count("\n", 0, match.start()) + 1
                yield f"{path.relative_to(REPOSITORY)}:{line}: {match[0]!r} (write {instead})"


#: Functions that open files for writing or move them: those of the atomic writer, where timings are
#: appended, where a folder is locked, and for standard output.
WRITERS = """
    _write_in_place _rename create abandoned sync_folder Replacement.begin Replacement.undo
    gather _end_line Store.__init__ _shorten_complaints drop_output standard_streams
    DeviceOptions.mesh
""".split()


_WRITING = re.compile(r"open\(|write_|savetxt|mkstemp|NamedTemp|os\.(replace|rename|link)")


def files_opened_for_writing() -> Iterator[str]:
    seen = set()
    for module in product().values():
        if _WRITING.search(_text(module)):
            for call, function in calls(module.tree):
                if _writes(call):
                    seen.add(function)
                    if function not in WRITERS:
                        yield f"{module.at(call)}: {function} opens a file (use `atomic_write`)"
    assert {"create", "gather"} <= seen


def _text(module: Module) -> str:
    return module.path.read_text(encoding="utf-8")


def calls(node: ast.AST, function: str = "") -> Iterator[tuple[ast.Call, str]]:
    """Calls and the qualified name of the function that each one is in."""
    for child in ast.iter_child_nodes(node):
        inner = function
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            inner = f"{function}.{child.name}".lstrip(".")
        if isinstance(child, ast.Call):
            yield child, function
        yield from calls(child, inner)


def _writes(call: ast.Call) -> bool:
    """Recognise a call that opens a file for writing or moves one."""
    name = ast.unparse(call.func)
    if name.split(".")[-1] in ("open", "fdopen"):
        texts = [x.value for x in ast.walk(call) if isinstance(x, ast.Constant)]
        modes = [x for x in texts if isinstance(x, str) and re.fullmatch("[rwaxbt+]{1,4}", x)]
        is_new = "O_CREAT" in ast.unparse(call) or name == "os.open"
        return is_new or any({*"wax+"} & {*mode} for mode in modes)
    last = ("write_text", "write_bytes", "savetxt", "mkstemp", "NamedTemporaryFile")
    return name.split(".")[-1] in last or name in ("os.replace", "os.rename", "os.link")


def processes_of_tests() -> Iterator[str]:
    """`tests.support.processes` kills their groups, and gives them the signals of a shell's
    child."""
    starters = re.compile(
        r"subprocess|multiprocessing|pty"
        r"|os\.(fork|forkpty|popen|posix_spawnp?|spawn.*|system)|asyncio\.create_subprocess.*"
    )
    for test in modules_outside():
        if test.name == "tests.support.processes" or test.name.startswith("bench"):
            continue
        if not re.search("subprocess|multiprocessing|pty|os[.]|from os", _text(test)):
            continue
        used: list[tuple[ast.stmt | ast.expr, str]] = [
            (one.node, name)
            for one in imports(test)
            for name in (one.base, f"{one.base}.{one.name}")
        ]
        used += [(x, ast.unparse(x)) for x in ast.walk(test.tree) if isinstance(x, ast.Attribute)]
        for node, name in used:
            if starters.fullmatch(name):
                yield f"{test.at(node)}: {name} (use tests/support/processes.py)"
