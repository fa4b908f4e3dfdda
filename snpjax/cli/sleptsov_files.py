"""`snpjax sleptsov convert` and `snpjax sleptsov generate`: files of Sleptsov nets."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..io.formats import names_text
from .ending import orderly, refusals
from .lossy import Out, WriteOptions
from .models import NetOptions
from .options import grouped, one_of


if TYPE_CHECKING:
    from ..sleptsov import Program

#: The programs of `generate`, and what their numbers are.
PROGRAMS = {
    "add": "the terms of a sum",
    "mul": "the factors of a product",
    "pol": "x and the coefficients of a polynomial, that of x^0 first",
    "mmul": "the entries of two square matrices, row by row",
    "d": "the number of levels: 2^(2^levels) is computed",
}
CONVERT_HELP = f"""Write a Sleptsov net in another format.

Formats: {names_text("net")}. A file in hsn is linked to a flat net, with the files of its
sub-nets. If OUT cannot hold the net, everything that would be lost is listed, nothing is written
and the exit status is 1.
"""
_MOST_RANDOM = 10  # random numbers are from 1 to this, as in the published nets


@orderly("snpjax convert {} OUT")
@grouped
def convert(
    *,
    source: Annotated[Path, typer.Argument(metavar="IN", help="The file of a net to read.")],
    target: Out,
    nets: NetOptions,
    output: WriteOptions,
) -> None:
    """See `CONVERT_HELP`."""
    from .text import headline

    writes = output.format_of(target, "net")
    with refusals():
        net = nets.read(source)
    said = headline(net, f"{source}")
    output.save(net, target, writes, {"file": f"{source}"}, said)


@orderly()
@grouped
def generate(
    *,
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
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="The seed of random numbers.")
    ] = 0,
    output: WriteOptions,
) -> None:
    """Write an example program as a net, with its inputs in place.

    An .hsn file names the sub-nets add.lsn and mul.lsn, which snpjax knows; any other format holds
    the linked net.

      snpjax sleptsov generate add sum.lsn 2 8 5

      snpjax sleptsov generate mmul product.lsn --size 10 --seed 1
    """
    from ..sleptsov import HighNet
    from .text import printable, size_text

    one_of(PROGRAMS, program, "program", "PROGRAM")
    writes = output.format_of(target, "net")
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
    if program == "d" and writes.name == "hsn":
        raise typer.BadParameter("the double exponent has no sub-nets", param_hint="OUT")
    net = made.high if writes.name == "hsn" else made.net
    flat = net.net if isinstance(net, HighNet) else net
    said = printable(f"{_answer_text(made)}: {size_text(flat)}")
    output.save(net, target, writes, report, said)


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
