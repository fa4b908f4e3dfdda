"""The page as a widget of a notebook, without a browser."""

import json
import sys
from typing import Any

import pytest

import snpjax as snp
from snpjax.io import ReadError
from snpjax.sleptsov import net_of_text


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

    def answer(self, call, **question):
        return self.ask(call, question)["answer"]

    def edit(self, model, *operations):
        """What the page does for an edit: it makes, shows and reports it."""
        answer = self.answer("change", model=model, operations=list(operations))
        self.answer("shown", model=answer["model"])
        return answer


def test_the_widget_shows_and_steps_its_system():
    system = ring()
    front = Front(system)
    begun = front.answer("begin")
    assert begun["system"]["name"] == "ring" and begun["palette"] and not begun["edited"]
    assert front.system is system
    front.answer("shown", model=begun["model"])
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
    front.answer("shown", model=begun["model"])  # undone
    assert front.system == ring() and len(seen) == 2
    front.answer("shown", model=edited["model"])  # done again
    assert front.system is system
    text = edited["text"].replace('"spikes": 1', '"spikes": 5')
    opened = front.answer("open", name=edited["name"], text=text, format=None)
    front.answer("shown", model=opened["model"])
    assert front.system.neurons[0].spikes == 5


def test_setting_the_system_updates_the_page():
    front = Front(ring())
    front.answer("begin")
    front.widget.system = other = ring(3)
    (message,) = front.told
    assert message["show"]["system"]["neurons"][0]["spikes"] == 3
    front.edit(message["show"]["model"], {"do": "remove", "neurons": [1], "synapses": []})
    assert front.system.num_neurons == 1 and other.num_neurons == 2


def test_other_views_of_the_widget_show_an_edit_too():
    front = Front(ring())
    begun = front.answer("begin")
    answer = front.edit(begun["model"], {"do": "add", "neurons": [{}]})
    (message,) = front.told
    assert message["except"] == "one" and message["show"]["model"] == answer["model"]
    front.ask("begin", {}, view="two")
    assert len(front.told) == 1


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
    front.answer("shown", model=begun["model"])
    assert front.system is system


def test_what_cannot_be_done_is_refused():
    front = Front(ring())
    begun = front.answer("begin")
    assert "no longer kept" in front.ask("shown", {"model": 99})["refused"]
    assert "no call" in front.ask("nothing", {})["refused"]
    steps = {"model": begun["model"], "at": -1, "count": 1}
    assert "`at`" in front.ask("step", steps)["refused"]
    for content in (None, [], {"call": "begin"}, {"call": 3, "question": []}):
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


@pytest.mark.parametrize("height, error", [(20, ValueError), ("640px", TypeError)])
def test_the_height_is_checked(height, error):
    with pytest.raises(error, match="`height` is"):
        snp.view(ring(), height=height)


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(ImportError, match=r"anywidget is not installed \(pip install '.\[notebook"):
        snp.view(ring())


def test_the_page_of_a_widget_holds_nothing_of_the_system():
    widget = snp.view(ring())
    assert "ring" not in widget._page.partition("</style>")[0] and "<iframe" not in widget._page
    assert widget._page == snp.view(ring(2))._page
    assert widget.get_state()["_height"] == 640 and "system" not in widget.get_state()
