"""No name from a file, a query, a request or the environment becomes code."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.helpers import REPOSITORY


FILES = [
    path for folder in ("snpjax", "formats") for path in sorted((REPOSITORY / folder).rglob("*.py"))
]

#: Modules whose purpose is to turn data into objects or commands.
MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "runpy", "code", "imp"}
BUILTINS = {"eval", "exec", "compile", "__import__"}
CALLS = {
    "import_module",
    "attrgetter",
    "methodcaller",
    "system",
    "popen",
    "Popen",
    "check_output",
    "run_module",
}

#: Calls that import or start something by a name that is computed, and where the name is from.
CALLS_REVIEWED = {
    "snpjax/cli/app.py: import_module(f'.{name}', __package__)": "a command that is listed above",
    "snpjax/compilation.py: import_module(name)": "two names in the line above",
    "snpjax/io/formats.py: import_module(module, __package__)": "places in the table of formats",
    "snpjax/scale/hosts.py: subprocess.Popen([sys.executable, '-I', '-S', str(script)], "
    "stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)": "a file of ours",
    "snpjax/testing/__init__.py: import_module(f'.{_HOMES[name]}', __name__)": "a table",
    "snpjax/viz/axes.py: import_module(f'matplotlib.{name}')": "names in the code that calls it",
    "formats/snpjax_formats/annotations.py: eval(annotation, {}, _Names(scope))": (
        "an annotation of a signature in our source"
    ),
    "formats/snpjax_formats/annotations.py: import_module(module)": "our modules, and a table",
    "formats/snpjax_formats/lazy.py: import_module(f'.{name}', self.__name__)": "listed submodules",
    "formats/snpjax_formats/lazy.py: import_module(self._homes[name], self.__name__)": "a table",
    "formats/snpjax_formats/select/__init__.py: import_module(f'.{_LATER[name]}', __name__)": (
        "a table"
    ),
    "formats/snpjax_formats/select/model.py: np.load(raw, allow_pickle=False)": "no pickles",
}

#: Files in which an attribute is looked up by a name that is computed, by where the name is from.
ATTRIBUTES_REVIEWED = {
    "fields, kinds or columns that the code around it lists": """
        snpjax/check/certificate/certificate.py snpjax/check/reduction/plan.py
        snpjax/check/reduction/questions.py snpjax/check/reduction/symmetry.py
        snpjax/cli/sleptsov.py snpjax/explore/memory_limits.py snpjax/io/native/graphs.py
        snpjax/io/plingua/populations.py snpjax/io/proliferation/model.py snpjax/learn/export.py
        snpjax/learn/genome.py snpjax/learn/initial.py snpjax/learn/nir/read.py
        snpjax/learn/nir/write.py snpjax/learn/population.py snpjax/learn/relaxed.py
        snpjax/learn/robustness/box.py snpjax/proliferation/law.py snpjax/proliferation/search.py
        snpjax/results.py snpjax/scale/hosts.py snpjax/scale/paths.py snpjax/scale/streams.py
        snpjax/sleptsov/linking.py snpjax/sleptsov/lower/lower.py
        snpjax/sleptsov/lower/lowered.py snpjax/sleptsov/model/net.py
        snpjax/sleptsov/model/validity.py snpjax/sleptsov/sizes.py
        snpjax/spiking/lower/lower_division.py snpjax/spiking/model/compatibility.py
        snpjax/spiking/model/renaming.py snpjax/spiking/model/system.py
        snpjax/spiking/step/gpu_loop.py snpjax/spiking/step/partitioned.py
        snpjax/viz/page/queries.py formats/snpjax_formats/graphs.py
        formats/snpjax_formats/select/features.py formats/snpjax_formats/select/model.py
        formats/snpjax_formats/sum.py formats/snpjax_formats/by_value.py
        snpjax/_text/pickling.py snpjax/scale/identity.py""",
    "fields that a table of registered classes lists": "snpjax/learn/exported.py",
    "the parameters that a Python caller of the library lists": "snpjax/learn/trainable.py",
    "attributes of an object of a Python caller, by its own dictionary": "snpjax/scale/digest.py",
    "a command, a reduction or a kind of arcs, looked up in a table before": """
        snpjax/cli/app.py snpjax/cli/check.py snpjax/viz/page/net_operations.py""",
    "a public name that a table lists": """
        snpjax/io/formats.py formats/snpjax_formats/arguments.py""",
}


#: Texts of which files without any need not be parsed.
_PARTS = re.compile(
    rf"(import|from) +({'|'.join(MODULES)})\b|(?<![.\w])({'|'.join(BUILTINS)})\("
    rf"|\b({'|'.join(CALLS)})\(|\b(np|numpy)\.load\(|\byaml\.(unsafe_)?load\(|os\.(exec|spawn)"
)


def _calls(path: Path) -> Iterator[str]:
    """Imports and calls that make objects or processes of data."""
    text = path.read_text()
    for node in ast.walk(ast.parse(text)) if _PARTS.search(text) else ():
        modules = [x.name for x in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            modules = [node.module or ""]
        if any(name.split(".")[0] in MODULES for name in modules):
            yield ast.unparse(node)
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        last = called.rpartition(".")[2]
        is_computed = bool(node.args) and not isinstance(node.args[0], ast.Constant)
        if (
            called in (*BUILTINS, "np.load", "numpy.load", "yaml.load", "yaml.unsafe_load")
            or (last in CALLS and is_computed)
            or (called.startswith(("os.exec", "os.spawn")))
        ):
            yield ast.unparse(node)


def _looks_up_by_computed_name(path: Path) -> bool:
    text = path.read_text()
    return "getattr(" in text and any(
        isinstance(node, ast.Call)
        and ast.unparse(node.func) == "getattr"
        and not isinstance(node.args[1], ast.Constant)
        for node in ast.walk(ast.parse(text))
    )


def test_no_name_is_imported_or_called():
    calls = {f"{path.relative_to(REPOSITORY)}: {x}" for path in FILES for x in _calls(path)}
    assert calls == CALLS_REVIEWED.keys()


def test_attributes_by_name_are_reviewed():
    lookups = {str(x.relative_to(REPOSITORY)) for x in FILES if _looks_up_by_computed_name(x)}
    assert lookups == {name for files in ATTRIBUTES_REVIEWED.values() for name in files.split()}


@pytest.mark.parametrize(
    "line",
    [
        "import pickle",
        "from pickle import loads",
        "found = import_module(name)",
        "importlib.import_module(f'x.{name}')",
        "eval(text)",
        "subprocess.Popen(command)",
        "np.load(path)",
    ],
)
def test_the_search_finds(tmp_path, line):
    (tmp_path / "x.py").write_text(line)
    assert list(_calls(tmp_path / "x.py"))
