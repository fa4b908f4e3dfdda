"""Models in JSON or YAML, with the fields of ProCell's projects.

A `.prc` project itself is a Python pickle, which is never opened: unpickling runs what is in it.
"""

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from snpjax_formats.atomic import atomic_write

from ...proliferation.binning import Bins
from ...proliferation.histogram import Histogram
from ...proliferation.law import Gamma
from ...proliferation.model import TOLERANCE, CellType, ProliferationModel
from ...proliferation.start import Start
from ..errors import file_error
from ..formats import refuse_other_kind
from ..json_checks import Entries, Findings, abbreviated, read_values
from ..json_text import JsonPath
from ..source import Report, load, reading
from ..yaml_text import Plain
from .histogram import read_histogram
from .types import columns_of, law_of


_FIELDS = (("mean", "min_mean", "max_mean"), ("std", "min_std", "max_std"))
#: The keys of a model file, those that only ProCell uses, and the keys of a population. The tables
#: of docs/proliferation.md describe them.
KEYS = (
    *("project_name", "initial_file", "target_file", "validation_file", "simulation_time"),
    *("simulation_validation_time", "fluorescence_threshold", "asynchronous", "start", "bins"),
    *("lowest_bin", "highest_bin", "populations"),
)
UNUSED_KEYS = ("normalize_to_target", "algorithm", "swarm_size", "iterations")
POPULATION_KEYS = (
    *("name", "proportion", "mean", "std", "law", "min_mean", "max_mean", "min_std", "max_std"),
    "info",
)
#: The root of a path of another machine, from which only the name of the file is kept.
_ROOT = re.compile(r"/|[A-Za-z]:|~")


@dataclass(frozen=True)
class ModelFile:
    """What a model file says; what it does not is `None`.

    - `types`: the cell types; `bounds`: where a calibration searches.
    - `duration`, `validation_duration`: in hours.
    - `initial`, `target`, `validation`: histogram files, as paths relative to `folder`. Absolute
      paths, which belong to another machine, are cut to their last part.
    - `others`: fields that only ProCell uses, kept as they are.
    """

    types: tuple[CellType, ...]
    name: str = ""
    duration: float | None = None
    validation_duration: float | None = None
    phi_min: float | None = None
    start: Start = Start.ASYNC
    bins: Bins | None = None
    initial: str | None = None
    target: str | None = None
    validation: str | None = None
    bounds: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    others: Mapping[str, object] = field(default_factory=dict)
    folder: Path = Path(".")

    def __post_init__(self) -> None:
        unknown = self.others.keys() - set(UNUSED_KEYS)
        if unknown:
            raise ValueError(
                f"`others` has the unknown key {min(unknown)!r} (known: {', '.join(UNUSED_KEYS)})"
            )

    def histogram(self, which: str) -> Histogram:
        """Read the `initial`, `target` or `validation` histogram.

        **Raises:** `ValueError` if the file names none, or one outside its folder; `ReadError`.
        """
        name = getattr(self, which)
        if name is None:
            raise ValueError(f"the model names no {which} file (give the histogram)")
        if ".." in name.split("/"):  # models may come from anywhere
            raise ValueError(
                f"the {which} file {name!r} of the model is outside its folder (give the histogram)"
            )
        return read_histogram(self.folder / name)

    def model(
        self,
        initial: Histogram | None = None,
        *,
        duration: float | None = None,
        phi_min: float | None = None,
        start: Start | None = None,
    ) -> ProliferationModel:
        """The model, with some values replaced.

        **Arguments:**

        - `initial`: the initial histogram; by default it is read from the file that the model
          names.
        - `duration`: hours.
        - `phi_min`: the threshold of fluorescence.
        - `start`: the start rule.

        **Raises:** `ValueError` if neither the file nor the call has a duration; `InvalidModel`;
        `ReadError`.
        """
        duration = self.duration if duration is None else duration
        if duration is None:
            raise ValueError("the model has no simulation time (give the duration in hours)")
        return ProliferationModel(
            self.histogram("initial") if initial is None else initial,
            self.types,
            duration=duration,
            phi_min=self.phi_min if phi_min is None else phi_min,
            start=start or self.start,
        )


def read_model(
    path: str | os.PathLike[str], *, gamma: bool = False, is_yaml: bool | None = None
) -> ModelFile:
    """Read a model from JSON or YAML.

    **Arguments:**

    - `path`: the file.
    - `gamma`: `mean` and `std` of all populations are shape and scale, as they always are in a
      population with `"law": "gamma"`.
    - `is_yaml`: whether the file is YAML; by default whether its suffix is `.yaml` or `.yml`.

    **Returns:** the contents of the file.

    **Raises:** `ReadError` with every error, each `path:line:column: problem (fix)`.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".prc":
        fix = "write its fields as JSON; a pickle may run anything when it is opened"
        raise file_error(os.fspath(path), f"a .prc project is a Python pickle ({fix})")
    if is_yaml is None:
        is_yaml = suffix in (".yaml", ".yml")
    source = load(path)
    report = Report(source)

    def read(findings: Findings, value: object) -> ModelFile | None:
        top = findings.entries(_plain(value), (), "the model", (*KEYS, *UNUSED_KEYS))
        return None if top is None else _Reader(top, gamma).read(Path(path).parent)

    with reading():
        found = read_values(report, read, is_yaml=is_yaml)
    if report.has_errors:
        refuse_other_kind(source, "proliferation")
    report.finish()
    assert found is not None
    return found


def _plain(value: object) -> object:
    """A value of YAML as JSON would have it."""
    if isinstance(value, Plain):
        return value.value
    if isinstance(value, dict):
        value.update({key: _plain(item) for key, item in value.items()})
        return value
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _is_unset(value: object) -> bool:
    return value is None or value in ("", "-")


class _Reader:
    def __init__(self, top: Entries, gamma: bool):
        self.top = top
        self.gamma = gamma
        self.types: list[CellType] = []
        self.names: set[str] = set()
        self.bounds: dict[str, dict[str, tuple[float, float]]] = {}

    def read(self, folder: Path) -> ModelFile:
        self._populations()
        phi_min = self._number("fluorescence_threshold")
        if phi_min is not None and phi_min <= 0:
            fix = "write a positive fluorescence, or leave it out: a threshold of 0 has no end"
            self._error("fluorescence_threshold", f"the threshold is {phi_min:g} ({fix})")
        return ModelFile(
            tuple(self.types),
            self._text("project_name") or "",
            duration=self._number("simulation_time", least=0.0),
            validation_duration=self._number("simulation_validation_time", least=0.0),
            phi_min=phi_min,
            start=self._start(),
            bins=self._bins(),
            initial=self._file("initial_file"),
            target=self._file("target_file"),
            validation=self._file("validation_file"),
            bounds=self.bounds,
            others={key: value for key, value in self.top.values.items() if key in UNUSED_KEYS},
            folder=folder,
        )

    def _populations(self) -> None:
        if not self.top.has("populations"):
            return
        items = self.top.items("populations")
        if self.top.values["populations"] == []:
            self._error("populations", '"populations" is empty (list one or more)')
        for number, (place, item) in enumerate(items):
            what = f"population {number + 1}"
            entries = self.top.findings.entries(item, place, what, POPULATION_KEYS)
            if entries is not None:
                self._population(entries, f"{entries.values.get('name', number)}")
        total = math.fsum(cell_type.proportion for cell_type in self.types)
        if items and len(self.types) == len(items) and abs(total - 1) > TOLERANCE:
            text = f"the proportions are to sum to 1, and sum to {total:.10g} (correct them)"
            self._error("populations", text)

    def _population(self, entries: Entries, name: str) -> None:
        findings, what = entries.findings, f"population {name!r}"
        entries = replace(entries, what=what)
        if name in self.names:
            findings.error(entries.at("name"), f"{what} appears twice (rename one)")
        self.names.add(name)
        proportion = entries.take("proportion", self._value, f"{what}: proportion")
        if proportion is None:
            return
        if proportion < 0:
            text = f"{what}: proportion {proportion:g} is negative (write 0 to 1)"
            findings.error(entries.at("proportion"), text)
        law = entries.values.get("law", "normal")
        if law not in ("normal", "gamma"):
            text = f"{what}: law {abbreviated(law)} (normal or gamma)"
            findings.error(entries.at("law"), text)
        unset = [_is_unset(entries.values.get(key)) for key in ("mean", "std")]
        if all(unset):
            self.types.append(CellType(name, proportion))
            return
        if any(unset):
            fix = 'write two numbers, or "-" twice for a quiescent population'
            text = f"{what}: mean and std are to be given both, or neither ({fix})"
            findings.error(entries.path, text)
            return
        is_gamma = self.gamma or law == "gamma"
        mean, std = (entries.take(key, self._value, f"{what}: {key}") for key in ("mean", "std"))
        if mean is None or std is None:
            return
        wrong = {"mean": mean} if mean <= 0 else {}
        wrong |= {"std": std} if std < 0 or (is_gamma and std == 0) else {}
        for key, value in wrong.items():
            text = f"{what}: {key} {value:g} is not positive (write hours)"
            findings.error(entries.at(key), text)
        if wrong:
            return
        division = law_of(mean, std, is_gamma)
        self.types.append(CellType(name, proportion, division))
        for parameter, (_, low, high) in zip(division.fields, _FIELDS, strict=False):
            limits = self._limits(entries, low, high)
            if limits is not None:
                self.bounds.setdefault(name, {})[parameter] = limits

    def _limits(self, entries: Entries, low: str, high: str) -> tuple[float, float] | None:
        """Two bounds, `None` if they are not set."""
        what = entries.what
        unset = [_is_unset(entries.values.get(key)) for key in (low, high)]
        if all(unset):
            return None
        if any(unset):
            text = f"{what}: {low} and {high} are to be given both, or neither (write two numbers)"
            entries.findings.error(entries.path, text)
            return None
        least, most = (entries.take(key, self._value, f"{what}: {key}") for key in (low, high))
        if least is None or most is None or least == most == 0:
            return None
        if 0 <= least < most:
            return least, most
        text = f"{what}: {low} {least:g} and {high} {most:g} (write them in order)"
        entries.findings.error(entries.at(low), text)
        return None

    def _start(self) -> Start:
        rule = self.top.values.get("start")
        is_async = self.top.take("asynchronous", self.top.findings.truth, "asynchronous", True)
        usual = Start.SYNC if is_async is False else Start.ASYNC
        if rule is None:
            return usual
        known = [start.value for start in Start]
        if rule not in known:
            fix = f"write one of {', '.join(known)}"
            self.top.findings.wrong(rule, ("start",), "start", fix)
        elif "asynchronous" in self.top and rule != usual.value:
            shown = abbreviated(self.top.values["asynchronous"])
            text = f"start is {rule!r}, which contradicts asynchronous {shown} (remove one)"
            self._error("start", text)
        return Start(rule) if rule in known else usual

    def _bins(self) -> Bins | None:
        usual = Bins()
        defaults = {"lowest_bin": usual.lowest, "highest_bin": usual.highest, "bins": usual.num}
        if all(self._is_unset(key) for key in defaults):
            return None
        lowest, highest, num = (
            default if self._is_unset(key) else self._number(key)
            for key, default in defaults.items()
        )
        if lowest is None or highest is None or num is None:
            return None
        if not float(num).is_integer():
            self._error("bins", f"bins is {num:g} (write an integer)")
            return None
        try:
            return Bins(lowest, highest, int(num))
        except ValueError as error:
            self._error("bins", str(error))
            return None

    def _file(self, key: str) -> str | None:
        text = (self._text(key) or "").replace("\\", "/")
        name = text.split("/")[-1]
        return (name if _ROOT.match(text) else text) if name else None

    def _is_unset(self, key: str) -> bool:
        return _is_unset(self.top.values.get(key))

    def _text(self, key: str) -> str | None:
        return None if self.top.values.get(key) is None else self.top.text(key, key)

    def _number(self, key: str, *, least: float | None = None) -> float | None:
        if self._is_unset(key):
            return None
        value = self.top.take(key, self._value, key)
        if value is not None and least is not None and value < least:
            self._error(key, f"{key} is {value:g} (write {least:g} or more)")
        return value

    def _value(self, value: object, place: JsonPath, what: str) -> float | None:
        if isinstance(value, int | float) and type(value) is not bool and math.isfinite(value):
            return float(value)
        return self.top.findings.wrong(value, place, what, "write a number")

    def _error(self, key: str, message: str) -> None:
        self.top.findings.error((key,), message)


def write_model(model: ModelFile, path: str | os.PathLike[str]) -> None:
    """Write a model as JSON, which is valid YAML, too, with all that was read.

    **Arguments:**

    - `model`: the model.
    - `path`: the file, which is replaced if it exists.
    """
    atomic_write(Path(path), model_json(model))


def model_json(model: ModelFile) -> str:
    """Format a model as JSON.

    **Arguments:**

    - `model`: the model.

    **Returns:** the text of a model file.
    """
    populations = []
    for cell_type in model.types:
        law = cell_type.law
        first, second = ("-", "-") if law is None else columns_of(law)
        entry: dict[str, object] = {
            "name": cell_type.name,
            "proportion": cell_type.proportion,
            "mean": first,
            "std": second,
        }
        if isinstance(law, Gamma):
            entry["law"] = "gamma"
        limits = model.bounds.get(cell_type.name, {})
        for i, (_, low, high) in enumerate(_FIELDS):
            name = None if law is None or i >= len(law.fields) else law.fields[i]
            entry[low], entry[high] = limits.get(name, ("-", "-")) if name else ("-", "-")
        populations.append(entry)
    top: dict[str, object] = {
        "project_name": model.name,
        "initial_file": model.initial or "",
        "target_file": model.target or "",
        "validation_file": model.validation or "",
        "simulation_time": model.duration,
        "simulation_validation_time": model.validation_duration,
        "fluorescence_threshold": model.phi_min,
    }
    top = {key: value for key, value in top.items() if value is not None}
    if model.start in (Start.ASYNC, Start.SYNC):
        top["asynchronous"] = model.start is Start.ASYNC
    else:
        top["start"] = model.start.value
    if model.bins is not None:
        top["bins"] = model.bins.num
        top["lowest_bin"], top["highest_bin"] = model.bins.lowest, model.bins.highest
    top |= {"populations": populations, **model.others}
    return json.dumps(top, indent=1, ensure_ascii=False) + "\n"
