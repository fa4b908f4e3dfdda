"""`snpjax sleptsov convert` and `snpjax sleptsov generate`: files of Sleptsov nets."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .ending import BAD_INPUT, FAILED, ended, orderly
from .lossy import losses_of
from .options import AsJson


if TYPE_CHECKING:
    from ..io import NetFormat
    from ..sleptsov import HighNet, Program, SleptsovNet

#: The programs of `generate`, and what their numbers are.
PROGRAMS = {
    "add": "the terms of a sum",
    "mul": "the factors of a product",
    "pol": "x and the coefficients of a polynomial, that of x^0 first",
    "mmul": "the entries of two square matrices, row by row",
    "d": "the number of levels: 2^(2^levels) is computed",
}
_MOST_RANDOM = 10  # random numbers are from 1 to this, as in the published nets

Lossy = Annotated[
    bool, typer.Option("--lossy", help="Leave out what OUT cannot hold, and say what.")
]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="FORMAT", help="The format of OUT, when its name does not say."),
]
Out = Annotated[Path, typer.Argument(metavar="OUT", help="The file to write.")]


@orderly()
def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="The file of a net to read.")],
    target: Out,
    source_format: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="FORMAT", help="The format of IN, when its name does not say."
        ),
    ] = None,
    target_format: To = None,
    lossy: Lossy = False,
    drop_time: Annotated[
        bool,
        typer.Option("--drop-time", help="Of a net with times, rates or weights: read it without."),
    ] = False,
    net_id: Annotated[
        str | None, typer.Option("--net", metavar="ID", help="PNML: which net of several.")
    ] = None,
    ignore_unknown: Annotated[
        bool,
        typer.Option(
            "--ignore-unknown",
            help="PNML: list elements and attributes that are not known, and read the net without.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a Sleptsov net in another format.

    Formats are lsn, mcc, msn, net, ndr and pnml; hsn, with the files of its sub-nets, is linked to
    a flat net; tapn, pipe and greatspn are only read. If OUT cannot hold the net, all that it lacks
    is listed, nothing is written and the exit status is 1.
    """
    import snpjax as snp

    reads = _format_named(source_format, "--from")
    writes = _written_format(target, target_format)
    _check_options(reads, source, drop_time, net_id, ignore_unknown)
    net = snp.read_net(
        source, format=reads, drop_time=drop_time, net=net_id, ignore_unknown=ignore_unknown
    )
    _write(net, target, writes, lossy, as_json, {"file": f"{source}"}, f"{source}")


@orderly()
def generate(
    program: Annotated[
        str,
        typer.Argument(
            metavar="PROGRAM",
            help="One of add, mul (chains), pol (polynomial), mmul (product of matrices), d "
            "(double exponent).",
        ),
    ],
    target: Out,
    numbers: Annotated[
        list[int] | None,
        typer.Argument(metavar="[NUMBERS]", help="What to compute with.", show_default=False),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option(
            "--size",
            metavar="K",
            min=1,
            max=1000,
            help="Instead of NUMBERS: K operations, degree K or K x K matrices of random numbers "
            f"from 1 to {_MOST_RANDOM}; or K levels.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The seed of random numbers.")] = 0,
    target_format: To = None,
    lossy: Lossy = False,
    as_json: AsJson = False,
) -> None:
    """Write a program that is a net, with its numbers in place.

    An .hsn file names the sub-nets add.lsn and mul.lsn, which snpjax knows; any other format holds
    the linked net.

      snpjax sleptsov generate add sum.lsn 2 8 5

      snpjax sleptsov generate mmul product.lsn --size 10 --seed 1
    """
    if program not in PROGRAMS:
        raise typer.BadParameter(
            f"there is no program {program!r} (write one of {', '.join(PROGRAMS)})",
            param_hint="PROGRAM",
        )
    writes = _written_format(target, target_format)
    given = list(numbers or ())
    if (size is None) == (not given):
        message = f"give either NUMBERS ({PROGRAMS[program]}) or --size"
        raise typer.BadParameter(message, param_hint="NUMBERS")
    if size is not None:
        given = _random_numbers(program, size, seed)
    try:
        made = program_of(program, given)
    except ValueError as error:
        raise typer.BadParameter(f"{error}", param_hint="NUMBERS") from None
    report = {
        "program": program,
        "numbers": given,
        "answers": made.answers.tolist(),
        "done": {"place": made.done[0], "tokens": made.done[1]},
    }
    if writes != "hsn":
        net = made.net
    elif program == "d":
        raise typer.BadParameter("the double exponent has no sub-nets", param_hint="OUT")
    else:
        net = made.high
    _write(net, target, writes, lossy, as_json, report, _answer_text(made))


def program_of(program: str, numbers: Sequence[int]) -> "Program":
    """The program of that name. **Raises:** `ValueError` for numbers that it cannot take."""
    from ..sleptsov import programs

    if program == "add":
        return programs.addition_chain(numbers)
    if program == "mul":
        return programs.product_chain(numbers)
    if program == "pol":
        return programs.polynomial(numbers[1:], numbers[0])
    if program == "d":
        if len(numbers) != 1:
            raise ValueError(f"{len(numbers)} numbers are given. Give the number of levels.")
        return programs.double_exponent(numbers[0])
    size = round((len(numbers) / 2) ** 0.5)
    if 2 * size * size != len(numbers):
        raise ValueError(f"{len(numbers)} numbers are not those of two square matrices.")
    rows = [list(numbers[at : at + size]) for at in range(0, len(numbers), size)]
    return programs.matrix_product(rows[:size], rows[size:])


def _random_numbers(program: str, size: int, seed: int) -> list[int]:
    if program == "d":
        return [size]
    import random

    count = {"add": size + 1, "mul": size + 1, "pol": size + 2, "mmul": 2 * size * size}[program]
    choose = random.Random(seed)
    return [choose.randint(1, _MOST_RANDOM) for _ in range(count)]


def _answer_text(program: "Program") -> str:
    names = [program.net.place_name(place) for place in program.answers.ravel()[:4].tolist()]
    more = ", ..." if program.answers.size > len(names) else ""
    of = "place" if program.answers.size == 1 else "places"
    return f"the answer will stand in {of} {', '.join(names)}{more}"


def _write(
    net: "SleptsovNet | HighNet",
    target: Path,
    format: "NetFormat",
    lossy: bool,
    as_json: bool,
    report: dict[str, object],
    said: str,
) -> None:
    """Write the net, and say what was written and lost."""
    import snpjax as snp

    from ..io.sleptsov.formats import NET_FORMATS
    from ..sleptsov import HighNet
    from . import data
    from .text import plural, printable

    losses, refusal = (), None
    flat = net.net if isinstance(net, HighNet) else net
    try:
        losses = losses_of(partial(snp.write_net, net, target, format=format), lossy=lossy)
    except snp.WriteError as error:
        losses, refusal = error.items, f"{error}"
    except OSError as error:
        reason = f"{target}: {error.strerror} (check the name and the permissions)"
        raise ended(f"error: {reason}", BAD_INPUT) from None
    except ValueError as error:
        raise ended(f"error: {target}: {error}", FAILED) from None
    if as_json:
        sizes = {
            "output": f"{target}",
            "format": format,
            "places": flat.num_places,
            "transitions": flat.num_transitions,
            "losses": list(losses),
            "written": refusal is None,
        }
        data.print_json({**report, **sizes})
    if refusal is not None:
        raise ended(f"error: {target}: {refusal}", FAILED)
    title = NET_FORMATS[format].title
    for loss in losses:
        typer.echo(f"warning: {target}: lost in {title}: {loss}", err=True)
    if not as_json:
        size = f"{plural(flat.num_places, 'place')}, {plural(flat.num_transitions, 'transition')}"
        typer.echo(printable(f"{said}: {size}"))
        typer.echo(printable(f"{target}: written as {title}"))


def _format_named(name: str | None, option: str) -> "NetFormat | None":
    from ..io.sleptsov.formats import NET_FORMATS

    known: dict[str, NetFormat] = {format: format for format in NET_FORMATS}
    if name is None or name in known:
        return None if name is None else known[name]
    raise typer.BadParameter(
        f"there is no format {name!r} (write one of {', '.join(known)})", param_hint=option
    )


def _written_format(target: Path, name: str | None) -> "NetFormat":
    from ..io.sleptsov.formats import NET_FORMATS, net_format_to_write, suffixes_are

    format = _format_named(name, "--to") or net_format_to_write(target)
    written = suffixes_are(written=True)
    if format is None:
        message = f"the suffix {target.suffix!r} says no format (write {written}, or --to)"
        raise typer.BadParameter(message, param_hint="OUT")
    if NET_FORMATS[format].writer is None:
        message = f"{NET_FORMATS[format].title} is only read (write {written})"
        raise typer.BadParameter(message, param_hint="--to")
    return format


def _check_options(
    format: "NetFormat | None",
    source: Path,
    drop_time: bool,
    net_id: str | None,
    ignore_unknown: bool,
) -> None:
    """Refuse options that the format does not have."""
    from ..io.sleptsov.formats import NET_FORMATS, net_format_of

    format = format or net_format_of(source)
    has = NET_FORMATS[format].options if format else ("drop_time", "net", "ignore_unknown")
    for given, option, hint in (
        (drop_time, "drop_time", "--drop-time"),
        (net_id is not None, "net", "--net"),
        (ignore_unknown, "ignore_unknown", "--ignore-unknown"),
    ):
        if given and option not in has:
            raise typer.BadParameter("the format of IN has nothing to choose", param_hint=hint)
