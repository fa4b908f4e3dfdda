"""Times, rates and weights of formats whose nets have them: refused, or dropped on request."""

from dataclasses import dataclass

from ..source import Report


@dataclass(frozen=True)
class Dropping:
    """Tells what is about time: as an error or, where it is to be dropped, as a warning."""

    report: Report
    drop_time: bool

    def __call__(self, offset: int, what: str, neutral: str = "") -> None:
        """Tell of something that could be written as `neutral`, or not at all."""
        if self.drop_time:
            self.report.warning(offset, f"{what} is dropped")
            return
        write = f"write {neutral}" if neutral else "remove it"
        message = (
            f"{what}: times, rates and weights are not read ({write}, or drop them: "
            "drop_time=True, --drop-time)"
        )
        self.report.error(offset, message)
