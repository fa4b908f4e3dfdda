"""The server of the page: whom it answers, and that its steps are those of the model."""

import base64
import errno
import gzip
import http.client
import json
import os
import re
import signal
import socket
import stat
import sys
import threading
import time
from concurrent.futures import Future
from contextlib import ExitStack
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import jax.random as jr
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import snpjax as snp
from snpjax.io import formats_of, model_text
from snpjax.sleptsov import Arcs, net_of_text
from snpjax.testing import reference, reference_sleptsov, systems
from snpjax.viz.page import (
    PageServer,
    Session,
    open_model,
    properties as properties_module,
    recorded_page,
    server as server_module,
    session as session_module,
)
from snpjax.viz.page.arguments import Refused
from snpjax.viz.page.assets import ASSETS, asset
from snpjax.viz.page.described import exact, system_json
from snpjax.viz.page.edits import Edit, edited
from snpjax.viz.page.explored import graph_json
from snpjax.viz.page.nets import CHOOSER, NetStepper, net_json
from snpjax.viz.page.properties import verdict_text
from snpjax.viz.page.server import MAX_CONNECTIONS
from snpjax.viz.page.stepping import Stepper
from snpjax.viz.page.texts import MAX_NEURONS, with_rule
from tests.support.command import invoke
from tests.support.helpers import PAIR, REPOSITORY, RING, quietly, with_ballast
from tests.support.processes import started


JSON = {"Content-Type": "application/json"}
HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def server():
    """A running server of the pair."""
    with PageServer(Session("pair.pli", PAIR)) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()


def asked(server, call, question, *, status=200, **changes) -> Any:
    """The answer to a question of the page; `changes` are of the request."""
    headers = {**JSON, **changes.pop("headers", {})}
    path = changes.pop("path", f"/{server.token}/api/{call}")
    body = json.dumps(question) if isinstance(question, dict) else question
    response, text = requested(server, "POST", path, body, headers)
    assert response.status == status, text
    return json.loads(text) if response.headers["Content-Type"] == "application/json" else text


def requested(server, method, path, body=None, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    try:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return response, response.read().decode()
    finally:
        connection.close()


# ---- whom it answers ----


METHODS = ["GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE", "TRACE", "CONNECT", "ODD"]


@pytest.mark.parametrize("path", ["/", "/static/main.js", "/wrong/", "/wrong/api/begin", "/%C3/"])
@pytest.mark.parametrize("method", METHODS)
def test_without_the_token_there_is_nothing(server, path, method):
    response, text = requested(server, method, path)
    assert response.status == 403 and ("token" in text or method == "HEAD")
    assert server.token not in text and server.token not in str(response.headers)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1"])
@pytest.mark.parametrize("method", METHODS)
def test_another_host_is_refused(server, host, method):
    """A name of somebody else may lead to this machine (DNS rebinding)."""
    host = host.format(port=server.server_port)
    path = f"/{server.token}/api/begin"
    response, text = requested(server, method, path, "{}", headers={**JSON, "Host": host})
    assert response.status == 403 and "snpjax" not in text


@pytest.mark.parametrize("method", METHODS)
def test_the_page_asks_by_three_methods(server, method):
    """Another page that asks what it may send (OPTIONS) is told nothing."""
    response, text = requested(server, method, f"/{server.token}/")
    allowed = {"GET": 200, "HEAD": 200, "POST": 400}
    assert response.status == allowed.get(method, 405)
    if response.status == 405:
        assert text == f"The method {method!r} is none of GET, HEAD, POST.\n"
        assert response.headers["Allow"] == "GET, HEAD, POST"
    assert not any(name.startswith("Access-Control") for name in response.headers)


def test_head_is_get_without_a_body(server):
    for path in (f"/{server.token}/", f"/{server.token}/static/nothing"):
        found, text = requested(server, "GET", path)
        head, nothing = requested(server, "HEAD", path)
        assert (head.status, nothing) == (found.status, "")
        assert int(head.headers["Content-Length"]) == len(text.encode())


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("Origin", "https://evil.example", 403),
        ("Origin", "null", 403),
        ("Origin", "http://127.0.0.1:1", 403),
        ("Origin", "http://127.0.0.1:{port}", 200),
        ("Content-Type", "text/plain", 400),
        ("Content-Type", "application/x-www-form-urlencoded", 400),
        ("Content-Type", "application/json; charset=utf-8", 200),
        ("Content-Type", "Application/JSON;charset=UTF-8", 200),
        ("Content-Type", 'application/json ;  charset="utf-8"', 200),
        ("Content-Type", "application/json; charset=utf8; odd=1", 200),
        ("Content-Type", "application/json; charset=latin-1", 415),
        ("Content-Type", "application/json; charset=utf-16", 415),
        ("Content-Type", "application/json; charset=", 415),
    ],
)
def test_only_json_of_its_own_page_is_a_question(server, name, value, status):
    """Another page is refused, and so are a form and another charset."""
    headers = {name: value.format(port=server.server_port)}
    answer = asked(server, "begin", {}, status=status, headers=headers)
    if status == 200:
        assert answer["read"]
    if status == 415:
        assert answer == f"The charset is {value.partition('=')[2]!r}. Send UTF-8.\n"


@pytest.mark.parametrize("body", ["", "[]", "3", "{", "[" * 100_000, b'"\xff"', b"\xff\xfe{\0}\0"])
def test_what_is_no_object_is_no_question(server, body):
    asked(server, "begin", body, status=400)


def test_any_length_and_any_address_are_answered(server):
    port, token = server.server_port, server.token
    for line, length, status in [
        (f"POST /{token}/api/begin", "9" * 5000, b" 400 "),
        (f"POST /{token}/api/begin", "-1", b" 400 "),
        ("POST /wrong/", "9" * 5000, b" 403 "),
        ("GET http://[/", "0", b" 403 "),
    ]:
        with socket.create_connection(("127.0.0.1", port), timeout=60) as one:
            head = f"{line} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {length}\r\n\r\n"
            one.sendall(head.encode())
            assert status in one.recv(100), line


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("GET\r\n\r\n", 400),
        ("GET / HTTP/9.9\r\n\r\n", 505),
        (f"GET /{'x' * 2**16} HTTP/1.1\r\n\r\n", 414),
        (f"GET / HTTP/1.1\r\n{'a: b' * 2**15}\r\n\r\n", 431),
    ],
)
def test_what_is_no_request_is_answered_in_one_sentence(server, text, status):
    with connected(server) as one:
        one.sendall(text.encode())
        head, _, body = received(one).partition("\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status} ") and "Connection: close" in head
    assert re.fullmatch(r"[\w -]+\.\n", body)


@pytest.mark.parametrize(("token", "status"), [(None, 200), ("wrong", 403)])
def test_nobody_is_asked_to_go_on(server, token, status):
    """Clients that offer a body first send it all the same."""
    head = f"POST /{token or server.token}/api/begin HTTP/1.1\r\nExpect: 100-continue\r\n"
    lines = f"Host: 127.0.0.1:{server.server_port}", "Content-Type: application/json"
    with connected(server) as one:
        one.sendall((head + "\r\n".join([*lines, "Content-Length: 2", "", "{}"])).encode())
        assert one.recv(12) == f"HTTP/1.1 {status}".encode()


def connected(server):
    return socket.create_connection(("127.0.0.1", server.server_port), timeout=60)


def received(connection):
    """All that comes until the server closes the connection."""
    return b"".join(iter(lambda: connection.recv(2**16), b"")).decode()


@pytest.mark.parametrize("text", ["", "G", "GET / HTTP/1.1\r\nHost: x\r\n"])
def test_a_header_must_arrive_in_time(server, monkeypatch, text):
    """However many of its bytes do."""
    monkeypatch.setattr(server_module, "_HEADER_SECONDS", 0.2)
    with connected(server) as one:
        one.sendall(text.encode())
        one.settimeout(0.02)
        while True:
            try:
                assert one.recv(1) == b""
                break
            except TimeoutError:
                if text:
                    one.sendall(b"a")
            except ConnectionError:
                break


def test_a_connection_waits_while_64_are_open(server):
    request = f"GET /{server.token}/ HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n"
    with ExitStack() as stack:
        open_ones = [stack.enter_context(connected(server)) for _ in range(MAX_CONNECTIONS)]
        for one in open_ones:
            one.sendall(f"{request}\r\n".encode())
            assert one.recv(12) == b"HTTP/1.1 200"
        waiting = stack.enter_context(connected(server))
        waiting.sendall(f"{request}Connection: close\r\n\r\n".encode())
        waiting.settimeout(0.2)
        with pytest.raises(TimeoutError):
            waiting.recv(1)
        assert num_connections() == MAX_CONNECTIONS + 1  # the last one waits for a place
        open_ones[0].close()
        waiting.settimeout(60)
        assert received(waiting).startswith("HTTP/1.1 200")
    while num_connections():
        time.sleep(0.01)


def test_silent_connections_keep_nobody_waiting(server, monkeypatch):
    monkeypatch.setattr(server_module, "_HEADER_SECONDS", 3600.0)
    request = f"HEAD /{server.token}/ HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n"
    with ExitStack() as stack:

        def keep_silent():
            for _ in range(2 * MAX_CONNECTIONS + 1):
                stack.enter_context(connected(server))

        keep_silent()
        one = stack.enter_context(connected(server))
        for _ in range(2):
            one.sendall(request.encode())
            header = b""
            while not header.endswith(b"\r\n\r\n"):
                header += one.recv(1)
            assert header.startswith(b"HTTP/1.1 200")
            keep_silent()  # and it has its place
    while num_connections():
        time.sleep(0.01)


def num_connections():
    """Threads that serve one."""
    return sum("process_request_thread" in thread.name for thread in threading.enumerate())


def test_a_server_whose_connections_are_all_taken_can_end():
    with ExitStack() as stack:
        server = stack.enter_context(PageServer(Session("pair.pli", PAIR)))
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        for _ in range(MAX_CONNECTIONS + 1):
            stack.enter_context(connected(server))
        server.shutdown()
        thread.join()


def test_it_listens_on_the_loopback_address_only(server):
    assert server.server_address[0] == "127.0.0.1"
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", server.url)
    with PageServer(Session("pair.pli", PAIR)) as other:
        assert other.token != server.token


def test_a_port_is_not_taken_over(server):
    with pytest.raises(OSError) as raised:
        PageServer(Session("pair.pli", PAIR), port=server.server_port)
    assert raised.value.errno == errno.EADDRINUSE


def test_every_file_is_served_and_nothing_else_is_loaded(server):
    for name, kind in ASSETS.items():
        response, text = requested(server, "GET", f"/{server.token}/{name}")
        assert response.status == 200 and response.headers["Content-Type"] == kind
        assert text.encode() == asset(name)
        policy = response.headers["Content-Security-Policy"]
        assert "default-src 'self'" in policy and "unsafe" not in policy
        assert "http" not in policy
    for path in ("static/../session.py", "static/", "vendor/README.md", "etc/passwd", "%2e%2e"):
        response, _ = requested(server, "GET", f"/{server.token}/{path}")
        assert response.status == 404


def test_every_file_of_the_page_is_listed():
    folder = Path(str(sys.modules["snpjax.viz.page.assets"].__file__)).parent
    scripts = {f"static/{path.name}" for path in (folder / "static").glob("*.js")}
    assert scripts == {
        name for name in ASSETS if name.startswith("static/") and name.endswith("js")
    }


def test_the_page_never_makes_markup_from_texts():
    """Texts of models are text nodes; and nothing is loaded from elsewhere."""
    for name in ASSETS:
        if name.startswith("vendor/"):
            continue
        text = asset(name).decode()
        for wrong in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert wrong not in text, name
        links = set(re.findall(r"https?://[^\s\"'`)]+", text))
        assert links <= {"http://www.w3.org/2000/svg"}, name


def _luminance(colour: str) -> float:
    """Relative luminance of #rrggbb (WCAG 2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_letters_can_be_read_in_both_schemes():
    """4.5 to 1, as WCAG 2 asks."""
    light, dark = (
        dict(re.findall(r"(--[\w-]+): (#\w{6});", block))
        for block in re.findall(r":root \{(.*?)\}", asset("static/style.css").decode(), re.DOTALL)
    )
    pairs = [
        ("ink", "ground panel tint closed"),
        ("soft", "ground panel"),
        ("accent", "panel tint"),
        ("on-accent", "accent"),
        ("fire", "fire-tint panel ground"),
        ("panel", "ink fire wrong"),
        ("wrong", "panel"),
        ("odd", "panel"),
    ]
    for scheme in (light, dark):
        for letters, grounds in pairs:
            for ground in grounds.split():
                both = sorted(_luminance(scheme[f"--{name}"]) for name in (letters, ground))
                assert (both[1] + 0.05) / (both[0] + 0.05) >= 4.5, (letters, ground)


def test_a_bug_is_an_answer_and_the_server_lives_on(server, monkeypatch):
    def broken(self, question):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setitem(server.session._readers, "begin", lambda question: broken(None, question))
    assert "bug of snpjax" in asked(server, "begin", {}, status=500)["problem"]
    monkeypatch.undo()
    assert asked(server, "begin", {})["read"]


def test_a_browser_that_goes_away_does_nothing_bad(server):
    with socket.create_connection(("127.0.0.1", server.server_port)) as lost:
        lost.sendall(f"POST /{server.token}/api/begin HTTP/1.1\r\n".encode())
    assert asked(server, "begin", {})["read"]


# ---- what it answers ----


def test_a_question_that_makes_no_sense_is_refused(server):
    model = asked(server, "begin", {})["model"]
    for call, question, problem in [
        ("nothing", {}, "There is no call"),
        ("first", {"model": 10**6}, "no longer kept"),
        ("first", {"model": True}, "`model` is True"),
        ("step", {"model": model, "at": -1, "count": 1}, "`at` is -1"),
        ("step", {"model": model, "at": 7, "count": 1, "rest": 0}, "There is no configuration 7"),
        ("step", {"model": model, "at": 0, "count": 1, "rest": "dice"}, "`rest` is 'dice'"),
        ("step", {"model": model, "at": 0, "count": 1, "chosen": [1]}, "`chosen` is [1]"),
        ("step", {"model": model, "at": 0, "count": 1, "chosen": [[0, 9]]}, "select its rule 10"),
        ("step", {"model": model, "at": 0, "count": 1, "subsets": [[0, [""]]]}, "`subsets` is [[0"),
        ("open", {"name": "a.pli", "text": 3}, "`text` is 3"),
        ("open", {"name": "a.pli", "text": "", "format": "exe"}, "`format` is 'exe'"),
        ("save", {"model": model, "format": "esnp"}, "`format` is 'esnp'"),
        ("edit", {"model": model, "neuron": 0, "spikes": 1}, "`spikes` is 1"),
        ("go", {"model": model, "configuration": 0}, "not explored yet"),
        ("property", {"model": model, "query": "always nix = 1"}, "no neuron 'nix'"),
    ]:
        refused = asked(server, call, question, status=200)["problem"]
        assert problem in refused, (call, question)


@pytest.mark.parametrize(
    ("query", "spikes", "loop"),
    [
        ("eventually halted", [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0]], 1),
        ("always y = 0", [[1, 0, 0], [0, 1, 0], [0, 0, 1]], None),
    ],
)
def test_the_computation_that_decides_a_query(query, spikes, loop):
    session = Session("ring.pli", RING, query=query)
    begun = session.answer("begin", {})
    assert begun["query"] == query
    answer = session.answer("property", {"model": begun["model"], "query": begun["query"]})
    assert [row["spikes"] for row in answer["rows"]] == spikes
    assert answer["loop"] == loop and answer["text"].startswith(f"{query}: ")
    # It goes on from there as from any other step.
    more = session.answer("step", {"model": begun["model"], "at": len(spikes) - 1, "count": 1})
    assert len(more["rows"]) == 1 and more["rows"][0]["step"] == len(spikes)


def test_the_computation_that_halts_has_no_loop():
    session = Session("line.pli", RING.replace(", (y,x)", ""))
    model = session.answer("begin", {})["model"]
    answer = session.answer("property", {"model": model, "query": "infinitely often y = 1"})
    assert answer["status"] == "refuted" and answer["loop"] is None
    assert [row["halted"] for row in answer["rows"]] == [False, False, False, True]


def test_the_computation_of_a_net_that_decides_a_query():
    net = snp.SleptsovNet(
        [1, 0], inputs=Arcs.of([(0, 0, 1), (1, 1, 1)]), outputs=Arcs.of([(1, 0, 1), (0, 1, 1)])
    )
    session = Session("net.lsn", model_text(net, format="lsn")[0])
    model = session.answer("begin", {})["model"]
    answer = session.answer("property", {"model": model, "query": "eventually halted"})
    assert [row["spikes"] for row in answer["rows"]] == [[1, 0], [0, 1], [1, 0]]
    assert answer["loop"] == 0


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("--query always", "the query ends"),
        ("--query P=?[X(halted)]", "no computation shows a number"),
        ("--query halted --export page.html", "the page of --export shows a run"),
    ],
)
def test_queries_that_the_page_cannot_open_at(tmp_path, line, problem):
    (tmp_path / "ring.pli").write_text(RING)
    result = invoke("view", tmp_path / "ring.pli", *line.split())
    assert result.exit_code == 2 and problem in " ".join(result.stderr.split())


def test_a_text_that_does_not_read_is_answered_with_its_errors(server):
    text = PAIR.replace("(p,q), (q,p)", "(p,q), (q,r)").replace("@mout = q", "@mout = s")
    answer = asked(server, "open", {"name": "../../pair.pli", "text": text})
    assert not answer["read"] and answer["name"] == "pair.pli" and answer["text"] == text
    places = [(f["line"], f["column"]) for f in answer["findings"]]
    lines = text.splitlines()
    assert len(places) == 2
    for line, column in places:
        assert lines[line - 1][column - 1 :].startswith(("r);", "s;"))
    mended = asked(server, "open", {"name": "pair.pli", "text": PAIR})
    assert mended["read"] and [n["name"] for n in mended["system"]["neurons"]] == ["p", "q"]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("model.exe", PAIR, "unknown suffix '.exe'"),
        ("model.exe", PAIR, "; or choose the format)"),
        ("model.pli", "[1]", "or choose the format"),
        ("", PAIR, "unknown suffix"),
        ("net.lsn", "1 1", "2 numbers in the header"),
        ("net.hsn", "1 1 0 0 0", "names the files of its sub-nets"),
        ("pair.pli", "", "the file is empty"),
        ("pair.pli", "\ud800", "not UTF-8"),
        ("<b>.pli", "@model", "the model line is not complete"),
    ],
)
def test_any_text_is_answered(server, name, text, problem):
    answer = asked(server, "open", {"name": name, "text": text})
    message = answer["findings"][0]["message"]
    assert not answer["read"] and problem in message and "format=" not in message


def test_nets_of_unknown_suffixes_are_told_the_known_ones():
    """Not how Python reads nets."""
    net = snp.SleptsovNet([1], inputs=Arcs.of([(0, 0, 1)]), outputs=Arcs.of([]))
    text, _ = snp.io.model_text(net, "pnml")
    assert open_model("net.pnml", text, format=None, level="extended").format.name == "pnml"
    with pytest.raises(snp.ReadError, match=r"unknown suffix '.foo' \(snpjax reads .*\.pnml"):
        open_model("net.foo", text, format=None, level="extended")
    with pytest.raises(snp.ReadError, match=r"unknown suffix '.foo' \(snpjax reads .*\.pli"):
        open_model("net.foo", PAIR, format=None, level="extended")


def test_a_system_that_is_too_large_says_so():
    text = PAIR.replace("@mu = p, q;", f"@mu = p, q; @mu += r{{i}}: 1 <= i <= {MAX_NEURONS};")
    with pytest.raises(snp.ReadError, match="more than the 20,000"):
        open_model("pair.pli", text, format=None, level="extended")


@pytest.mark.parametrize(
    "format", [name for name, x in formats_of("system").items() if x.reader and x.writer]
)
def test_what_is_saved_can_be_opened(server, format):
    model = asked(server, "begin", {})["model"]
    saved = asked(server, "save", {"model": model, "format": format})
    if not saved["written"]:
        assert saved["losses"]
        saved = asked(server, "save", {"model": model, "format": format, "lossy": True})
    again = asked(server, "open", {"name": saved["name"], "text": saved["text"], "format": format})
    assert again["read"] and len(again["system"]["synapses"]) == 2
    assert [neuron["spikes"] for neuron in again["system"]["neurons"]] == [2, 1]


def test_losses_are_told_before_anything_is_lost(server):
    text = (
        '{"schema": "snpjax/1", "neurons": [{"id": "p"}, {"id": "q"}], "synapses": [["p", "q", 7]]}'
    )
    model = asked(server, "open", {"name": "a.snp.json", "text": text})["model"]
    refused = asked(server, "save", {"model": model, "format": "cusnp"})
    assert not refused["written"] and "weight 7" in refused["losses"][0]


@pytest.mark.parametrize(
    "format, lost",
    [
        ("plingua", []),
        ("cusnp", ["the names of 2 neurons (they are numbered from 0)"]),
        ("websnapse", []),
    ],
)
def test_names_that_a_format_replaces_are_told_before_saving(server, format, lost):
    given = '{"schema": "snpjax/1", "name": "first", "neurons": [{"id": "größe 2"}, {"id": "q"}]}'
    model = asked(server, "open", {"name": "a.snp.json", "text": given})["model"]
    lost = ["name 'first' of the system (left out)", *lost]
    question = {"model": model, "format": format}
    assert asked(server, "save", question) == {"written": False, "losses": lost}
    saved = asked(server, "save", {**question, "lossy": True})
    assert saved["written"] and saved["losses"] == lost
    own = asked(server, "save", {"model": model, "format": "native"})
    assert own["written"] and own["losses"] == []


def test_the_text_of_an_edited_model_says_which_names_it_lacks(server):
    text, _ = model_text(snp.SpikingSystem([snp.Neuron("0", 1)]), "cusnp")
    model = asked(server, "open", {"name": "a.in", "text": text})["model"]
    change = {"do": "rename", "neuron": 0, "name": "first"}
    answer = asked(server, "change", {"model": model, "operations": [change]})
    found = [finding["message"] for finding in answer["findings"]]
    assert found == [
        "the text leaves out what cuSNP cannot hold: the names of 1 neuron (they are numbered from "
        "0)"
    ]
    saved = asked(server, "save", {"model": answer["model"], "format": "cusnp"})
    assert saved == {
        "written": False,
        "losses": ["the names of 1 neuron (they are numbered from 0)"],
    }


# ---- edits ----


def pair() -> snp.SpikingSystem:
    return open_model("pair.pli", PAIR, format=None, level="extended").system


@pytest.mark.parametrize(
    ("spikes", "rules", "found"),
    [
        ("two", None, [("spikes", None, None)]),
        ("-1", None, [("spikes", None, None)]),
        ("1", "a -> b", [("rules", 1, 6)]),
        ("x", "a -> a\n\n  a -> ", [("spikes", None, None), ("rules", 3, 7)]),
        ("1", "a -> a\na -> lambda; 3", [("rules", 2, 1)]),
    ],
)
def test_a_wrong_edit_is_located(spikes, rules, found):
    system, findings = edited(pair(), Edit(0, spikes, rules))
    assert system is None
    assert [(f.part, f.line, f.column) for f in findings if f.severity == "error"] == found


def test_a_right_edit_changes_one_neuron_only():
    before = pair()
    system, findings = edited(before, Edit(1, " 7 ", "a^2/a -> a; 1\n\na -> lambda\n"))
    assert system is not None and not findings
    assert system.neurons[1] == snp.Neuron("q", 7, ["a^2/a -> a; 1", "a -> lambda"])
    assert system.neurons[0] == before.neurons[0] and system.synapses == before.synapses
    again, _ = edited(system, Edit(1, "1", None))
    assert again is not None and again.neurons[1].rules == system.neurons[1].rules


def test_a_dead_rule_is_told_but_taken():
    _, findings = edited(pair(), Edit(0, "x", "a^2/a^3 -> a\n\na -> -> a"))
    assert [x.line for x in findings] == [None, 1, 3]  # nothing hides another problem
    assert findings[1].message.startswith("a^2/a^3 -> a can never apply")
    system, (finding,) = edited(pair(), Edit(0, "1", "a^3/a -> a\na/a^2 -> a"))
    assert system is not None and finding.severity == "warning" and finding.line == 2


def test_rules_of_a_label_are_those_of_all_its_neurons():
    two = [snp.Neuron(name, 1, ["a -> a"], "x") for name in ("x#0", "x#1")]
    system = snp.SpikingSystem([*two, snp.Neuron("y")], [("x#0", "y")])
    after, findings = edited(system, Edit(0, "1", "[a]_x -> []_x || []_y"))
    assert after is not None and not findings
    assert after.neurons[0].rules == after.neurons[1].rules != two[0].rules


def test_an_edit_is_another_model(server):
    before = asked(server, "begin", {})["model"]
    edit = {"model": before, "neuron": 0, "spikes": "1", "rules": "a -> a"}
    assert asked(server, "check", edit) == {"findings": []}
    after = asked(server, "edit", edit)
    assert after["edited"] and after["model"] != before and "@ms(p) = a;" in after["text"]
    assert asked(server, "first", {"model": before})["rows"][0]["spikes"] == [2, 1]
    wrong = asked(server, "edit", {**edit, "rules": "a -> b"})
    assert not wrong["read"] and wrong["findings"][0]["column"] == 6


def moved(session, model, x):
    """The answer with a model whose first neuron stands there."""
    move = {"do": "move", "positions": [[x, 0], [100, 100]]}
    return session.answer("change", {"model": model, "operations": [move]})


def is_kept(session, model):
    edit = {"model": model, "neuron": 0, "spikes": "0", "rules": None}
    return session.reply("check", edit)[1] == "answered"


def test_all_models_that_undo_leads_to_are_kept():
    session = Session("pair.pli", PAIR)
    models = [session.answer("begin", {})]
    for x in range(200):  # 100 that undo leads to and 100 that redo leads to
        models.append(moved(session, models[-1]["model"], x))
    assert len({answer["computation"] for answer in models}) == 1
    assert all(is_kept(session, answer["model"]) for answer in models)


def test_of_large_models_fewer_are_kept(monkeypatch):
    session = Session("pair.pli", PAIR)
    monkeypatch.setattr(session_module, "_LEAST_MODELS", 3)
    monkeypatch.setattr(session_module, "_MOST_CHARACTERS", 5 * len(PAIR) + 10)
    models = [session.answer("begin", {})["model"] for _ in range(8)]
    assert [is_kept(session, model) for model in models] == [False] * 3 + [True] * 5
    monkeypatch.setattr(session_module, "_MOST_CHARACTERS", 1)
    models.append(session.answer("begin", {})["model"])
    assert [is_kept(session, model) for model in models] == [False] * 6 + [True] * 3


def test_steps_are_kept_of_the_latest_computations_only(monkeypatch):
    session = Session("pair.pli", PAIR)
    monkeypatch.setattr(session_module, "_MOST_COMPUTATIONS", 2)
    models = [session.answer("begin", {})["model"] for _ in range(3)]
    step = {"at": 0, "count": 1, "chosen": [], "rest": "first"}
    for model in models:
        session.answer("step", {"model": model, **step})
    for model, has_step in [(models[2], True), (models[1], True), (models[0], False)]:
        answer, _ = session.reply("step", {"model": model, **step, "at": 1})
        assert ("no configuration 1" in (answer["refused"] or "")) != has_step, answer
    assert session.answer("step", {"model": models[0], **step})["rows"]  # it begins again


def test_a_condition_is_searched_in_the_steps_of_the_page_only():
    session = Session("pair.pli", PAIR)
    model = session.answer("begin", {})["model"]
    question = {"model": model, "query": "p >= 0"}

    def searched(last):
        return session.answer("where", {**question, "last": last})["steps"]

    session.answer("step", {"model": model, "at": 0, "count": 1, "chosen": [], "rest": "first"})
    assert searched(1) == [0, 1] and searched(0) == [0]
    with pytest.raises(Refused, match="There is no configuration 2 on the server"):
        searched(2)
    session.answer("first", {"model": model})  # undo leads back to the model, or the answer is late
    assert searched(0) == [0]
    more = {"model": model, "at": 1, "count": 1, "chosen": [], "rest": "first"}
    assert session.answer("step", more)["rows"]


@pytest.mark.parametrize("error", [Refused, RuntimeError])
@pytest.mark.parametrize("call", ["replay", "go"])
def test_a_computation_that_cannot_be_made_again_changes_nothing(monkeypatch, call, error):
    """Whatever fails: its second step here."""
    session = Session("pair.pli", PAIR)
    model = session.answer("begin", {})["model"]
    stepper = session._models[model].stepper
    session.answer("explore", {"model": model, "most": 20})
    for at in range(2):
        stepper.step(at, {}, "first")
    before, after = list(stepper.moments), stepper.after

    def failing(moment, *arguments):
        if len(stepper.moments) == 2:
            raise error("it fails")
        return after(moment, *arguments)

    monkeypatch.setattr(stepper, "after", failing)
    step = {"chosen": [], "rest": "first"}
    graph = session._models[model].computation.graph
    assert graph is not None
    question = {"at": 0, "steps": [step] * 2, "configuration": graph.depths.tolist().index(2)}
    with pytest.raises(error, match="it fails"):
        session.answer(call, {"model": model, **question})
    assert stepper.moments == before


# ---- steps ----


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=20)
@given(systems(max_neurons=6), st.data())
def test_every_step_is_one_of_the_reference(system, data):
    """By any choices, some of them left to the first rule, and from any earlier configuration."""
    system = with_ballast(system)
    stepper = Stepper(system)
    known = [reference.initial(system)]
    for _ in range(6):
        at = data.draw(st.integers(0, len(known) - 1))
        moment, configuration = stepper.moments[at], known[at]
        applicable = reference.applicable(system, configuration)
        options = {i: list(rules) for i, rules in moment.options.items()}
        assert options == {i: own for i, own in enumerate(applicable) if own}
        assert moment.is_halted == reference.is_halting(system, configuration)
        if moment.is_halted:
            with pytest.raises(Refused, match="halted"):
                stepper.step(at, {}, "first")
            continue
        chosen = {i: data.draw(st.sampled_from(own)) for i, own in options.items()}
        left = data.draw(st.sets(st.sampled_from(sorted(chosen)))) if chosen else set()
        given_rules = {i: rule for i, rule in chosen.items() if i not in left}
        choice = tuple(
            given_rules.get(i, own[0]) if own else None for i, own in enumerate(applicable)
        )
        after, emitted = reference.step(system, configuration, choice)
        step = stepper.step(at, given_rules, "first").solution
        del known[at + 1 :]
        known.append(after)
        assert step.spikes.tolist() == list(after.spikes)
        assert step.timers.tolist() == list(after.timers)
        assert step.pending.tolist() == list(after.pending)
        assert step.emissions is not None and step.emissions[0].tolist() == list(emitted)


_RELAY = snp.Neuron("x", 5, ["a+/a -> a"])
_OTHERS = [snp.Neuron("y"), snp.Neuron("z")]
_TO_BOTH = [("x", "y"), ("x", "z")]
VARIANTS = {
    "anti-spikes": (
        [snp.Neuron("x", -2, ["a+/a -> a", "ā+/ā -> ā"]), *_OTHERS],
        snp.AntiSpikes(),
    ),
    "exhaustive": ([_RELAY, *_OTHERS], snp.Exhaustive()),
    "astrocytes": (
        [_RELAY, *_OTHERS],
        snp.Astrocytes([snp.Astrocyte([("x", "y"), ("x", "z")], threshold=3)]),
    ),
    "rules on synapses": (
        [snp.Neuron("x", 5), *_OTHERS],
        snp.SynapseRules({("x", "y"): ["a+/a -> a", "a+/a^2 -> a^3"], ("x", None): ["a+/a -> a"]}),
    ),
    "channels": (
        [snp.Neuron("x", 5, ["a+/a -> a(1)", "a+/a -> a^2(2)"]), *_OTHERS],
        snp.Channels({"1": [("x", "y")], "2": [("x", "y"), ("x", "z")]}),
    ),
    "requests": (
        [snp.Neuron("x", 1, ["a*/Q(a, y)", "a/Q(a^inf, z)"]), snp.Neuron("y", 3), snp.Neuron("z")],
        snp.Requests(),
    ),
    "delays of synapses": (
        [_RELAY, *_OTHERS],
        snp.SynapseDelays({("x", "y"): 3, ("x", "z"): 1}),
    ),
    "plasticity": ([snp.Neuron("x", 3, ["a+/a -> -1(x, {y})", "a+/a -> a"]), *_OTHERS], None),
    "budding": ([snp.Neuron("x", 1, ["[a]_x -> []_x / []_w"]), *_OTHERS], None),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_is_stepped_as_by_the_reference(name):
    neurons, variant = VARIANTS[name]
    options = {} if name == "requests" else {"synapses": _TO_BOTH, "output": "x"}
    system = quietly(snp.SpikingSystem, neurons, variant=variant, **options)
    session = Session("v.snp.json", _text_of(system))
    model = session.answer("begin", {})["model"]
    rows = session.answer("first", {"model": model})["rows"]
    ask = {"model": model, "at": 0, "count": 6, "rest": "first"}
    rows += session.answer("step", ask)["rows"]
    known = reference.run(system, max_steps=6)
    for row, configuration in zip(rows, known.configurations, strict=True):
        assert row["spikes"] == list(configuration.spikes)
        applicable = reference.applicable(system, configuration)
        assert row["options"] == [[i, own] for i, own in enumerate(applicable) if own]
        timing = configuration.timing
        wanted = () if timing is None else timing.in_flight
        assert sorted((n, i, k) for i, n, k in row["flights"]) == list(wanted)
        if configuration.network is not None and "network" in row:
            assert [tuple(x[:3]) for x in row["network"]["synapses"]] == sorted(
                configuration.network.synapses
            )
    assert [row["halted"] for row in rows][-1] == known.halted
    described = session.answer("begin", {})["system"]
    assert len(described["synapses"]) == len(system.synapses) and json.dumps(described)


NETS = {
    "priorities": ("halve: 2x !stop -> half\ndrop: x ->\nhalve > drop", {"x": 9}),
    "choices": ("a: x -> 2y\nb: x -> z\nc: 3y ?2z -> x\nb > c", {"x": 4, "z": 2, "y": 7}),
}


@pytest.mark.slow
@settings(max_examples=10)
@given(st.sampled_from(sorted(NETS)), st.data())
def test_every_firing_is_one_of_the_reference(name, data):
    net = net_of_text(*NETS[name])
    known = reference_sleptsov.Reference(net)
    stepper = NetStepper(net)
    marking = known.initial
    for at in range(5):
        moment = stepper.moments[at]
        assert tuple(moment.solution.marking.tolist()) == marking
        candidates = list(moment.options.get(CHOOSER, ()))
        assert candidates == known.candidates(marking)
        assert moment.is_halted == (not known.fireable(marking))
        if moment.is_halted:
            break
        chosen = data.draw(st.sampled_from([None, *candidates]))
        given_choice = {} if chosen is None else {CHOOSER: chosen}
        fired = known.fireable(marking)[0] if chosen is None else chosen
        row = stepper.row_json(stepper.step(at, given_choice, "first"), moment)
        copies = known.multiplicity(marking, fired)
        assert copies is not None
        assert row["emitted"] == [[net.num_places + fired, copies]]
        marking = known.fired(marking, fired, copies)


@pytest.mark.slow
def test_a_net_is_opened_edited_and_saved():
    session = Session("net.lsn", model_text(net_of_text(*NETS["priorities"]), "lsn")[0])
    begun = session.answer("begin", {})
    assert begun["read"] and begun["system"]["kind"] == "net" and begun["format"] == "lsn"
    wrong = session.answer("edit", {"model": begun["model"], "neuron": 0, "spikes": "-1"})
    assert not wrong["read"] and "-1 is not a number of tokens" in wrong["findings"][0]["message"]
    after = session.answer("edit", {"model": begun["model"], "neuron": 0, "spikes": "5"})
    rows = session.answer("step", {"model": after["model"], "at": 0, "count": 9, "rest": 0})["rows"]
    run = snp.run(net_of_text(NETS["priorities"][0], {"x": 5}))
    assert rows[-1]["spikes"] == run.marking.tolist() and rows[-1]["halted"]
    for known in begun["formats"]:
        if known["kind"] == "net" and known["written"]:
            ask = {"model": after["model"], "format": known["name"], "lossy": True}
            saved = session.answer("save", ask)
            again = session.answer("open", {"name": saved["name"], "text": saved["text"]})
            assert again["read"] and again["system"]["neurons"][0]["spikes"] == 5, known
    graph = session.answer("explore", {"model": after["model"], "most": 9})
    own = snp.explore(net_of_text(NETS["priorities"][0], {"x": 5}), max_configurations=9)
    assert graph["configurations"] == graph_json(own)["configurations"]
    assert graph["choices"] == own.num_choices


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1])
def test_a_seed_makes_the_path_of_a_run(seed):
    system = pair()
    solution = snp.run(system, max_steps=8, choice=snp.UniformChoice(jr.key(seed)))
    stepper = Stepper(system)
    while not stepper.moments[-1].is_halted:
        stepper.step(len(stepper.moments) - 1, {}, seed)
    assert [m.solution.spikes.tolist() for m in stepper.moments] == solution.configurations.tolist()


def test_counts_that_a_browser_would_round_are_texts():
    assert exact(2**53 - 1) == 2**53 - 1 and exact(2**53) == f"{2**53}"
    neurons = [snp.Neuron("p", 2**61, ["a+/a -> a"]), snp.Neuron("q", 0)]
    stepper = Stepper(quietly(snp.SpikingSystem, neurons, [("p", "q", 2**60)]))
    rows = [stepper.row_json(stepper.moments[0], None)]
    assert rows[0]["spikes"] == [f"{2**61}", 0]
    with pytest.raises(Refused, match="more spikes than 64 bits can count"):
        for at in range(20):
            stepper.step(at, {}, "first")
    assert stepper.moments[-1].solution.spikes[1] == 7 * 2**60


@pytest.mark.slow
def test_dividing_neurons_get_the_room_they_need():
    rules = ["[a]_x -> []_x || []_y"]
    system = snp.SpikingSystem(
        [snp.Neuron("x", 1, rules), snp.Neuron("in", 0)],
        [("in", "x")],
        rules_by_label={"y": ["a -> a"]},
        output="y",
    )
    session = Session("growth.snp.json", "")
    text = _text_of(system)
    model = session.answer("open", {"name": "growth.snp.json", "text": text})["model"]
    first = session.answer("first", {"model": model})["rows"]
    answer = session.answer("step", {"model": model, "at": 0, "count": 9, "rest": 0})
    names = [row["network"]["names"] for row in [*first, *answer["rows"]] if "network" in row]
    assert names == [["x", "in"], ["x", "in", "y"]]
    assert answer["rows"][-1]["halted"] and answer["rows"][0]["fired"][0][2] == rules[0]


def _text_of(system: snp.SpikingSystem) -> str:
    from snpjax.viz.page.texts import serialize

    return serialize(system, format="native", lossy=False)[0]


@pytest.mark.slow
def test_every_configuration_of_the_graph_can_be_gone_to(server):
    model = asked(server, "begin", {})["model"]
    graph = asked(server, "explore", {"model": model, "most": 50})
    assert graph["complete"] and graph["configurations"][0] == "<2,1>"
    for number, text in enumerate(graph["configurations"]):
        answer = asked(server, "go", {"model": model, "configuration": number})
        assert answer["path"][-1] == number and len(answer["rows"]) == len(answer["path"])
        spikes = re.sub("⁽[⁰¹²³⁴⁵⁶⁷⁸⁹]+⁾", "", text)
        assert f"<{','.join(map(str, answer['rows'][-1]['spikes']))}>" == spikes
        assert answer["rows"][-1]["halted"] == (number in graph["halting"])
    edges = {(source, target) for source, target, _ in graph["edges"]}
    assert all(pair in edges for pair in zip(answer["path"], answer["path"][1:], strict=False))


# ---- one file ----


class _Elements(HTMLParser):
    """What a browser takes for elements."""

    def __init__(self, text: str):
        HTMLParser.__init__(self)
        self.tags: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)


def packed_in(page):
    """What an exported page unpacks: its modules, and what it shows."""
    (packed,) = re.findall(r'id="packed">([^<]*)</script>', page)
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def recorded_in(page):
    return packed_in(page)["recorded"]


def test_a_file_holds_a_run_and_no_markup_of_the_model():
    text = PAIR.replace("@mu = p, q;", f"/* {HOSTILE} <!-- ]]> */ @mu = p, q;")
    found = open_model(f"{HOSTILE}.pli", text, format=None, level="extended")
    plain = recorded_page(
        open_model("p.pli", PAIR, format=None, level="extended"), max_steps=9, rest=0
    )
    page = recorded_page(found, max_steps=9, rest=0)
    assert HOSTILE not in page
    seen = _Elements(page)
    assert seen.tags == _Elements(plain).tags
    value = recorded_in(page)
    assert value["text"] == text
    run = snp.run(found.system, max_steps=9, choice=snp.UniformChoice(jr.key(0)))
    assert [row["spikes"] for row in value["rows"]] == run.configurations.tolist()
    # It needs nothing else, and may load nothing else.
    assert not re.search(r'(src|href)="(?!data:)', page)
    assert "default-src 'none'" in page
    assert set(packed_in(page)["modules"]) >= {"snpjax/main", "snpjax/dagre.esm"}
    assert len(page.encode()) <= 300_000


def test_a_file_says_why_its_run_ends(monkeypatch):
    monkeypatch.setattr("snpjax.viz.page.models._MOST_STEPS", 2)
    found = open_model("p.pli", PAIR, format=None, level="extended")
    value = recorded_in(recorded_page(found, max_steps=9, rest=0))
    assert len(value["rows"]) == 3 and "keeps 2 steps" in value["refused"]


def test_a_file_can_be_written_whatever_the_name():
    """File names, and names in JSON, may hold what is no character."""
    found = open_model("\udcff.pli", PAIR, format=None, level="extended")
    page = recorded_page(found, max_steps=1, rest=0).encode().decode()
    assert r"<title>\udcff.pli · snpjax</title>" in page


# ---- the command ----


@pytest.fixture
def pair_file(tmp_path):
    path = tmp_path / "pair.pli"
    path.write_text(PAIR)
    return path


def view(*arguments):
    return invoke("view", *arguments)


def test_export_writes_one_file(pair_file, tmp_path):
    target = tmp_path / "page.html"
    result = view(pair_file, "--export", target, "--steps", "2")
    assert result.exit_code == 0 and f"{target}: written" in result.output
    value = recorded_in(target.read_text())
    assert len(value["rows"]) == 3 and value["name"] == "pair.pli"


def test_a_member_of_a_family_is_opened(tmp_path):
    family, target = tmp_path / "family.pli", tmp_path / "page.html"
    family.write_text(
        "@model<spiking_psystems>\ndef main(n)\n{\n  @mu = cell{1}, cell{2};\n"
        "  @ms(cell{1}) = a*n;\n  @marcs = (cell{1}, cell{2});\n"
        '  [a --> a]\'cell{1} "a*";\n}\n'
    )
    assert "give --set n=8" in view(family, "--export", target).output
    result = view(family, "--set", "n=3", "--export", target, "--steps", "1")
    assert result.exit_code == 0, result.output
    assert len(recorded_in(target.read_text())["rows"]) == 2
    assert "there is no file to read" in view("--set", "n=3").output


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["missing.pli"], "there is no such file"),
        (["{tmp}/pair.exe"], "unknown suffix '.exe'"),
        (["{pair}", "--steps", "3"], "it applies to --export only"),
        (["{tmp}/net.lsn", "--strict"], "this is a file of a net"),
        (["{pair}", "--export", "{tmp}/no/page.html"], "there is no folder"),
        (["{bad}", "--export", "{tmp}/page.html"], "bad.pli:1:1"),
    ],
)
def test_bad_usage_is_one_clear_error(pair_file, tmp_path, arguments, problem):
    (tmp_path / "pair.exe").write_text(PAIR)
    bad = tmp_path / "bad.pli"
    bad.write_text("%")
    some = {"tmp": tmp_path, "pair": pair_file, "bad": bad}
    result = view(*(argument.format(**some) for argument in arguments))
    assert result.exit_code == 2 and problem in result.output and "Traceback" not in result.output


def test_a_port_in_use_is_one_clear_error(pair_file):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = view(pair_file, "--no-browser", "--port", port)
    assert result.exit_code == 2 and f"port {port} is in use (give another one" in result.output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_end_it(pair_file, number):
    command = "-m", "snpjax", "view", pair_file, "--no-browser"
    with started(sys.executable, *command) as process:
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        assert re.match(r"serving http://127\.0\.0\.1:\d+/[\w-]+/ ", line)
        process.send_signal(number)
        assert process.wait() == 0
        assert process.stdout.read().strip() == "ended" and process.stderr.read() == ""


def test_it_ends_with_its_terminal(pair_file):
    master, slave = os.openpty()
    command = sys.executable, "-m", "snpjax", "view", pair_file, "--no-browser"
    with started(*command, stdin=slave, stdout=slave, stderr=slave) as process:
        os.close(slave)
        assert os.read(master, 100).startswith(b"serving http://127.0.0.1:")
        os.close(master)
        assert process.wait() == 0


def test_a_search_without_an_end_leaves_a_property_undecided():
    counter = snp.SpikingSystem([snp.Neuron("x", 1, ["a+/a -> a"]), snp.Neuron("y")], [("x", "y")])
    verdict = snp.check(counter, "always y <= 2", max_depth=0, induction=False)
    assert verdict.status is snp.Status.BOUNDED
    assert ": undecided (no answer within 0 steps" in verdict_text(verdict)
    decided = snp.check(counter, "always y <= 2")
    assert verdict_text(decided) == f"{decided}"


def test_a_file_that_is_saved_in_its_format_keeps_comments_and_layout():
    text = (REPOSITORY / "examples" / "natural_numbers.pli").read_text()
    session = Session("natural_numbers.pli", text)
    question = {"model": session.answer("begin", {})["model"], "format": "plingua"}
    assert session.answer("save", question)["text"] == text
    add = [{"do": "add", "neurons": [{"name": "größe 2"}]}]
    edited = session.answer("change", {**question, "operations": add})
    saved = session.answer("save", {**question, "model": edited["model"]})
    assert saved["text"] == edited["text"] and "/* Generates every natural" in saved["text"]
    lost = session.answer("save", {"model": edited["model"], "format": "cusnp"})
    assert not lost["written"] and "the names of 4 neurons" in "".join(lost["losses"])


def test_an_answer_does_not_wait_until_its_header_has_arrived(server, monkeypatch):
    accepted, get_request = [], PageServer.get_request

    def recorded(own):
        connection, address = get_request(own)
        accepted.append(connection)
        return connection, address

    monkeypatch.setattr(PageServer, "get_request", recorded)
    client = http.client.HTTPConnection("127.0.0.1", server.server_port)
    client.request("POST", f"/{server.token}/api/alive", "{}", JSON)
    assert client.getresponse().read() == b"{}"
    (connection,) = accepted
    assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    client.close()


#: Many configurations, and none that decides a question soon.
LATTICE = quietly(
    snp.SpikingSystem,
    [
        *(snp.Neuron(f"n{i}", 6, ["a+/a -> a", "a+/a -> lambda"]) for i in range(9)),
        snp.Neuron("sum", 0),
    ],
    [(f"n{i}", "sum") for i in range(9)],
    output="sum",
)


@pytest.mark.parametrize("end", ["cancel", "close"])
@pytest.mark.parametrize("call", ["property", "numbers"])
def test_a_search_ends_when_it_is_cancelled(monkeypatch, call, end):
    monkeypatch.setattr(properties_module, "_MOST_CONFIGURATIONS", 10**7)
    session = Session("lattice.snp.json", model_text(LATTICE, "native")[0])
    model = session.answer("begin", {})["model"]
    question = {"model": model, "query": "always sum <= 60", "most": 20}
    found: Future = Future()
    thread = threading.Thread(target=lambda: found.set_result(session.reply(call, question)))
    thread.start()
    while not (session._searches and session._searches[0].has_begun):
        time.sleep(0.01)
    session.answer("cancel", {"model": model + 1})  # of another page
    assert not session._searches[0].is_cancelled
    session.close() if end == "close" else session.answer("cancel", {"model": model})
    answer, outcome = found.result()
    assert outcome == "answered"
    if call == "property":
        assert answer["status"] == "bounded" and "interrupted" in answer["text"]
    else:
        assert answer["complete"] < 20
    session.answer("cancel", {"model": model})  # too late


def test_a_search_that_waits_can_be_cancelled_and_its_time_has_not_begun(monkeypatch):
    """Of two pages that wait for the step of a third one, one cancels its search."""
    monkeypatch.setattr(session_module, "MOST_SECONDS", 5.0)
    session = Session("lattice.snp.json", model_text(LATTICE, "native")[0])
    models = [session.answer("begin", {})["model"] for _ in range(2)]
    patiences = []

    def checked(model, text, patience):
        patiences.append((patience.is_interrupted, patience.left + time.monotonic()))
        raise Refused("seen")

    monkeypatch.setattr(session_module, "checked", checked)
    question = {"query": "always sum <= 60"}
    with session._stepping:
        threads = []
        for count, model in enumerate(models, start=1):
            waiting = ["property", {**question, "model": model}]
            threads.append(threading.Thread(target=session.reply, args=waiting))
            threads[-1].start()
            while len(session._searches) < count:
                time.sleep(0.01)
        session.answer("cancel", {"model": models[0]})
        time.sleep(0.2)
        released = time.monotonic()
    for thread in threads:
        thread.join()
    assert sorted(is_interrupted for is_interrupted, _ in patiences) == [False, True]
    assert all(end > released + 4.99 for _, end in patiences)
    assert not session._searches


def test_what_a_format_without_variants_loses_is_named(tmp_path):
    delays = snp.SynapseDelays({("x", "y"): 3})
    system = snp.SpikingSystem(
        [snp.Neuron("x", 1, ["a -> a"]), snp.Neuron("y")], [("x", "y")], variant=delays
    )
    with pytest.raises(snp.WriteError, match=r"SynapseDelays: delay 3 of \(x, y\)"):
        snp.write(system, tmp_path / "model.pli")
    assert system_json(system)["remarks"] == ["synapse delays"]


def test_the_page_has_another_rule_on_request():
    text = (
        '<pnml><net id="n" type="http://www.pnml.org/version-2009/grammar/ptnet"><place id="p"/>'
        '<transition id="t"/><arc id="a" source="p" target="t"/></net></pnml>'
    )
    opened = open_model("a.pnml", text, format=None, level="extended")
    assert net_json(opened.system)["remarks"] == ["the Petri rule"]
    other = with_rule(opened, snp.sleptsov.Sleptsov(), level="extended")
    assert other.format.name == "pnml" and '<rule name="sleptsov"/>' in other.text
    assert net_json(other.system)["remarks"] == ["the Sleptsov rule"]


def test_the_token_is_not_among_the_arguments_of_the_browser(pair_file, monkeypatch):
    opened = threading.Event()
    pages = []

    def open_browser(url):
        path = Path(unquote(urlsplit(url).path))
        modes = [stat.S_IMODE(x.stat().st_mode) for x in (path, path.parent)]
        pages.append((url, path, modes, path.read_text()))
        opened.set()

    def serve(server):
        assert opened.wait(60)
        assert server.token not in pages[0][0] and f"url={server.url}" in pages[0][3]

    monkeypatch.setattr("webbrowser.open", open_browser)
    monkeypatch.setattr("snpjax.viz.page.PageServer.serve_forever", serve)
    result = view(pair_file)
    assert result.exit_code == 0, result.output
    ((url, path, modes, _),) = pages
    assert url.startswith("file://") and modes == [0o600, 0o700] and not path.exists()
