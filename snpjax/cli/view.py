"""`snpjax view [FILE]`: the interactive page."""

import errno
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from .ending import BAD_INPUT, ended, orderly, refusals
from .models import NetOptions, SystemOptions
from .options import (
    MOST_SEED,
    flag,
    format_from,
    grouped,
    number,
    refuse_given,
    rule_of,
    value,
)
from .streams import OutputLost, drop_output


if TYPE_CHECKING:
    from ..io.formats import Format
    from ..spiking.model.validity import Level
    from ..viz.page import OpenedModel, PageServer, Session


@orderly()
@grouped
def view(
    *,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="The model file; without one, an empty system."),
    ] = None,
    port: Annotated[
        int, number("--port", "Serve on this port; 0 selects a free port.", most=65535)
    ] = 0,
    no_browser: Annotated[
        bool, flag("--no-browser", "Print the address without opening a browser.")
    ] = False,
    query: Annotated[
        str | None,
        value("--query", "QUERY", "Open at the computation that refutes QUERY, or shows it."),
    ] = None,
    export: Annotated[
        Path | None,
        value("--export", "PAGE", "Write one file that shows a run without a server, and exit."),
    ] = None,
    steps: Annotated[
        int | None,
        number("--steps", "With --export: stop after N steps.  [default: 100]", most=20_000),
    ] = None,
    seed: Annotated[
        int | None,
        number(
            "--seed",
            "With --export: choose uniformly, from this seed.  [default: 0]",
            most=MOST_SEED,
        ),
    ] = None,
    systems: SystemOptions,
    nets: NetOptions,
) -> None:
    """Draw a system or net in a browser, step it, follow its branches, and change it.

    Without a file the page begins with an empty system. The page is served to this machine only, at
    an address that nobody can guess, until Ctrl-C. Errors of a file that cannot be read are shown
    there too, and can be fixed. With --set the page opens the member of the family as a file of its
    own, without the parameters; with an option on reading a net, what was read.
    """
    from ..io.formats import check_suffix, is_of_net

    if file is not None and f"{file}" == "-":
        problem = "the page shows a file, not the standard input (save the model in a file)"
        raise typer.BadParameter(problem, param_hint="FILE")
    level: Level = "strict" if systems.strict else "extended"
    reads = format_from(nets.source_format, "system", "net")
    if (reads.holds == "system") if reads else (file is None or not is_of_net(file)):
        if reads is None and file is not None and file.exists():
            check_suffix(file, "system")  # what is not a model of any format needs no page
        refuse_given(nets.values(), "there is no net (leave it out)")
        if file is None:
            options = {**systems.values(), "--strict": False}
            refuse_given(options, "there is no file to read (leave it out)")
    else:
        refuse_given(systems.values(), "this is a file of a net (leave it out)")
    if query is not None:
        if file is None:
            raise typer.BadParameter("there is no model to check (name a file)", param_hint="FILE")
        _check_query(query, export)
    if export is not None:
        if file is None:
            raise typer.BadParameter("there is no model to export (name a file)", param_hint="FILE")
        with refusals():
            found = _opened(file, reads, systems, nets)
        _export(found, export, 100 if steps is None else steps, seed or 0)
        return
    why = "it applies to --export only (choose in the page, or add --export)"
    refuse_given({"--steps": steps, "--seed": seed}, why)

    from ..viz.page import PageServer, Session, new_session

    if file is None:
        if reads is not None:
            raise typer.BadParameter("there is no file to read (leave it out)", param_hint="--from")
        session = new_session(level=level)
    else:
        known = reads and reads.name
        if nets.rule is None and not _changes_text(systems, nets):
            name, text = file.name, _text_of(file, known, systems)
        else:
            with refusals():
                found = _opened(file, reads, systems, nets)
            name, text, known = found.name, found.text, found.format.name
        session = Session(name, text, level=level, format=known, query=query)
    try:
        server = PageServer(session, port=port)
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        reason = "is in use" if error.errno == errno.EADDRINUSE else "is not allowed"
        message = f"error: --port: port {port} {reason} (give another one, or none)"
        raise ended(message, BAD_INPUT) from None
    with server:
        _serve(server, session, opens=not no_browser)


def _text_of(file: Path, format: str | None, systems: SystemOptions) -> str:
    """The text of a file with those that it includes, of which there is a note."""
    from ..io.plingua.includes import load_joined

    source, names = load_joined(file, format, may_be_outside=systems.allow_includes_outside)
    for name in names:
        typer.echo(f"note: {name}, which {file} includes, is part of what the page saves", err=True)
    return source.text


def _check_query(query: str, export: Path | None) -> None:
    """End with an error for a query with a mistake, or one that no computation shows."""
    from ..check import NumberQuery, QueryError, parse_property

    if export is not None:
        raise typer.BadParameter("the page of --export shows a run", param_hint="--query")
    try:
        is_number = isinstance(parse_property(query), NumberQuery)
    except QueryError as error:
        raise ended(f"error: {error}", BAD_INPUT) from None
    if is_number:
        problem = "no computation shows a number (use `snpjax check`)"
        raise typer.BadParameter(problem, param_hint="--query")


def _serve(server: "PageServer", session: "Session", *, opens: bool) -> None:
    """Until Ctrl-C or SIGTERM, the ordinary ends, or until the terminal is gone."""
    try:
        typer.echo(f"serving {server.url} (Ctrl-C ends it)")
        sys.stdout.flush()
        with _redirect(server.url) if opens else nullcontext() as file:
            if file is not None:
                import webbrowser

                url = file.as_uri()
                threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
            server.serve_forever()
    except KeyboardInterrupt:
        try:
            typer.echo("\nended")
        except OutputLost:  # with the terminal
            drop_output()
        if session.is_busy:
            # JAX may be computing what nobody waits for; see `main`.
            os._exit(0)


@contextmanager
def _redirect(url: str) -> Iterator[Path]:
    """A file that only the user can read and that leads a browser to an address. The arguments of a
    browser are seen by all users of the machine, and the address holds the token."""
    from snpjax_formats.atomic import atomic_write

    with TemporaryDirectory(prefix="snpjax-", ignore_cleanup_errors=True) as folder:  # mode 0700
        file = Path(folder) / "page.html"
        refresh = f'<meta http-equiv="refresh" content="0; url={url}">'
        text = f'<!doctype html><title>snpjax</title>{refresh}<a href="{url}">Open the page</a>\n'
        file.touch(mode=0o600)
        atomic_write(file, text)
        yield file


def _changes_text(systems: SystemOptions, nets: NetOptions) -> bool:
    """Return whether an option says how to read the file, which the page cannot repeat."""
    return any([systems.parameters, *replace(nets, rule=None).values().values()])


def _opened(
    file: Path, reads: "Format | None", systems: SystemOptions, nets: NetOptions
) -> "OpenedModel":
    from ..viz.page import open_model
    from ..viz.page.texts import opened_system, with_rule

    if _changes_text(systems, nets):
        return opened_system(systems.read(file, reads) if systems.parameters else nets.read(file))
    known, level = reads and reads.name, "strict" if systems.strict else "extended"
    opened = open_model(f"{file}", _text_of(file, known, systems), format=known, level=level)
    rule = rule_of(nets.rule)
    return opened if rule is None else with_rule(opened, rule, level=level)


def _export(found: "OpenedModel", target: Path, steps: int, seed: int) -> None:
    from snpjax_formats.atomic import atomic_write

    from ..viz.page import recorded_page
    from ..viz.page.stepping import Refused
    from .text import printable

    try:
        text = recorded_page(found, max_steps=steps, rest=seed)
    except Refused as error:
        raise ended(f"error: {error}", BAD_INPUT) from None
    with refusals(target):
        atomic_write(target, text)
    typer.echo(printable(f"{target}: written"))
