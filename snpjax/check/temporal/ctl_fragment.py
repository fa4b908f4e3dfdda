"""Which formulas can be decided for all paths at once, and their normal form.

`A f`, f on all paths, is decided from sets of configurations. That is right for a formula of linear
time only where a path can be left at any configuration without losing what it promised: every form
here is such that the configurations of `A form` follow from those of its parts. Negations stand at
conditions on single configurations only, so that "on some path f" is "not on all paths not f".

??? cite "Source"
    Maidl 2000, The common fragment of CTL and LTL: the deterministic formulas. Differs from it in:
    1. release in place of weak until, from which that is made; 2. `Steady` and what it makes of
    `eventually (p and always q)`, which are no CTL, have algorithms of their own.
"""

from dataclasses import dataclass
from typing import TypeAlias

from ..query.errors import QueryError
from ..query.formula import (
    And,
    Formula,
    Implies,
    InOrder,
    Not,
    Or,
    Query,
    Temporal,
    is_about_one,
    negates,
)


@dataclass(frozen=True)
class Now:
    """A condition on the configuration itself."""

    condition: Formula


@dataclass(frozen=True)
class All:
    parts: tuple["Form", ...]


@dataclass(frozen=True)
class Unless:
    """The condition holds, or the form does."""

    condition: Formula
    form: "Form"


@dataclass(frozen=True)
class Next:
    form: "Form"


@dataclass(frozen=True)
class Release:
    """The form holds up to and with the first configuration of which the condition does, for ever
    if there is none."""

    condition: Formula
    form: "Form"


@dataclass(frozen=True)
class Eventually:
    condition: Formula


@dataclass(frozen=True)
class Steady:
    """From some configuration on, the condition holds for ever."""

    condition: Formula


Form: TypeAlias = Now | All | Unless | Next | Release | Eventually | Steady

#: Never true.
FALSE = Or(())


def always(form: Form) -> Form:
    return Release(FALSE, form)


def universal(query: Query) -> Form:
    """The form that is to hold on all paths: that of the query, or for a query about some path, of
    its negation.

    **Raises:** `QueryError` with the place of what is not checked, and what is instead.
    """
    return _Reader(query).form(query.formula, query.on_all_paths)


class _Reader:
    def __init__(self, query: Query) -> None:
        self.query = query

    def form(self, formula: Formula, positive: bool) -> Form:
        """The form of a formula, or of its negation."""
        if is_about_one(formula):
            return Now(_signed(formula, positive))
        match formula:
            case Not(part):
                return self.form(part, not positive)
            case And(parts) | Or(parts):
                forms = [(self.form(part, positive), part) for part in parts]
                if isinstance(formula, And) == positive:
                    return _all([form for form, _ in forms])
                return self._some(forms)
            case Implies(left, right):
                forms = [(self.form(left, not positive), left), (self.form(right, positive), right)]
                return self._some(forms) if positive else _all([form for form, _ in forms])
            case Temporal(operator, part):
                return self._temporal(operator, part, positive)
            case InOrder():
                return self._in_order(formula, positive)
        raise AssertionError("This is a bug of snpjax, please report it.")

    def _temporal(self, operator: str, part: Formula, positive: bool) -> Form:
        inner = self.form(part, positive != (operator == "never"))
        match operator:
            case "next":
                return Next(inner)
            case "always" | "never":
                return always(inner) if positive else self._eventually(inner, part)
            case "eventually":
                return self._eventually(inner, part) if positive else always(inner)
        # infinitely often p = always eventually p, steady p = eventually always p
        if (operator == "infinitely often") == positive:
            return always(self._eventually(inner, part))
        return self._eventually(always(inner), part)

    def _in_order(self, formula: InOrder, positive: bool) -> Form:
        left, right = formula.left, formula.right
        match formula.operator:
            case "followed by" if positive:
                later = self._eventually(self.form(right, True), right)
                return always(self._some([(self.form(left, False), left), (later, right)]))
            case "followed by":
                # eventually (p and always not q)
                never = always(self.form(right, False))
                return self._eventually(_all([self.form(left, True), never]), formula)
            case "preceded by":  # (not p) weak until q
                not_left = Not(left, start=left.start, end=left.end)
                return self._until(not_left, right, True, positive)
        return self._until(left, right, formula.operator == "weak until", positive)

    def _until(self, left: Formula, right: Formula, is_weak: bool, positive: bool) -> Form:
        first, then = self.form(left, positive), self.form(right, positive)
        if not positive:
            # Not (p until q): not q, up to and with the first not p.
            if not isinstance(first, Now):
                raise self._refused(left, "the left side of `until` speaks of the future")
            released = Release(first.condition, then)
            return _all([released, Eventually(first.condition)]) if is_weak else released
        if isinstance(then, Now):
            stop = then.condition
            released = Release(stop, _unless(stop, first))
        else:
            stop, released = self._decided(right, first, then)
        return released if is_weak else _all([released, Eventually(stop)])

    def _decided(self, right: Formula, first: Form, then: Form) -> tuple[Formula, Form]:
        """`(p and f) until (not p and g)`: every configuration tells which side it belongs to."""
        for stay in _conditions(first):
            for stop in _conditions(then):
                if negates(stay, stop):
                    # Where `stay` and `stop` are demanded, they hold by the case itself.
                    sides = All((_unless(stop, first), _unless(stay, then)))
                    return stop, Release(stop, sides)
        raise self._refused(right, "the right side of `until` speaks of the future")

    def _some(self, forms: list[tuple[Form, Formula]]) -> Form:
        """One of several forms holds: at most one of them may be about the future, or all together
        are one."""
        conditions: list[Formula] = []
        futures: list[tuple[Form, Formula]] = []
        for form, source in forms:
            if isinstance(form, Unless):
                conditions.append(form.condition)
                form = form.form
            if isinstance(form, Now):
                conditions.append(form.condition)
            else:
                futures.append((form, source))
        if not futures:
            return Now(Or(tuple(conditions)))
        form, _ = futures[0]
        for other, source in futures[1:]:
            form = self._either(form, other, source)
        return _unless(Or(tuple(conditions)), form) if conditions else form

    def _either(self, one: Form, other: Form, source: Formula) -> Form:
        match one, other:
            case _ if one == other:
                return one
            case Eventually(p), Eventually(q):
                return Eventually(Or((p, q)))
            case Next(f), Next(g):
                return Next(self._some([(f, source), (g, source)]))
            case Release(p, Eventually(q)), Release(r, Eventually(s)) if p == r == FALSE:
                return always(Eventually(Or((q, s))))  # infinitely often one is that of the other
        raise self._refused(source, "this is a second formula that speaks of the future")

    def _eventually(self, form: Form, source: Formula) -> Form:
        """Sooner or later the form holds."""
        match form:
            case Now(condition):
                return Eventually(condition)
            case Eventually() | Steady():
                return form
            case Next(inner):
                return Next(self._eventually(inner, source))
            case Unless(condition, inner):
                later = self._eventually(inner, source)
                return self._some([(Eventually(condition), source), (later, source)])
            case Release(condition, inner) if condition == FALSE:
                return self._steady(inner, source)
            case All(parts):
                if all(_is_about_the_end(part) for part in parts):
                    return form
                if isinstance(parts[-1], Eventually) and _is_until(parts):
                    return parts[-1]  # eventually (p until q): eventually q
                return self._eventually_for_ever(parts, source)
        raise self._refused(source, self._under("eventually", "always"))

    def _steady(self, form: Form, source: Formula) -> Form:
        """From some configuration on, the form always holds."""
        match form:
            case Now(condition):
                return Steady(condition)
            case Eventually():
                return always(form)
            case Steady():
                return form
            case Next(inner):
                return self._steady(inner, source)
            case Release(condition, inner) if condition == FALSE:
                return self._steady(inner, source)
            case All(parts):
                return _all([self._steady(part, source) for part in parts])
        raise self._refused(source, self._under("steady", "infinitely often"))

    def _eventually_for_ever(self, parts: tuple[Form, ...], source: Formula) -> Form:
        """`eventually (p and always r)`: finally always r, and after each not r, as after the
        start, comes a p with r."""
        now = [part.condition for part in parts if isinstance(part, Now)]
        ever = [
            part.form.condition
            for part in parts
            if isinstance(part, Release) and part.condition == FALSE and isinstance(part.form, Now)
        ]
        if len(now) + len(ever) < len(parts):
            raise self._refused(source, self._under("eventually", "always"))
        kept = And(tuple(ever))
        comes = Eventually(And((*now, kept)))
        return All((Steady(kept), always(_unless(kept, comes)), comes))

    def _under(self, on_all_paths: str, on_some_path: str) -> str:
        operator = on_all_paths if self.query.on_all_paths else on_some_path
        return f"this speaks of the future under `{operator}`"

    def _refused(self, formula: Formula, problem: str) -> QueryError:
        """The error for what is not checked, and where formulas may speak of the future."""
        if self.query.on_all_paths:
            paths = "all paths"
            places = "one side of `or` and `implies`, the left side of `until`, below `always`"
        else:
            paths, places = "some path", "one side of `and`, the right side of `until`, below"
            places += " `eventually`"
        return QueryError(
            self.query.text,
            formula.start,
            f"{problem}, which cannot be checked on {paths} here (it may do so on {places} and "
            "`next`; or split the query)",
        )


def _signed(formula: Formula, positive: bool) -> Formula:
    """A condition or its negation, without double negations."""
    while isinstance(formula, Not):
        formula, positive = formula.part, not positive
    return formula if positive else Not(formula)


def _all(forms: list[Form]) -> Form:
    return forms[0] if len(forms) == 1 else All(tuple(forms))


def _unless(condition: Formula, form: Form) -> Form:
    match form:
        case Now(own):
            return Now(Or((condition, own)))
        case Unless(own, inner):
            return Unless(Or((condition, own)), inner)
    return Unless(condition, form)


def _conditions(form: Form) -> list[Formula]:
    """Conditions that hold wherever the form does."""
    match form:
        case Now(And(parts)):
            return [_signed(part, True) for part in parts]
        case Now(condition):
            return [condition]
        case All(parts):
            return [condition for part in parts for condition in _conditions(part)]
    return []


def _is_about_the_end(form: Form) -> bool:
    """Whether a form holds of a path if and only if it does of what is left of it later."""
    match form:
        case Steady():
            return True
        case Release(condition, Eventually()):
            return condition == FALSE
        case All(parts):
            return all(map(_is_about_the_end, parts))
    return False


def _is_until(parts: tuple[Form, ...]) -> bool:
    """Whether these are the parts of `p until q`, for any p: q releases, and comes."""
    match parts:
        case (Release(stop, Unless(own, _) | Now(Or((own, _)))), Eventually(end)):
            return stop == end == own
    return False
