"""NuSMV: the system itself as a symbolic model, one step a transition."""

from collections.abc import Iterator, Mapping
from typing import Literal

from ..._text.nearest import nearest
from ..._text.quoting import printable
from ...explore import Graph
from ...sleptsov.model.execution import Execution
from ...sleptsov.model.net import SleptsovNet
from ...spiking.lower.host_program import horizon_of
from ...spiking.model.compatibility import rules_overlap
from ...spiking.model.population import PopulationSystem
from ...spiking.model.rule import Rule
from ...spiking.model.system import Neuron, SpikingSystem, dynamic_message
from .identifiers import identifiers
from .nusmv_net import net_to_nusmv
from .smv_text import case, number_range
from .write import ExportOptions, Files


def nusmv_files(graph: Graph, options: ExportOptions) -> Files:
    """One file, see `to_nusmv`, and `net_to_nusmv` for a net. Bounds are those of the graph, unless
    given."""
    bounds, system = options.bounds, graph.system
    if bounds is None:
        bounds = {name: high for name, (_, high) in graph.bounds().items()}
    elif isinstance(bounds, Mapping):
        names = list(graph.bounds())
        for name in bounds.keys() - set(names):
            raise ValueError(f"`bounds`: there is no {name!r} ({nearest(name, names, 'names')})")
    if isinstance(system, SleptsovNet):
        system = Execution(system)
    if isinstance(system, Execution):
        text = net_to_nusmv(system.net, bounds=bounds, rule=system.rule, clock=graph.clock)
        return {"": [text.encode()]}
    if isinstance(system, PopulationSystem):
        system = system.expand()
    if not isinstance(system, SpikingSystem):
        raise ValueError(f"there is no model of NuSMV of {system!r} (write its graph as .aut)")
    lows = {name: low for name, (low, _) in graph.bounds().items()} if system.signed else {}
    text = to_nusmv(system, bounds=bounds, lows=lows, saturate=graph.saturate, clock=graph.clock)
    return {"": [text.encode()]}


def to_nusmv(
    system: SpikingSystem,
    *,
    bounds: int | Mapping[str, int] | Literal["unbounded"],
    lows: Mapping[str, int] | None = None,
    saturate: Mapping[str, int] | None = None,
    clock: int = 0,
) -> str:
    """A static system in the language of NuSMV 2.6 and nuXmv.

    The state of neuron p is `spikes_p` and, if it has delays, `timer_p` and `pending_p`; `step`
    counts up to the end of the input. `can_p_0` says that its rule 0 is applicable, `fires_p_0`
    that it is selected, `emits_p` is what leaves it in this step. Where several rules may apply,
    the input variable `choice_p` is the one selected, -1 for none. A halting configuration loops.

    A count that would leave its bounds sets `overflow`, which stays and freezes the model: check
    `AG !overflow`, or guard what you check by it; a bound is never a silent cap.

    **Arguments:**

    - `bounds`: the largest number of spikes of each neuron, one for all or by name; or
      `"unbounded"`: counts are of the type `integer`, for checkers of infinite systems (nuXmv with
      `check_property_as_invar_ic3` and the like), and nothing overflows.
    - `lows`: in a signed system the least numbers; by default the negative bounds.
    - `saturate`, `clock`: as in `snpjax.explore`.

    **Raises:** `ValueError` for division, budding and plasticity, for the options of a simulator,
    and for a neuron without bound or beyond it from the start.

    Input variables stand in no CTL formula, so `fires_` and `emits_` of a neuron with a choice are
    for LTL and simulations there.

    ??? cite "Source"
        NuSMV 2.6 user manual, chapter 2. NuSMV 2.5.4 found as many reachable states as `explore` in
        each of 38 models, own and random ones, and every transition relation total (2026-11).
    """
    if not system.is_static:
        raise ValueError(dynamic_message(system, "A model of NuSMV"))
    if not system.compatibility.is_textbook:
        raise ValueError(
            f"The model of NuSMV is that of the definition, and the system runs with "
            f"{system.compatibility} (use `with_compatibility(snp.compatibility.TEXTBOOK)`)"
        )
    return "\n".join(_Model(system, bounds, lows or {}, saturate or {}, clock).lines()) + "\n"


class _Model:
    """The parts of the text; names of neurons by their identifiers."""

    def __init__(
        self,
        system: SpikingSystem,
        bounds: int | Mapping[str, int] | Literal["unbounded"],
        lows: Mapping[str, int],
        saturate: Mapping[str, int],
        clock: int,
    ):
        self.system, self.saturate = system, saturate
        self.ids = dict(
            zip(system.names, identifiers([n.name for n in system.neurons]), strict=True)
        )
        self.is_bounded = bounds != "unbounded"
        #: Those of the neurons that have one.
        self.high: dict[str, int] = {
            n.name: _bound(n, {} if bounds == "unbounded" else bounds, saturate)
            for n in system.neurons
            if self.is_bounded or n.name in saturate
        }
        self.low = {
            name: lows.get(name, -abs(high)) if system.signed else 0
            for name, high in self.high.items()
        }
        for neuron in system.neurons:
            if neuron.name not in self.high:
                continue
            if not self.low[neuron.name] <= neuron.spikes <= self.high[neuron.name]:
                raise ValueError(
                    f"Neuron {neuron.name!r} begins with {neuron.spikes} spikes, outside its "
                    f"bounds {self.low[neuron.name]} to {self.high[neuron.name]}. Raise them."
                )
        self.horizon = max(map(horizon_of, system.input.values()), default=0)
        self.last_step = max(self.horizon, clock)
        self.rules = {n.name: _alternatives(n) for n in system.neurons}
        self.delayed = {
            name: max(rule.delay for _, rule in rules)
            for name, rules in self.rules.items()
            if any(rule.delay for _, rule in rules)
        }
        self.choosers = [
            name
            for name, rules in self.rules.items()
            if len(rules) > 1 and rules_overlap(rule for _, rule in rules)
        ]
        self.incoming: dict[str, list[tuple[str, int]]] = {name: [] for name in self.ids}
        for source, target, weight in system.synapses:
            if self.rules[source]:
                self.incoming[target].append((source, weight))

    def lines(self) -> Iterator[str]:
        yield f"-- {printable(self.system.name or 'SN P system')}"
        yield "-- One transition is one step. spikes_... are the spikes of a neuron:"
        for name, own in self.ids.items():
            if name != own:
                yield f"-- {own} is neuron {printable(name)}"
        yield "MODULE main"
        if self.choosers:
            yield "IVAR"
            for name in self.choosers:
                last = self.rules[name][-1][0]
                yield f"  choice_{self.ids[name]} : -1..{last};"
        yield from self.variables()
        yield "DEFINE"
        if not self.is_bounded:
            yield "  overflow := FALSE;"
        for neuron in self.system.neurons:
            yield from self.defines(neuron)
        yield from self.halting()
        yield "ASSIGN"
        yield from self.assigns()
        for name in self.choosers:
            yield from self.constraint(name)

    def variables(self) -> Iterator[str]:
        yield "VAR"
        for name, own in self.ids.items():
            is_bounded = name in self.high
            kind = number_range(self.low[name], self.high[name]) if is_bounded else "integer"
            yield f"  spikes_{own} : {kind};"
            if name in self.delayed:
                most = max(rule.produce for _, rule in self.rules[name] if rule.delay)
                yield f"  timer_{own} : {number_range(0, self.delayed[name])};"
                yield f"  pending_{own} : {number_range(0, most)};"
        if self.last_step:
            yield f"  step : {number_range(0, self.last_step)};"
        if self.is_bounded:
            yield "  overflow : boolean;"

    def defines(self, neuron: Neuron) -> Iterator[str]:
        """What happens to a neuron in a step."""
        name, own, rules = neuron.name, self.ids[neuron.name], self.rules[neuron.name]
        for number, rule in rules:
            can = _guard(rule, f"spikes_{own}")
            closed = f"timer_{own} = 0 & " if name in self.delayed else ""
            yield f"  can_{own}_{number} := {closed}{can};"
            chosen = f" & choice_{own} = {number}" if name in self.choosers else ""
            yield f"  fires_{own}_{number} := !overflow & can_{own}_{number}{chosen};"
        left, arrives = f"spikes_{own}", self.arrivals(name)
        if rules:
            consumed = [(f"fires_{own}_{number}", f"{rule.consume}") for number, rule in rules]
            yield f"  consumes_{own} := {case(consumed, '0')};"
            emitted = [
                (f"fires_{own}_{number}", f"{rule.produce}")
                for number, rule in rules
                if rule.produce and not rule.delay
            ]
            if name in self.delayed:
                emitted.append((f"!overflow & timer_{own} = 1", f"pending_{own}"))
            yield f"  emits_{own} := {case(emitted, '0')};"
            left += f" - consumes_{own}"
        if name in self.delayed and arrives:
            arrives = case([(f"next_timer_{own} = 0", arrives)], "0")
        if name in self.delayed:
            cases = [(f"fires_{own}_{n}", f"{rule.delay}") for n, rule in rules if rule.delay]
            cases.append((f"timer_{own} > 0", f"timer_{own} - 1"))
            yield f"  next_timer_{own} := {case(cases, '0')};"
        yield f"  next_spikes_{own} := {left}{f' + {arrives}' if arrives else ''};"

    def arrivals(self, name: str) -> str:
        """What is sent to a neuron in a step; empty for nothing."""
        parts = [
            f"emits_{self.ids[source]}" + ("" if weight == 1 else f" * {_number(weight)}")
            for source, weight in self.incoming[name]
        ]
        train = self.system.input.get(name, ())
        entries = [(f"step = {step}", f"{int(x)}") for step, x in enumerate(train) if x]
        if entries:
            entries = [(f"!overflow & {when}", x) for when, x in entries]
            parts.append(case(entries, "0"))
        return " + ".join(parts)

    def halting(self) -> Iterator[str]:
        active = [f"can_{self.ids[name]}_{i}" for name, of in self.rules.items() for i, _ in of]
        active += [f"timer_{self.ids[name]} > 0" for name in self.delayed]
        if self.horizon:
            active.append(f"step < {self.horizon}")
        active.append("overflow")
        yield f"  halting := !({' | '.join(active)});"

    def assigns(self) -> Iterator[str]:
        leaves = []
        for neuron in self.system.neurons:
            name, own = neuron.name, self.ids[neuron.name]
            yield f"  init(spikes_{own}) := {_number(int(neuron.spikes))};"
            if name not in self.high:
                yield f"  next(spikes_{own}) := next_spikes_{own};"
                if name in self.delayed:
                    yield from self.assigns_of_delays(name)
                continue
            low, high = self.low[name], self.high[name]
            cases = [("overflow", f"spikes_{own}")]
            if name in self.saturate:
                high = self.saturate[name]
            else:
                leaves.append(f"next_spikes_{own} > {high}")
            cases.append((f"next_spikes_{own} > {high}", f"{_number(high)}"))
            if self.system.signed:
                leaves.append(f"next_spikes_{own} < {_number(low)}")
                cases.append((f"next_spikes_{own} < {_number(low)}", f"{_number(low)}"))
            yield f"  next(spikes_{own}) := {case(cases, f'next_spikes_{own}')};"
            if name in self.delayed:
                yield from self.assigns_of_delays(name)
        if self.last_step:
            yield "  init(step) := 0;"
            stays = f"halting | overflow | step = {self.last_step}"
            yield f"  next(step) := {case([(stays, 'step')], 'step + 1')};"
        if self.is_bounded:
            yield "  init(overflow) := FALSE;"
            yield f"  next(overflow) := {' | '.join(['overflow', *leaves])};"

    def assigns_of_delays(self, name: str) -> Iterator[str]:
        own = self.ids[name]
        stays = [("overflow", f"timer_{own}")]
        yield f"  init(timer_{own}) := 0;"
        yield f"  next(timer_{own}) := {case(stays, f'next_timer_{own}')};"
        yield f"  init(pending_{own}) := 0;"
        cases = [
            (f"fires_{own}_{n}", f"{rule.produce}") for n, rule in self.rules[name] if rule.delay
        ]
        cases.append((f"overflow | timer_{own} > 1", f"pending_{own}"))
        yield f"  next(pending_{own}) := {case(cases, '0')};"

    def constraint(self, name: str) -> Iterator[str]:
        """The choice is an applicable rule if there is one."""
        own = self.ids[name]
        numbers = [number for number, _ in self.rules[name]]
        every = [f"choice_{own} = {n} & can_{own}_{n} & !overflow" for n in numbers]
        none = " | ".join(f"can_{own}_{n}" for n in numbers)
        every.append(f"choice_{own} = -1 & (overflow | !({none}))")
        yield "TRANS"
        yield "  " + "\n  | ".join(every) + ";"


def _alternatives(neuron: Neuron) -> list[tuple[int, Rule]]:
    """The rules with their numbers; one that stands twice is one alternative."""
    rules: dict[Rule, int] = {}
    for number, rule in enumerate(neuron.rules):
        if isinstance(rule, Rule):
            rules.setdefault(rule, number)
    return [(number, rule) for rule, number in rules.items()]


def _bound(neuron: Neuron, bounds: int | Mapping[str, int], saturate: Mapping[str, int]) -> int:
    if neuron.name in saturate:
        return saturate[neuron.name]
    bound = bounds.get(neuron.name) if isinstance(bounds, Mapping) else bounds
    if bound is None or not -(2**31) < bound < 2**31 - 1:
        raise ValueError(
            f"The bound of neuron {neuron.name!r} is {bound}. Give the largest number of spikes to "
            "be counted."
        )
    return bound


def _guard(rule: Rule, spikes: str) -> str:
    """Where a rule applies: comparisons and remainders, exactly."""
    terms = []
    for low, high, period in rule.guard.terms(rule.consume):
        if low == high:
            terms.append(f"{spikes} = {low}")
            continue
        parts = [f"{spikes} >= {low}"]
        if high is not None:
            parts.append(f"{spikes} <= {high}")
        if period > 1:
            parts.append(f"({spikes} - {low}) mod {period} = 0")
        terms.append(" & ".join(parts))
    if len(terms) > 1:
        return "(" + " | ".join(f"({term})" for term in terms) + ")"
    return terms[0] if terms else "FALSE"


def _number(value: int) -> str:
    return f"{value}" if value >= 0 else f"({value})"
