"""The page as a widget of a notebook, without a browser."""

import base64
import gzip
import json
import re
import sys
from collections import deque
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

import snpjax as snp
from snpjax.io import ReadError
from snpjax.sleptsov import net_of_text
from snpjax.viz.page.texts import opened_system


pytest.importorskip("anywidget", reason="no anywidget (pip install '.[notebook]')")

HOSTILE = "<img src=x onerror=alert(1)>"


def ring(spikes=1):
    neurons = [snp.Neuron("x", spikes, ["a -> a"]), snp.Neuron("y", 0, ["a -> a"])]
    return snp.SpikingSystem(neurons, [("x", "y"), ("y", "x")], output="y", name="ring")


class Front:
    """What the page does: it asks, and is told."""

    def __init__(self, system):
        self.widget, self.told = snp.view(system), []
        vars(self.widget)["send"] = lambda x: self.told.append(json.loads(json.dumps(x)))

    @property
    def system(self) -> Any:
        return self.widget.system

    def ask(self, call, question, *, view="one"):
        content = {"view": view, "id": 7, "call": call, "question": question}
        self.widget._handle_custom_msg(content, [])
        found = [message for message in self.told if message.get("id") == 7]
        self.told = [message for message in self.told if message.get("id") != 7]
        (answer,) = found
        assert answer.pop("view") == content["view"] and answer.pop("id") == 7
        return answer

    def answer(self, call, *, view="one", **question):
        return self.ask(call, question, view=view)["answer"]

    def shown(self, model, *, revision=0, view="one"):
        """What the page reports when it shows a model, after a revision of the system."""
        return self.ask("shown", {"model": model, "revision": revision}, view=view)

    def edit(self, model, *operations, **options):
        """What the page does for an edit: it makes, shows and reports it."""
        view = options.get("view", "one")
        answer = self.answer("change", view=view, model=model, operations=list(operations))
        assert "answer" in self.shown(answer["model"], **options)
        return answer

    def take(self):
        """The systems that views were sent, by view."""
        told = {message["view"]: message for message in self.told}
        assert len(told) == len(self.told)
        self.told.clear()
        return told


def test_the_widget_shows_and_steps_its_system():
    system = ring()
    front = Front(system)
    begun = front.answer("begin")
    assert begun["system"]["name"] == "ring" and begun["palette"] and not begun["edited"]
    assert front.system is system
    front.shown(begun["model"])
    assert front.system is system and front.told == []
    step = {"at": 0, "count": 2, "chosen": [], "rest": "first"}
    assert front.answer("first", model=begun["model"])["rows"][0]["spikes"] == [1, 0]
    rows = front.answer("step", model=begun["model"], **step)["rows"]
    assert [row["spikes"] for row in rows] == [[0, 1], [1, 0]]


def test_edits_come_back_as_an_object():
    front, seen = Front(ring()), []
    front.widget.observe(lambda change: seen.append((change.old, change.new)), "system")
    begun = front.answer("begin")
    edited = front.edit(begun["model"], {"do": "rename", "neuron": 1, "name": HOSTILE})
    system = front.system
    assert [n.name for n in system.neurons] == ["x", HOSTILE] and seen[0][1] is system
    assert snp.run(system, max_steps=2).configurations.tolist() == [[1, 0], [0, 1], [1, 0]]
    front.shown(begun["model"])  # undone
    assert front.system == ring() and len(seen) == 2
    front.shown(edited["model"])  # done again
    assert front.system is system
    text = edited["text"].replace('"spikes": 1', '"spikes": 5')
    opened = front.answer("open", name=edited["name"], text=text, format=None)
    front.shown(opened["model"])
    assert front.system.neurons[0].spikes == 5


def test_setting_the_system_updates_the_page():
    front = Front(ring())
    front.answer("begin")
    front.widget.system = other = ring(3)
    message = front.take()["one"]
    assert message["show"]["system"]["neurons"][0]["spikes"] == 3 and message["revision"] == 1
    remove = {"do": "remove", "neurons": [1], "synapses": []}
    front.edit(message["show"]["model"], remove, revision=1)
    assert front.system.num_neurons == 1 and other.num_neurons == 2


def test_a_system_that_differs_in_its_positions_only_is_shown():
    front, seen = Front(ring()), []
    front.answer("begin")
    front.widget.observe(seen.append, "system")
    front.widget.system = front.system.replace(notes={"positions": {"x": [1, 2], "y": [3, 4]}})
    assert front.take()["one"]["show"]["system"]["positions"] == [[1, 2], [3, 4]]
    assert len(seen) == 1


@pytest.mark.parametrize("is_first", [True, False])
def test_the_later_of_an_edit_and_an_assignment_stays(is_first):
    front = Front(ring())
    begun = front.answer("begin")
    answer = front.answer(
        "change", model=begun["model"], operations=[{"do": "add", "neurons": [{}]}]
    )
    if is_first:
        assert front.shown(answer["model"]) == {"answer": {}}
        assert front.system.num_neurons == 3
    front.widget.system = other = ring(3)
    if not is_first:  # the page had not seen the other system when it made and reported the edit
        assert "meanwhile" in front.shown(answer["model"])["refused"]
        again = front.told.pop()
        assert again["revision"] == 1 and again["show"]["system"]["neurons"][0]["spikes"] == 3
    assert front.system is other
    message = front.take()["one"]
    assert message["show"]["system"]["neurons"][0]["spikes"] == 3
    # What the page does then is an edit of the system that it shows: undo, for instance.
    assert front.shown(answer["model"], revision=message["revision"]) == {"answer": {}}
    assert front.system.num_neurons == 3


def test_edits_that_follow_each_other_fast_all_count():
    front = Front(ring())
    model = front.answer("begin")["model"]
    for count in (3, 4, 5):
        model = front.edit(model, {"do": "add", "neurons": [{}]})["model"]
        assert front.system.num_neurons == count
    assert front.told == []


def test_an_observer_may_set_another_system():
    front = Front(ring())
    begun = front.answer("begin")

    def limit(change):
        if change.new.num_neurons > 2:
            front.widget.system = ring(7)

    front.widget.observe(limit, "system")
    front.edit(begun["model"], {"do": "add", "neurons": [{}]})
    assert front.system.neurons[0].spikes == 7
    assert front.take()["one"]["show"]["system"]["neurons"][0]["spikes"] == 7


def test_other_views_of_the_widget_show_an_edit_too():
    front = Front(ring())
    begun = front.answer("begin")
    front.answer("begin", view="two")
    edited = front.edit(begun["model"], {"do": "add", "neurons": [{}]})
    message = front.take()["two"]
    assert message["show"]["text"] == edited["text"] and message["show"]["edited"]
    assert front.answer("begin", view="three")["revision"] == message["revision"] == 1
    # Each view edits what it shows; an edit of what it has not seen yet comes too late.
    add = {"do": "add", "neurons": [{}]}
    front.edit(message["show"]["model"], add, view="two", revision=1)
    assert front.system.num_neurons == 4 and set(front.take()) == {"one", "three"}
    assert "meanwhile" in front.shown(edited["model"])["refused"]
    assert front.system.num_neurons == 4


class SlowPage:
    """A page whose messages take their time in both directions, as main.js handles them: an edit is
    answered and shown before a system that arrived meanwhile."""

    def __init__(self, front, view):
        self.front, self.view = front, view
        self.questions, self.arrived = deque(), deque()
        begun = front.answer("begin", view=view)
        self.model, self.text, self.revision = begun["model"], begun["text"], begun["revision"]
        self.edits = False

    def edit(self):
        if not self.edits:
            self.edits = True
            add = {"model": self.model, "operations": [{"do": "add", "neurons": [{}]}]}
            self.questions.append(("change", add))

    def ask(self):
        """One question reaches Python, and its answer starts on its way."""
        if self.questions:
            call, question = self.questions.popleft()
            answer = self.front.ask(call, question, view=self.view)
            if call == "change":
                self.arrived.append(answer["answer"])

    def take(self):
        """One message reaches the page."""
        edited = next((x for x in self.arrived if "show" not in x), None)
        if edited is not None:
            self.arrived.remove(edited)
            self.model, self.text, self.edits = edited["model"], edited["text"], False
            self.questions.append(("shown", {"model": self.model, "revision": self.revision}))
        elif self.arrived and not self.edits:
            message = self.arrived.popleft()
            if message["revision"] > self.revision:
                self.revision = message["revision"]
                self.model, self.text = message["show"]["model"], message["show"]["text"]


@given(st.lists(st.integers(0, 6), max_size=25))
def test_all_views_show_the_system_in_the_end_however_messages_cross(turns):
    front = Front(ring())
    pages = [SlowPage(front, view) for view in ("one", "two")]

    def post():
        for message in front.told:
            next(x for x in pages if x.view == message["view"]).arrived.append(message)
        front.told.clear()

    def assign():
        front.widget.system = ring(front.system.neurons[0].spikes + 1)

    actions = [assign, *(act for x in pages for act in (x.edit, x.ask, x.take))]
    for turn in turns:
        actions[turn]()
        post()
    while any(x.questions or x.arrived for x in pages):
        for page in pages:
            page.ask()
            post()
            page.take()
    wanted = opened_system(front.system).text
    assert [page.text for page in pages] == [wanted, wanted]


def test_views_of_a_widget_are_stepped_apart():
    front = Front(ring())
    rows = {}
    for view in ("one", "two"):
        model = front.answer("begin", view=view)["model"]
        front.answer("first", view=view, model=model)
        rows[view] = model
    step = {"chosen": [], "rest": "first"}
    front.answer("step", model=rows["one"], at=0, count=3, **step)
    front.answer("step", view="two", model=rows["two"], at=0, count=1, **step)
    # The other view is still at its third step.
    (row,) = front.answer("step", model=rows["one"], at=3, count=1, **step)["rows"]
    assert row["step"] == 4
    assert (
        "no configuration 3"
        in front.ask("step", {"model": rows["two"], "at": 3, "count": 1, **step}, view="two")[
            "refused"
        ]
    )


def test_a_view_that_was_closed_is_forgotten():
    front = Front(ring())
    begun = [front.answer("begin", view=f"{number}") for number in range(40)]
    front.widget.system = ring(3)
    assert list(front.take()) == [f"{number}" for number in range(8, 40)]
    front.answer("end", view="39")
    assert (
        "Run its cell again"
        in front.ask("first", {"model": begun[39]["model"]}, view="39")["refused"]
    )
    front.widget.system = ring(4)
    assert len(front.take()) == 31


def test_nets_keep_their_names():
    net = net_of_text("halve: 2x -> half\ndrop: x ->\nhalve > drop", {"x": 9})
    front = Front(net)
    begun = front.answer("begin")
    assert begun["system"]["kind"] == "net"
    front.edit(begun["model"], {"do": "rename", "neuron": 0, "name": "rest"})
    assert front.system.place_names == ("rest", "half")
    assert net.place_names == ("x", "half")


def test_populations_come_back_when_nothing_was_edited():
    population = snp.Population("p", 3, 1, ["a -> a"])
    system = snp.PopulationSystem([population])
    front = Front(system)
    begun = front.answer("begin")
    assert len(begun["system"]["neurons"]) == 3
    front.shown(begun["model"])
    assert front.system is system


def test_what_cannot_be_done_is_refused():
    front = Front(ring())
    begun = front.answer("begin")
    assert "no longer kept" in front.shown(99)["refused"]
    assert "no call" in front.ask("nothing", {})["refused"]
    steps = {"model": begun["model"], "at": -1, "count": 1}
    assert "`at`" in front.ask("step", steps)["refused"]
    unnamed = {"call": "begin", "question": {}, "view": ["one"]}
    for content in (None, [], {"call": "begin"}, {"call": 3, "question": []}, unnamed):
        front.widget._handle_custom_msg(content, [])
    assert front.told == []


@pytest.mark.parametrize("system", [None, "x.pli", snp.Neuron("x")])
def test_what_is_no_system_is_refused(system):
    with pytest.raises(TypeError, match="Give a SpikingSystem, a PopulationSystem or"):
        snp.view(system)
    front = Front(before := ring())
    with pytest.raises(TypeError, match="Give a SpikingSystem"):
        front.widget.system = system
    assert front.system is before and front.told == []


def test_a_system_that_is_too_large_is_refused():
    large = snp.PopulationSystem([snp.Population("p", 20_001, 1, ["a -> a"])])
    with pytest.raises(ReadError, match="20,001 neurons"):
        snp.view(large)
    front = Front(before := ring())
    front.answer("begin")
    with pytest.raises(ReadError, match="20,001 neurons"):
        front.widget.system = large
    assert front.system is before and front.told == []


def test_populations_that_have_no_neurons_of_their_own_are_refused(monkeypatch):
    """What the page cannot open is refused where it is set, and the system before it stays."""
    front = Front(before := ring())
    front.answer("begin")
    wrong = snp.PopulationSystem([snp.Population("p", 2, 1, ["a -> a"])])

    def expand(self):
        raise ValueError("too many of them")

    monkeypatch.setattr(snp.PopulationSystem, "expand", expand)
    with pytest.raises(ReadError, match="cannot be drawn: too many of them"):
        front.widget.system = wrong
    assert front.system is before and front.told == []


@pytest.mark.parametrize("height, error", [(20, ValueError), ("640px", TypeError)])
def test_the_height_is_checked(height, error):
    with pytest.raises(error, match="`height` is"):
        snp.view(ring(), height=height)


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(ImportError, match=r"anywidget is not installed \(pip install '.\[notebook"):
        snp.view(ring())


def test_the_state_of_a_widget_holds_nothing_of_the_system():
    """It is saved in notebooks, for those who open them: only messages tell what is shown."""
    name = "unmistakable"
    front = Front(ring().replace(name=name))
    state = front.widget.get_state()
    packed = re.search(r'id="packed">([^<]*)<', state["_page"])
    assert packed is not None
    scripts = gzip.decompress(base64.b64decode(packed[1])).decode()
    texts = [scripts, *(value for value in state.values() if isinstance(value, str))]
    assert "listen(" in scripts and not any(name in text for text in texts)
    assert state == {**snp.view(ring(2)).get_state(), "layout": state["layout"]}
    assert state["_height"] == 640 and "system" not in state
    assert name in json.dumps(front.answer("begin"))
