"""How the scripts of this folder compare a paper's numbers with ours.

Each script calls `compare` for every number that a paper prints. Ours is always computed. A number
that differs needs an explanation; one without it, or an explanation of numbers that agree, is
counted as unexplained, and the script fails.
"""

import argparse
import sys
import textwrap
from pathlib import Path


# The scripts also use modules of the examples, one folder up.
sys.path.append(str(Path(__file__).resolve().parents[1]))


class Comparison:
    """The numbers of one paper next to ours, printed as they are compared."""

    def __init__(self, title: str, citation: str) -> None:
        self.agreeing = self.explained = self.not_compared = self.unexplained = 0
        self._explanation = ""
        print(f"{title}\n{textwrap.fill(citation, 98)}")

    def section(self, title: str) -> None:
        """Start a table, named as in the paper."""
        print(f"\n{title}\n{'':46} {'paper':>18} {'here':>18}")

    def compare(self, what: str, paper: object, here: object, why: str = "") -> None:
        """Print both numbers and the verdict.

        **Arguments:**

        - `paper`: the value as printed; a string such as `"49.52"` is compared with `here` rounded
          to as many decimals.
        - `here`: our value, computed.
        - `why`: why they differ, only if they do.
        """
        if isinstance(paper, str) and isinstance(here, float):
            here = f"{here:.{len(paper.partition('.')[2])}f}"
        agrees = bool(paper == here)
        if agrees and why:
            verdict, why = "AGREES, but is explained", f"Remove the explanation: {why}"
            self.unexplained += 1
        elif agrees:
            verdict = "agrees"
            self.agreeing += 1
        elif why:
            verdict = "differs"
            self.explained += 1
        else:
            verdict = "DIFFERS, unexplained"
            self.unexplained += 1
        self._row(what, paper, here, verdict, why)

    def report(self, what: str, paper: object, here: object, why: str) -> None:
        """Print both where they cannot be compared (times on another machine), and say why."""
        self.not_compared += 1
        self._row(what, paper, here, "not compared", why)

    def finish(self) -> None:
        """Print the counts; exit with status 1 if a difference is unexplained."""
        print(
            f"\n{self.agreeing} agree, {self.explained} differ for a known reason, "
            f"{self.not_compared} not compared, {self.unexplained} unexplained"
        )
        if self.unexplained:
            sys.exit(1)

    def _row(self, what: str, paper: object, here: object, verdict: str, why: str) -> None:
        is_known = bool(why) and why == self._explanation
        verdict += " (as above)" if is_known else ""
        print(f"  {what:44} {_shown(paper):>18} {_shown(here):>18}  {verdict}")
        self._explanation = why
        if why and not is_known:
            print(textwrap.fill(why, 98, initial_indent=" " * 6, subsequent_indent=" " * 6))


def parser(doc: str | None) -> argparse.ArgumentParser:
    """The arguments that all scripts take."""
    made = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    made.add_argument("--full", action="store_true", help="also compare what takes minutes")
    return made


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
