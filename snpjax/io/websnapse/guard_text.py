"""Guards and rules in the LaTeX of WebSnapse."""

from ...spiking.model.guard import Guard
from ...spiking.model.rule import Rule


def rule_text(rule: Rule) -> str:
    r"""`a^{2}/a\to a;1` or `a\to\lambda`."""
    guard = "" if rule.guard.is_exactly(rule.consume) else f"{guard_text(rule.guard)}/"
    consume = _spikes(int(rule.consume))
    if rule.is_forgetting:
        return rf"{guard}{consume}\to\lambda"
    return rf"{guard}{consume}\to {_spikes(int(rule.produce))};{int(rule.delay)}"


def guard_text(guard: Guard) -> str:
    r"""The guard in powers, `^{*}`, `^{+}` and unions, which WebSnapse needs in parentheses:
    `a^{2}a^{*}`, `(a|a^{3}(aa)^{*})`. A guard without counts gives `()`, which does not read.
    """
    parts = [_term(*term) for term in guard.terms()]
    return parts[0] if len(parts) == 1 else f"({'|'.join(parts)})"


def _term(low: int, high: int | None, period: int) -> str:
    """The counts low, low + period, ... up to high."""
    start = "" if low == 0 else _spikes(low)
    step = "aa" if period == 2 else _spikes(period)
    if high == low:
        return start or "a^{0}"
    if high is not None:
        return f"{start}(a^{{0}}|{step})^{{{(high - low) // period}}}"
    if period > 1:
        return f"{start}({step})^{{*}}"
    return {0: "a^{*}", 1: "a^{+}"}.get(low, f"{start}a^{{*}}")


def _spikes(count: int) -> str:
    return "a" if count == 1 else f"a^{{{count}}}"
