"""What the page asks for: models that are opened, stepped, edited, explored and saved."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from ... import __version__
from ...explore import Graph, Patience
from ...io import ReadError
from ...io.errors import MAX_SHOWN
from ...io.formats import formats_of
from ...spiking import SpikingSystem
from ...spiking.model.validity import Level
from .arguments import Refused, integer
from .edits import Edit
from .explored import MOST_CONFIGURATIONS, explored, follow, graph_json
from .models import (
    PageModel,
    changed_model,
    edited_model,
    next_rows,
    num_counts,
    opened_json,
    stepper_of,
)
from .moment import Moment
from .palette import palette_json
from .properties import MOST_SECONDS, checked, numbers_json, verdict_text, witnessed
from .queries import condition_of
from .recorded import page_of
from .stepping import AbstractStepper, Rest
from .subsets import ChosenSubset
from .texts import (
    MODEL_FORMATS,
    OpenedModel,
    diagnostics_json,
    edited_text,
    empty_json,
    file_name,
    formats_json,
    is_alone,
    open_model,
    opened_system,
    text_and_losses,
)


Answer: TypeAlias = dict[str, Any]
Outcome: TypeAlias = Literal["answered", "refused", "failed"]

#: Models that are kept, the latest ones: undo and redo lead to 100 each. Of larger models fewer are
#: kept, by the characters of all texts, but never fewer than the least.
_MOST_MODELS, _MOST_CHARACTERS, _LEAST_MODELS = 256, 100_000_000, 16
#: Computations whose steps and graphs are kept, the latest ones.
_MOST_COMPUTATIONS = 16
_NUMBERS_IN_ANSWER = 300_000
#: What a page says of a computation that it has itself.
_RECORDED = ("rows", "branch", "branches", "graph", "verdict", "rest", "loop", "refused")


@dataclass(eq=False)
class _Computation:
    """The computation of a model; its stepper is built on first use."""

    number: int
    model: PageModel
    graph: Graph | None = None

    @cached_property
    def stepper(self) -> AbstractStepper[Any]:
        return stepper_of(self.model)

    def forget(self) -> None:
        """Begin again when it is used next."""
        self.graph = None
        self.__dict__.pop("stepper", None)


@dataclass(eq=False)
class _Kept:
    """A model, and its computation, which models share that differ in positions only."""

    found: OpenedModel
    is_edited: bool
    computation: _Computation

    @property
    def stepper(self) -> AbstractStepper[Any]:
        return self.computation.stepper


class _Search:
    """A search for a verdict or numbers, which may be cancelled while it waits for other answers.
    Its time starts when it begins."""

    def __init__(self, computation: _Computation):
        self.computation = computation
        self.is_cancelled = False
        self._patience: Patience | None = None

    @property
    def has_begun(self) -> bool:
        """Whether it waits no longer."""
        return self._patience is not None

    def begin(self) -> Patience:
        self._patience = Patience(MOST_SECONDS)
        if self.is_cancelled:
            self._patience.interrupt()
        return self._patience

    def cancel(self) -> None:
        self.is_cancelled = True
        if self._patience is not None:
            self._patience.interrupt()


class Session:
    """The answers to one server's pages, which open at the computation that decides a `query`, if
    there is one. Each opened or edited text is a model of its own, so that pages do not disturb
    each other. Texts are read while steps are compiled; otherwise one question is answered at a
    time."""

    def __init__(
        self,
        name: str,
        text: str,
        *,
        level: Level = "extended",
        format: str | None = None,
        query: str | None = None,
    ):
        self.name, self.text, self._format, self.query = name, text, format, query
        self.level: Level = level
        self._models: OrderedDict[int, _Kept] = OrderedDict()
        self._computations: OrderedDict[int, _Computation] = OrderedDict()
        self._next = self._characters = 0
        self._is_closed = False
        self._searches: list[_Search] = []
        self._reading, self._stepping = threading.Lock(), threading.Lock()
        self._readers: Mapping[str, Callable[[Answer], Answer]] = {
            "alive": lambda question: {},
            "begin": self._begin,
            "open": self._open,
            "check": self._check,
            "edit": self._edit,
            "change": self._change,
            "save": self._save,
            "page": self._page,
            "cancel": self._cancel,
        }
        self._steppers: Mapping[str, Callable[[Answer, _Kept], Answer]] = {
            "first": self._first,
            "step": self._step,
            "explore": self._explore,
            "go": self._go,
            "replay": self._replay,
            "where": self._where,
        }
        self._searchers: Mapping[str, Callable[[Answer, _Kept, Patience], Answer]] = {
            "property": self._property,
            "numbers": self._numbers,
        }

    def answer(self, call: str, question: Answer) -> Answer:
        """Answer a request of the page.

        **Arguments:**

        - `call`: its kind, such as `"open"` or `"step"`.
        - `question`: its arguments, as JSON.

        **Returns:** the answer, as JSON.

        **Raises:** `Refused` with the problem, for a request that cannot be answered.
        """
        if call in self._readers:
            with self._reading:
                return self._readers[call](question)
        if call not in {**self._steppers, **self._searchers}:
            raise Refused(f"There is no call {call!r}.")
        with self._reading:
            kept = self._model(question)
        if call in self._steppers:
            with self._computing(kept):
                return self._steppers[call](question, kept)
        with self._searching(kept) as search, self._computing(kept):
            return self._searchers[call](question, kept, search.begin())

    def reply(self, call: str, question: Answer) -> tuple[Answer, Outcome]:
        """Answer a request of the page, whatever happens.

        **Arguments:**

        - `call`, `question`: those of `answer`.

        **Returns:** the answer, or the reason under `"refused"`, and which of these it is.
        """
        try:
            return self.answer(call, question), "answered"
        except Refused as error:
            return {"refused": f"{error}"}, "refused"
        except Exception as error:  # the page shows it; what answers lives on
            message = (
                f"{type(error).__name__}: {error}. This is a bug of snpjax; please report it "
                "with the model."
            )
            return {"refused": message}, "failed"

    def show(self, found: OpenedModel, *, is_edited: bool = False) -> Answer:
        """Keep a model that was opened elsewhere.

        **Arguments:**

        - `found`: the model with its text.
        - `is_edited`: whether it is an edit of another model.

        **Returns:** the answer to `"open"` for its text.
        """
        with self._reading:
            return self._described(self._keep(found, is_edited=is_edited))

    def opened(self, question: Answer) -> tuple[OpenedModel, bool]:
        """The model that a request of the page names.

        **Arguments:**

        - `question`: the arguments of a request, with the number of the `model`.

        **Returns:** the model as it was opened or edited, and whether it was edited.

        **Raises:** `Refused` for one that is no longer kept.
        """
        with self._reading:
            kept = self._model(question)
            return kept.found, kept.is_edited

    def close(self) -> None:
        """Answer nothing more that JAX has to compute, and wait until it does not: an interpreter
        that ends meanwhile ends badly (jax 0.10.2, CPU)."""
        self._is_closed = True
        for search in list(self._searches):
            search.cancel()
        with self._stepping:
            pass

    @property
    def is_busy(self) -> bool:
        """Whether a question is being answered."""
        return self._reading.locked() or self._stepping.locked()

    # ---- the calls ----

    def _begin(self, question: Answer) -> Answer:
        del question
        found = {
            "version": __version__,
            "formats": formats_json(),
            "palette": palette_json(),
            "empty": empty_json(self.level),
            "query": self.query,
        }
        return {**found, **self._opened(self.name, self.text, self._format)}

    def _open(self, question: Answer) -> Answer:
        readable = [name for name, x in MODEL_FORMATS.items() if x.reader and is_alone(x)]
        format = _one_of(question, "format", [None, *readable])
        return self._opened(_text(question, "name"), _text(question, "text"), format)

    def _opened(self, name: str, text: str, format: Any) -> Answer:
        try:
            found = open_model(name, text, format=format, level=self.level)
        except ReadError as error:
            some = diagnostics_json(error.diagnostics[:MAX_SHOWN])
            more = len(error.diagnostics) - len(some)
            own = file_name(name)
            return {"read": False, "name": own, "text": text, "findings": some, "more": more}
        return self._described(self._keep(found))

    def _described(self, kept: _Kept) -> Answer:
        found = kept.found
        return {
            **opened_json(found),
            "model": next(reversed(self._models)),
            "computation": kept.computation.number,
            "format": found.format.name,
            "edited": kept.is_edited,
        }

    def _first(self, question: Answer, kept: _Kept) -> Answer:
        """The beginning of a computation. Later steps stay: this may be answered late, when the
        page has continued."""
        del question
        stepper = kept.stepper
        # The next question will be a step: it is compiled while somebody looks at the picture.
        threading.Thread(target=self._prepare, args=(stepper,)).start()
        return {"rows": [stepper.row_json(stepper.moments[0], None)]}

    def _prepare(self, stepper: AbstractStepper[Any]) -> None:
        with self._stepping:
            if not self._is_closed:
                stepper.prepare()

    def _step(self, question: Answer, kept: _Kept) -> Answer:
        at, count = _kept_step(question, "at", kept), _number(question, "count")
        chosen, rest, system = _pairs(question, "chosen"), _rest(question), kept.found.system
        subsets = _subsets(question)
        most = max(_NUMBERS_IN_ANSWER // max(num_counts(system), 1), 1)
        until = question.get("until")
        stops = None if not until else condition_of(system, _text(question, "until"))
        count = min(count, most)
        rows, refused = next_rows(system, kept.stepper, at, count, chosen, rest, stops, subsets)
        if refused is not None and not rows:
            raise refused
        is_there = bool(stops and rows and stops(kept.stepper.moments[-1:])[0])
        return {"rows": rows, "refused": f"{refused}" if refused else None, "reached": is_there}

    def _check(self, question: Answer) -> Answer:
        _, found = edited_model(self._model(question).found.system, _edit(question))
        return {"findings": list(map(asdict, found))}

    def _edit(self, question: Answer) -> Answer:
        kept = self._model(question)
        system, found = edited_model(kept.found.system, _edit(question))
        findings = list(map(asdict, found))
        if system is None:
            return {"read": False, "findings": findings}
        return {**self._edited(kept, system), "remarks": findings}

    def _change(self, question: Answer) -> Answer:
        kept, operations = self._model(question), _objects(question, "operations")
        system, findings = changed_model(kept.found.system, operations)
        if system is None:
            return {"read": False, "findings": list(map(asdict, findings))}
        is_moved = all(operation["do"] == "move" for operation in operations)
        return self._edited(kept, system, kept.computation if is_moved else None)

    def _edited(
        self, kept: _Kept, system: PageModel, computation: _Computation | None = None
    ) -> Answer:
        """The answer with an edited model, which is kept with the one before it and shares its
        computation, if that is given."""
        text, format, lost = edited_text(kept.found, system, level=self.level)
        name = kept.found.name
        if format != kept.found.format:
            name = f"{_stem(name)}{format.suffixes[0]}"
        after = OpenedModel(name, text, format, system, system, lost)
        return self._described(self._keep(after, is_edited=True, computation=computation))

    def _save(self, question: Answer) -> Answer:
        kept = self._model(question)
        kind = kept.found.format.holds
        writable = [n for n, x in formats_of(kind).items() if x.writer and is_alone(x)]
        format = MODEL_FORMATS[_one_of(question, "format", writable)]
        try:
            text, losses = text_and_losses(kept.found.original, format)
        except (ImportError, ValueError) as error:
            raise Refused(f"{error}") from None
        lost = [*losses.items, *losses.renamed]
        if format == kept.found.format:  # with its comments and its layout
            text = kept.found.text
            lost = [] if lost and self._holds_all(kept.found) else lost
        if lost and not question.get("lossy"):
            return {"written": False, "losses": lost}
        name = f"{_stem(kept.found.name)}{format.suffixes[0]}"
        return {"written": True, "name": name, "text": text, "losses": lost}

    def _holds_all(self, found: OpenedModel) -> bool:
        """Whether the text of a model is read as that model."""
        try:
            read = open_model(found.name, found.text, format=found.format.name, level=self.level)
        except ReadError:
            return False
        return read.original == found.original

    def _page(self, question: Answer) -> Answer:
        """What the page shows as a file of its own: it has the rows already."""
        kept, run = self._model(question), question.get("run")
        if not isinstance(run, dict) or not isinstance(run.get("rows"), list):
            raise Refused("Give the `run` with its `rows`.")
        shown = {name: run[name] for name in _RECORDED if name in run}
        return {"name": f"{_stem(kept.found.name)}.html", "text": page_of(kept.found, shown)}

    def _explore(self, question: Answer, kept: _Kept) -> Answer:
        most, system = _number(question, "most"), kept.found.system
        graph = explored(system, min(max(most, 1), MOST_CONFIGURATIONS))
        kept.computation.graph = graph
        return graph_json(graph)

    def _go(self, question: Answer, kept: _Kept) -> Answer:
        graph = kept.computation.graph
        if graph is None:
            raise Refused("The graph was not explored yet.")
        configuration = _number(question, "configuration")
        moments = follow(kept.stepper, graph, configuration)
        return {"rows": self._rows(kept, moments), "path": graph.path_to(configuration)}

    def _replay(self, question: Answer, kept: _Kept) -> Answer:
        """Steps after number `at`, each as it was chosen: those of a branch that was left."""
        at, steps = _kept_step(question, "at", kept), _objects(question, "steps")
        rows: list[dict[str, Any]] = []
        with kept.stepper.all_or_none():
            for number, step in enumerate(steps, start=at):
                chosen, rest, subsets = _pairs(step, "chosen"), _rest(step), _subsets(step)
                some, refused = next_rows(
                    kept.found.system, kept.stepper, number, 1, chosen, rest, subsets=subsets
                )
                if refused is not None:
                    raise refused
                rows += some
        return {"rows": rows}

    def _where(self, question: Answer, kept: _Kept) -> Answer:
        """The steps in which a condition holds, up to the `last` one of the page: the server has
        more where an answer was lost."""
        holds = condition_of(kept.found.system, _text(question, "query"))
        last = _kept_step(question, "last", kept)
        return {"steps": np.flatnonzero(holds(kept.stepper.moments[: last + 1])).tolist()}

    def _property(self, question: Answer, kept: _Kept, patience: Patience) -> Answer:
        verdict = checked(kept.found.system, _text(question, "query"), patience)
        answer = {
            "status": verdict.status.value,
            "text": verdict_text(verdict),
            "rows": None,
            "loop": None,
        }
        if verdict.witness is None:
            return answer
        try:
            moments = witnessed(kept.stepper, verdict)
        except Refused as error:
            return {**answer, "text": f"{answer['text']}\n{error}"}
        loop = None if moments[-1].is_halted else verdict.loop
        return {**answer, "rows": self._rows(kept, moments), "loop": loop}

    def _numbers(self, question: Answer, kept: _Kept, patience: Patience) -> Answer:
        return numbers_json(kept.found.system, _number(question, "most"), patience)

    @contextmanager
    def _computing(self, kept: _Kept) -> Iterator[None]:
        """What uses a computation, one after the other."""
        with self._stepping:
            if self._is_closed:
                raise Refused("The server has ended.")
            self._use(kept.computation)
            yield

    @contextmanager
    def _searching(self, kept: _Kept) -> Iterator[_Search]:
        """A search, which `"cancel"` for the same computation, or `close`, ends early."""
        search = _Search(kept.computation)
        self._searches.append(search)
        try:
            yield search
        finally:
            self._searches.remove(search)

    def _cancel(self, question: Answer) -> Answer:
        """End the searches for a verdict or numbers of a model; what was found is the answer."""
        kept = self._models.get(_number(question, "model"))
        for search in list(self._searches):
            if kept is not None and search.computation is kept.computation:
                search.cancel()
        return {}

    def _rows(self, kept: _Kept, moments: list[Moment[Any]]) -> list[dict[str, Any]]:
        pairs = zip(moments, [None, *moments], strict=False)
        return [kept.stepper.row_json(moment, before) for moment, before in pairs]

    # ---- models ----

    def _keep(
        self,
        found: OpenedModel,
        *,
        is_edited: bool = False,
        computation: _Computation | None = None,
    ) -> _Kept:
        own = computation or _Computation(self._next, found.system)
        kept = _Kept(found, is_edited, own)
        self._models[self._next] = kept
        self._next += 1
        self._characters += len(found.text)
        while self._are_too_many():
            _, dropped = self._models.popitem(last=False)
            self._characters -= len(dropped.found.text)
        return kept

    def _are_too_many(self) -> bool:
        count = len(self._models)
        is_large = self._characters > _MOST_CHARACTERS and count > _LEAST_MODELS
        return is_large or count > _MOST_MODELS

    def _use(self, computation: _Computation) -> None:
        """Keep the steps of a computation, and forget those of the one used least recently."""
        self._computations[computation.number] = computation
        self._computations.move_to_end(computation.number)
        while len(self._computations) > _MOST_COMPUTATIONS:
            self._computations.popitem(last=False)[1].forget()

    def _model(self, question: Answer) -> _Kept:
        number = _number(question, "model")
        if number not in self._models:
            raise Refused("This model is no longer kept. Open the text again.")
        self._models.move_to_end(number)
        return self._models[number]


def new_session(*, level: Level = "extended") -> Session:
    """A session that begins with an empty system.

    **Arguments:**

    - `level`: the level of validity that is required of what is made of it.

    **Returns:** the session.
    """
    found = opened_system(SpikingSystem([], level=level))
    return Session(found.name, found.text, level=level)


def _stem(name: str) -> str:
    """A file name without the suffixes of its format."""
    suffixes = {s for format in MODEL_FORMATS.values() for s in format.suffixes}
    for suffix in sorted(suffixes, key=len, reverse=True):
        if name.lower().endswith(suffix):
            return name[: -len(suffix)] or "model"
    return name


def _text(question: Answer, name: str) -> str:
    value = question.get(name)
    if not isinstance(value, str):
        raise Refused(f"`{name}` is {value!r:.60}. Give a text.")
    return value


def _number(question: Answer, name: str) -> int:
    value = question.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**31:
        raise Refused(f"`{name}` is {value!r:.60}. Give a number, 0 or more.")
    return value


def _kept_step(question: Answer, name: str, kept: _Kept) -> int:
    """The number of a step that the server has, too."""
    step, last = _number(question, name), len(kept.stepper.moments) - 1
    if step > last:
        what = kept.stepper.words[0]
        raise Refused(
            f"There is no {what} {step} on the server: they are 0 to {last}. Open the text again."
        )
    return step


def _objects(question: Answer, name: str) -> list[Answer]:
    value = question.get(name)
    if not isinstance(value, list) or not all(isinstance(x, dict) for x in value):
        raise Refused(f"`{name}` is {value!r:.60}. Give a list of objects.")
    return value


def _one_of(question: Answer, name: str, known: list[Any]) -> Any:
    value = question.get(name)
    if isinstance(value, str | None) and value in known:
        return value
    raise Refused(f"`{name}` is {value!r:.60}. Give one of {', '.join(map(str, known))}.")


def _rest(question: Answer) -> Rest:
    value = question.get("rest", "first")
    if value == "first":
        return "first"
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**32:
        return value
    raise Refused(f'`rest` is {value!r:.60}. Give "first", or a seed from 0 to 2^32 - 1.')


def _pairs(question: Answer, name: str) -> dict[int, int]:
    value = question.get(name, [])
    try:
        return {integer(first, name): integer(second, name) for first, second in value}
    except (TypeError, ValueError):
        raise Refused(f"`{name}` is {value!r:.60}. Give pairs of numbers.") from None


def _subsets(question: Answer) -> dict[int, ChosenSubset]:
    """The subset of each chooser: its number, or what it holds."""
    value = question.get("subsets", [])
    try:
        return {
            integer(chooser, "subsets"): [integer(x, "subsets") for x in subset]
            if isinstance(subset, list)
            else integer(subset, "subsets")
            for chooser, subset in value
        }
    except (TypeError, ValueError):
        raise Refused(f"`subsets` is {value!r:.60}. Give pairs.") from None


def _edit(question: Answer) -> Edit:
    rules = question.get("rules")
    if rules is not None:
        rules = _text(question, "rules")
    return Edit(_number(question, "neuron"), _text(question, "spikes"), rules)
