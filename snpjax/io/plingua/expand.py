"""Running the statements of a P-Lingua file: calls, ranges and labels become one flat draft of a
system.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..._text.counts import plural
from ...spiking.model.guard import Guard
from ...spiking.model.rule import AnyRule, BuddingRule, DivisionRule, Rule
from ...spiking.model.system import Json
from ..building import NO_GUARD
from ..source import Mistake, Report, Unreadable, guard_or_error
from . import tree
from .expression import FollowUp, Scope, Unknown
from .families import FamilyDraft, Irregular
from .literals import rule_at
from .messages import UNSUPPORTED
from .modules import Frame, Module
from .parameters import Parameters
from .ranges import MAX_LISTED, Ranges, differ, shadowed, values


MAX_CALLS = 1_000_000
MAX_NESTING = 64  # of calls inside each other
MAX_TRAIN = 10_000_000  # steps of an input train

_CREATING = tree.NewNeurons | tree.GrowthRule | tree.Call | tree.Block


#: A rule of the file; a literal one by its offset, for there may be a million of them.
RuleNode: TypeAlias = tree.SpikingRule | tree.GrowthRule | int


@dataclass(slots=True)
class SystemDraft:
    """A system as the statements tell it, by labels, each item with the piece of the file it comes
    from.

    `are_labels_known` is false when a mistake may have kept neurons from being created: names that
    no neuron has are not errors of their own then.
    """

    neurons: list[tuple[str, int]] = field(default_factory=list)
    contents: dict[str, tuple[int, int]] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    arcs: list[tree.Arc | int] = field(default_factory=list)
    dictionary: list[tuple[str, str]] = field(default_factory=list)
    outputs: dict[str, int] = field(default_factory=dict)
    input: tuple[str, int] | None = None
    train: dict[int, int] = field(default_factory=dict)
    train_offset: int = 0
    rules: dict[str, list[AnyRule]] = field(default_factory=dict)
    rule_nodes: dict[str, list[RuleNode]] = field(default_factory=dict)
    without_guard: set[tuple[str, int]] = field(default_factory=set)
    hints: list[dict[str, Json]] = field(default_factory=list)
    are_labels_known: bool = True


def expand(report: Report, frame: Frame, parameters: Parameters) -> SystemDraft:
    """Run `main` and what it calls."""
    expander = _Expander(report, frame, None)
    main = frame.modules.get("main")
    if main is None:
        report.error(frame.offset, "there is no module main (write def main() { ... })")
        return expander.draft
    try:
        expander.run_main(main, parameters)
    except Unreadable:
        return SystemDraft(are_labels_known=False)  # what was made so far says nothing
    except RecursionError:
        message = "calls, blocks and ranges are nested too deep here (write it in fewer levels)"
        report.error(expander.last_call, message)
        return SystemDraft(are_labels_known=False)
    return expander.draft


def expand_families(
    report: Report, frame: Frame, parameters: Parameters
) -> tuple[FamilyDraft, SystemDraft]:
    """Run `main` and what it calls, with every family as arrays; the draft has the rest.

    Nothing is reported: a file with a mistake is read again, one by one.

    **Raises:** `Irregular` if the file has a mistake, or something that families cannot hold.
    """
    families = FamilyDraft()
    expander = _Expander(Report(report.source), frame, families)
    main = frame.modules.get("main")
    if main is None:
        raise Irregular
    try:
        expander.run_main(main, parameters)
    except (Unreadable, RecursionError):
        raise Irregular from None
    if expander.report.has_errors or report.has_errors:
        raise Irregular
    return families, expander.draft


class _Expander:
    """Runs statements; with `families`, those of families go there."""

    def __init__(self, report: Report, frame: Frame, families: FamilyDraft | None):
        self.report = report
        self.frame = frame
        self.families = families
        self.draft = SystemDraft()
        self.globals: Scope = {}
        self._rules: dict[tree.RuleKey, Rule] = {}
        self._ranges = Ranges()
        self._calls = 0
        self._nesting = 0
        self._num_rules = 0
        # A file of literal statements may say as much as it has room for.
        self._most = MAX_LISTED + len(report.source.text) // 4
        self.last_call = frame.offset

    # Modules, statements, ranges

    def run_main(self, main: Module, parameters: Parameters) -> None:
        """Run the file, with the values of parameters that are given from outside."""
        for definition in self.frame.globals:
            if definition.name in parameters:
                self.globals[definition.name] = parameters[definition.name]
            else:
                self._run(tree.Statement(definition, (), ()), self.globals)
        given: Scope = {name: parameters.get(name, Unknown()) for name in main.parameters}
        self._run_module(main, given)

    def _run_module(self, module: Module, arguments: Scope) -> None:
        scope = self.globals | arguments
        for statement in module.body:
            self._run(statement, scope)

    def _run(self, statement: tree.Statement, scope: Scope) -> None:
        """Run one statement; a mistake in it is reported and ends it, not its neighbours."""
        instruction = statement.instruction
        if len(self.draft.neurons) + len(self.draft.arcs) + self._num_rules > self._most:
            message = (
                f"calls and blocks make more than {MAX_LISTED:,} neurons, synapses and rules "
                "(use fewer calls)"
            )
            self.report.fail(self.last_call, message)
        try:
            self._run_ranges(statement, scope)
        except Mistake as error:
            self.report.error(error.offset, error.message, kind="evaluation")
        except FollowUp:
            pass
        else:
            return
        if isinstance(instruction, _CREATING):
            self.draft.are_labels_known = False
        elif isinstance(instruction, tree.Let):
            scope[instruction.name] = Unknown()

    def _run_ranges(self, statement: tree.Statement, scope: Scope) -> None:
        if self.families is not None and self.families.take(statement, scope):
            return
        if not statement.bounds:
            if all(differ(condition, scope) for condition in statement.filters):
                _ACTIONS[type(statement.instruction)](self, statement.instruction, scope)
            return
        with shadowed(statement, scope):
            if self.families is None:  # they count their own
                self._ranges.reserve(statement, scope)
            self._loop(statement, len(statement.bounds) - 1, scope)

    def _loop(self, statement: tree.Statement, level: int, scope: Scope) -> None:
        bounds = statement.bounds[level]
        variable = bounds.variable
        instruction, filters = statement.instruction, statement.filters
        act = _ACTIONS[type(instruction)]
        for value in values(bounds, scope):
            scope[variable] = value
            if level:
                self._loop(statement, level - 1, scope)
            elif not filters or all(differ(condition, scope) for condition in filters):
                act(self, instruction, scope)

    # Instructions

    def _block(self, block: tree.Block, scope: Scope) -> None:
        for statement in block.statements:
            self._run(statement, scope)

    def _call(self, call: tree.Call, scope: Scope) -> None:
        module = self.frame.modules.get(call.name.lower())
        if module is None:
            self.draft.are_labels_known = False
            raise Mistake(call.offset, self.frame.unknown_module(call))
        if len(call.arguments) != len(module.parameters):
            takes, names = plural(len(module.parameters), "parameter"), ", ".join(module.parameters)
            message = (
                f"the module {module.name} takes {takes}, but the call gives "
                f"{len(call.arguments)} (write call {module.name}({names}))"
            )
            raise Mistake(call.offset, message)
        values = [
            argument.resolve(scope)
            if isinstance(argument, tree.Text)
            else argument.text_or_number(scope)
            for argument in call.arguments
        ]
        self.last_call = call.offset
        self._nesting += 1
        self._calls += 1
        if self._nesting > MAX_NESTING or self._calls > MAX_CALLS:
            message = (
                f"the calls of module {module.name} do not end: more than {MAX_NESTING} inside "
                f"each other or {MAX_CALLS:,} in all (let a range become empty)"
            )
            self.report.fail(call.offset, message)
        self._run_module(module, dict(zip(module.parameters, values, strict=True)))
        self._nesting -= 1

    def define(self, let: tree.Let, scope: Scope) -> None:
        scope[let.name] = let.value.text_or_number(scope)

    def _new_neurons(self, instruction: tree.NewNeurons, scope: Scope) -> None:
        for label in instruction.labels:
            self.draft.neurons.append((label.resolve(scope), label.offset))

    def _contents(self, instruction: tree.Contents, scope: Scope) -> None:
        label = instruction.label.resolve(scope)
        spikes = _count(instruction.spikes, scope, "the number of spikes")
        if instruction.adds and label in self.draft.contents:
            spikes += self.draft.contents[label][0]
        self.draft.contents[label] = spikes, instruction.label.offset

    def _synapses(self, instruction: tree.Synapses, scope: Scope) -> None:
        draft = self.draft
        for arc in instruction.arcs:
            source, target = arc.source.resolve(scope), arc.target.resolve(scope)
            draft.sources.append(source)
            draft.targets.append(target)
            draft.arcs.append(arc)

    def _dictionary(self, instruction: tree.Dictionary, scope: Scope) -> None:
        for arc in instruction.arcs:
            self.draft.dictionary.append((arc.source.resolve(scope), arc.target.resolve(scope)))

    def _outputs(self, instruction: tree.Outputs, scope: Scope) -> None:
        for label in instruction.labels:
            self.draft.outputs.setdefault(label.resolve(scope), label.offset)

    def _input(self, instruction: tree.Input, scope: Scope) -> None:
        if self.draft.input is not None:
            self.draft.train.clear()
        self.draft.input = instruction.label.resolve(scope), instruction.label.offset

    def _train(self, instruction: tree.Train, scope: Scope) -> None:
        self.draft.train_offset = instruction.offset
        for step, spikes in instruction.entries:
            time = step.integer(scope, "the step of an input spike")
            if not 1 <= time <= MAX_TRAIN:
                message = f"the step of an input spike is {time} (write 1 to {MAX_TRAIN:,})"
                raise Mistake(step.offset, message)
            self.draft.train[time] = spikes.count(scope, "the number of input spikes")

    def _hint(self, instruction: tree.OutputHint, scope: Scope) -> None:
        """Note the form of an output and, of the natural one, what it says of the numbers."""
        names = ("k", "strong", "alternate")
        if len(instruction.arguments) > len(names) or (
            instruction.arguments and instruction.form != "natural"
        ):
            fix = "write @moutres_binary, @moutres_natural(k, strong, alternate) or _summatories"
            raise Mistake(instruction.offset, f"too many values for this output ({fix})")
        hint: dict[str, Json] = {"form": instruction.form}
        for name, argument in zip(names, instruction.arguments, strict=False):
            word = (argument.variable or "").lower()
            if word in ("true", "false") and argument.variable not in scope:
                hint[name] = word == "true"
            else:
                hint[name] = argument.count(scope, f"the value {name} of the output")
        self.draft.hints.append(hint)

    def _unsupported(self, instruction: tree.Unsupported, scope: Scope) -> None:
        keyword, value = instruction.keyword, instruction.value
        if value is None or value.value(scope) != 0:
            message = f"not supported: {UNSUPPORTED[keyword]} ({keyword})"
            self.report.error(instruction.offset, message)

    # Rules

    def _spiking(self, node: tree.SpikingRule, scope: Scope) -> None:
        label = node.label.resolve(scope)
        consume = _count(node.consume, scope, "the number of spikes consumed")
        produce = 0
        if node.produce is not None:
            produce = _count(node.produce, scope, "the number of spikes produced")
        delay = 0 if node.delay is None else node.delay.count(scope, "the delay")
        text = None if node.guard is None else node.guard.resolve(scope)
        key = text, consume, produce, delay
        rule = self._rules.get(key)
        if rule is None:
            if node.guard is None:
                guard = self._exactly(node.consume, consume)
            else:
                guard = self._guard(node.guard, scope)
            rule = Rule(self._sound(label, guard), consume, produce, delay)
            if guard is not None:
                self._rules[key] = rule
        self._add_rule(label, rule, node)

    def _growth(self, node: tree.GrowthRule, scope: Scope) -> None:
        label, first, second = (x.resolve(scope) for x in (node.label, node.first, node.second))
        guard = self._sound(label, self._guard(node.guard, scope))
        if node.is_budding:
            rule = BuddingRule(guard, second, None if first == label else first)
        else:
            rule = DivisionRule(guard, first, second)
        self._add_rule(label, rule, node)

    def _literal(self, node: tree.Literal, scope: Scope) -> None:
        draft, contents = self.draft, self.draft.contents
        draft.neurons += node.neurons
        for offset, label, spikes, adds in node.contents:
            if adds and label in contents:
                spikes += contents[label][0]
            contents[label] = spikes, offset
        draft.sources += node.sources
        draft.targets += node.targets
        draft.arcs += node.offsets
        for offset, label, key in node.rules:
            rule = None if key is None else self._rules.get(key)
            if rule is None and key is not None:
                rule = self._plain_rule(key)
            if rule is None:  # neurons divide or bud, or there is a mistake
                whole = rule_at(self.report.source.text, offset)
                _ACTIONS[type(whole)](self, whole, scope)
            else:
                self._add_rule(label, rule, offset)

    def _plain_rule(self, key: tree.RuleKey) -> Rule | None:
        """The rule of a kind of which there was none, if its guard is one."""
        text, consume, produce, delay = key
        try:
            guard = Guard.exactly(consume) if text is None else guard_or_error(text)
        except ValueError:  # it is too large
            return None
        if not isinstance(guard, Guard):
            return None
        return self._rules.setdefault(key, Rule(guard, consume, produce, delay))

    def _add_rule(self, label: str, rule: AnyRule, node: RuleNode) -> None:
        self._num_rules += 1
        self.draft.rules.setdefault(label, []).append(rule)
        self.draft.rule_nodes.setdefault(label, []).append(node)

    def _sound(self, label: str, guard: Guard | None) -> Guard:
        """The guard, or what stands in for one that does not parse."""
        if guard is not None:
            return guard
        self.draft.without_guard.add((label, len(self.draft.rules.get(label, ()))))
        return NO_GUARD

    def _exactly(self, spikes: tree.Spikes, count: int) -> Guard | None:
        try:
            return Guard.exactly(count)
        except ValueError as error:
            self.report.error(spikes.offset, str(error), kind="guard")
            return None

    def _guard(self, node: tree.Text, scope: Scope) -> Guard | None:
        guard = guard_or_error(node.resolve(scope))
        if isinstance(guard, Guard):
            return guard
        offset = node.place(scope, guard.position)
        self.report.error(offset, f"the guard does not parse: {guard.message}", kind="guard")
        return None


def _count(spikes: tree.Spikes, scope: Scope, what: str) -> int:
    if spikes.is_anti:
        raise Mistake(spikes.offset, "not supported: anti-spikes (_a)")
    return 1 if spikes.count is None else spikes.count.count(scope, what)


_ACTIONS: dict[type[tree.Instruction], Callable[[_Expander, Any, Scope], None]] = {
    tree.NewNeurons: _Expander._new_neurons,
    tree.Contents: _Expander._contents,
    tree.Synapses: _Expander._synapses,
    tree.Dictionary: _Expander._dictionary,
    tree.Outputs: _Expander._outputs,
    tree.Input: _Expander._input,
    tree.Train: _Expander._train,
    tree.OutputHint: _Expander._hint,
    tree.Unsupported: _Expander._unsupported,
    tree.Let: _Expander.define,
    tree.Call: _Expander._call,
    tree.SpikingRule: _Expander._spiking,
    tree.GrowthRule: _Expander._growth,
    tree.Block: _Expander._block,
    tree.Literal: _Expander._literal,
}
