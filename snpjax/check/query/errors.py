"""What is wrong with a query, and where."""

from ..._text.pickling import PickledError


class QueryError(PickledError, ValueError):
    """A query that cannot be checked: its problem, the place, and the query with a mark there.

    - `query`: its text.
    - `at`, `line`, `column`: of the problem; the last two from 1.
    - `problem`: in words, with what to write instead.
    """

    def __init__(self, query: str, at: int, problem: str) -> None:
        before = query[:at]
        self.query, self.at, self.problem = query, at, problem
        self.line = before.count("\n") + 1
        self.column = at - (before.rfind("\n") + 1) + 1
        super().__init__(query, at, problem)

    def __str__(self) -> str:
        lines = self.query.split("\n")
        line = lines[self.line - 1].replace("\t", " ")
        mark = " " * (self.column - 1) + "^"
        return f"query:{self.line}:{self.column}: {self.problem}\n  {line}\n  {mark}"
