"""Options that reproduce the configurations of other simulators; the default is the definition."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from math import gcd
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

from snpjax_formats.arguments import explain_arguments

from .guard import Guard
from .rule import AnyRule, PlasticityRule, RequestRule, Rule, is_count


#: What becomes of an emission that is still pending when its neuron selects again.
EarlyReopen: TypeAlias = Literal["accumulate", "overwrite", "overwrite_delayed"]
#: What a consumption above the count leaves.
UncheckedConsumption: TypeAlias = Literal["negative", "clamp"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Compatibility:
    """How runs of a system depart from the definition, as those of some simulators do.

    It belongs to a system (`SpikingSystem(..., compatibility=...)`) and is never the default. Which
    rule a simulator takes among several is not part of it: "first applicable" is `FirstChoice`.

    **Arguments:**

    - `threshold_rules`: a rule without regular expression (`a^c -> a^p; d`, whose guard is exactly
      `c` spikes) is applicable iff k >= c, instead of k = c.
    - `closed_receives`: a closed neuron keeps what is sent to it.
    - `early_reopen`: a neuron may select again in step t+d, before its pending emission has left.
      `"accumulate"`: the emission leaves together with the next one, when the neuron is open after
      a selection. `"overwrite"`: it is lost. `"overwrite_delayed"`: it is lost where the next rule
      has a delay, and leaves together with the next emission where it has none.
    - `unchecked_consumption`: a rule is applicable iff its guard holds k, even for k < c; counts
      may become `"negative"`, or a count that would be negative at the end of a step is 0
      (`"clamp"`).
    - `stop_at_closed_target`: the delivery of an emission ends at the first closed target, in the
      order of the synapses.
    - `guard_modulo`: guards are made of `x = n` and `x >= n`, whose constants are reduced modulo
      this number. What is consumed is not reduced.
    - `late_consumption`: changes `Solution.as_displayed()` only, where the spikes that a rule
      consumes count until its emission has left.

    and what single simulators do besides:

    - `needs_spikes`: a neuron without spikes selects nothing. (Else a matter of the guard, with
      `unchecked_consumption`.)
    - `negative_is_zero`: guards are tested on 0 where a count is negative. Else no rule applies to
      a negative count.
    - `no_self_synapses`: what a neuron sends to itself is lost.
    - `repeats_emissions`: while the first neuron is closed emissions are not forgotten when they
      have left, and leave again in the next step. Only with `early_reopen="accumulate"`.

    The one that systems with plasticity take:

    - `delete_within_N`: a rule `E/a^c -> alpha k (i, N)` deletes synapses to neurons of N only. As
      printed, it takes any that leave i.

    **Raises:** `ValueError` for values that are none of these, and for combinations without a
    meaning, which no simulator has.
    """

    threshold_rules: bool = False
    closed_receives: bool = False
    early_reopen: EarlyReopen | None = None
    unchecked_consumption: UncheckedConsumption | None = None
    stop_at_closed_target: bool = False
    guard_modulo: int | None = None
    late_consumption: bool = False
    needs_spikes: bool = False
    negative_is_zero: bool = False
    no_self_synapses: bool = False
    repeats_emissions: bool = False
    delete_within_N: bool = False

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            value = getattr(self, name)
            if not any(type(value) is type(choice) and value == choice for choice in choices):
                listed = ", ".join(map(repr, choices))
                raise ValueError(f"`{name}` is {value!r} (write one of {listed})")
        modulo = self.guard_modulo
        if modulo is not None:
            if not is_count(modulo) or modulo < 1:
                raise ValueError(f"`guard_modulo` is {modulo!r} (write an integer from 1, or None)")
            object.__setattr__(self, "guard_modulo", modulo.__index__())
        if self.stop_at_closed_target and self.closed_receives:
            raise ValueError(
                "`stop_at_closed_target` excludes `closed_receives`: it is not defined what the "
                "first closed target gets (remove one)"
            )
        if self.late_consumption and self.early_reopen is not None:
            raise ValueError(
                "`late_consumption` excludes `early_reopen`: an emission may be that of several "
                "rules (remove one)"
            )
        if self.repeats_emissions and self.early_reopen != "accumulate":
            raise ValueError(
                '`repeats_emissions` needs `early_reopen="accumulate"`: emissions that are kept '
                "add up (write both)"
            )

    @property
    def is_textbook(self) -> bool:
        """Whether nothing differs from the definition."""
        return self == TEXTBOOK

    @property
    def may_be_plastic(self) -> bool:
        """Whether a system with plasticity can be run so."""
        return replace(self, delete_within_N=False).is_textbook

    @property
    def options(self) -> dict[str, bool | int | str]:
        """The options that differ from the definition, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: x for name, x in values.items() if x is not None and x is not False}

    @property
    def may_grow(self) -> bool:
        """Whether counts or emissions may pass what the numbers of the rules bound in one step."""
        return self.early_reopen is not None or self.unchecked_consumption is not None

    def in_steps(self, *, has_delays: bool) -> "Compatibility":
        """What is left for a step to do, when rules and synapses have been rewritten: without
        delays no neuron is ever closed."""
        rewritten = replace(
            self,
            threshold_rules=False,
            guard_modulo=None,
            needs_spikes=False,
            no_self_synapses=False,
            late_consumption=False,
            delete_within_N=False,
        )
        if has_delays:
            return rewritten
        return replace(
            rewritten,
            closed_receives=False,
            early_reopen=None,
            stop_at_closed_target=False,
            repeats_emissions=False,
        )

    def counts(self, rule: AnyRule) -> tuple[Guard, int]:
        """Where a rule is applicable in an open neuron: at the counts of a guard from a least one
        on.

        **Raises:** `ValueError` for a guard that `guard_modulo` cannot take.
        """
        guard = rule.guard
        if not isinstance(rule, Rule):
            if isinstance(rule, RequestRule):
                return guard, 0
            return guard, rule.consume if isinstance(rule, PlasticityRule) else 1
        if self.threshold_rules and guard.is_exactly(rule.consume):
            guard = Guard.interval(rule.consume)
        if self.guard_modulo is not None:
            guard = _reduced(guard, self.guard_modulo)
        if self.unchecked_consumption is None:
            return guard, rule.consume
        return guard, int(self.needs_spikes)

    def __str__(self) -> str:
        """`closed_receives, early_reopen=accumulate`; empty for the definition."""
        return ", ".join(
            name if value is True else f"{name}={value}" for name, value in self.options.items()
        )

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return f"Compatibility({options})"


_TEXTS = {"early_reopen": EarlyReopen, "unchecked_consumption": UncheckedConsumption}
#: The values that each option may have, besides `guard_modulo`, which is a number or `None`.
CHOICES: Mapping[str, tuple[bool | str | None, ...]] = MappingProxyType(
    {
        field.name: (None, *get_args(_TEXTS[field.name])) if field.name in _TEXTS else (False, True)
        for field in fields(Compatibility)
        if field.name != "guard_modulo"
    }
)


def _reduced(guard: Guard, modulo: int) -> Guard:
    """The guard written with `x = n` and `x >= n`, every constant reduced."""
    if not guard.is_finite and guard.period > 1:
        if max(guard.residues) < modulo:  # so is every constant
            return guard
        raise ValueError(
            f"`guard_modulo` takes the guards x = n and x >= n, and {guard} has a period (give a "
            f"guard whose constants are below {modulo})"
        )
    reduced = Guard.from_lengths(())
    for low, high, period in guard.terms():
        if high is None:
            reduced |= Guard.interval(low % modulo)
        else:
            for counts in _residues(low, high, period, modulo):
                reduced |= Guard.from_lengths(counts)
    return reduced


def _residues(low: int, high: int, period: int, modulo: int) -> Iterator[range | set[int]]:
    """The residues of a progression, as few ranges where its counts are neighbours."""
    count = (high - low) // period + 1
    if period > 1:
        seen = min(count, modulo // gcd(period, modulo))
        yield {(low + i * period) % modulo for i in range(seen)}
    elif count >= modulo:
        yield range(modulo)
    else:
        first = low % modulo
        yield range(first, min(first + count, modulo))
        if first + count > modulo:
            yield range(first + count - modulo)


#: The definition; pLinguaCore and ESNP-GPU's CUDA engine differ from it in no configuration.
#: pLinguaCore runs level *strict* only (p <= c, weights 1), and stops when nothing is selected even
#: if input remains.
TEXTBOOK = Compatibility()
PLINGUA_CORE = TEXTBOOK
ESNP_CUDA = TEXTBOOK


def rules_overlap(rules: Iterable[Rule], compatibility: Compatibility = TEXTBOOK) -> bool:
    """Whether two rules are applicable at the same number of spikes, reachable or not.

    **Arguments:**

    - `rules`: the rules of one neuron.
    - `compatibility`: the semantics of their guards.

    **Returns:** the answer; also `True` where the guards are too large to compute it.
    """
    earlier = Guard.from_lengths(())
    try:
        for rule in rules:
            guard, least = compatibility.counts(rule)
            counts = guard & Guard.interval(least)
            if not counts.isdisjoint(earlier):
                return True
            earlier |= counts
    except ValueError:  # the union of the guards is too large to be computed
        return True
    return False


#: ESNP-GPU's Python engine: no count is compared with what a rule consumes.
ESNP_PYTHON = Compatibility(unchecked_consumption="negative")

#: sparse_snp (github.com/javihernant/sparse_snp; Hernandez-Tello et al. 2024), its *Sparse*
#: kernels: only the thread of the first neuron clears what has left. Choose with `FirstChoice`. Its
#: other restrictions (no self-synapse, neurons without rules last) are on what it takes.
SPARSE_SNP = Compatibility(
    early_reopen="accumulate",
    unchecked_consumption="negative",
    guard_modulo=256,
    repeats_emissions=True,
)
#: Its *ELL* kernels.
SPARSE_SNP_ELL = replace(SPARSE_SNP, repeats_emissions=False)
#: Its *Compressed* kernels, which hold one pending rule a neuron and leave the loop over a neuron's
#: targets at the first closed one.
SPARSE_SNP_COMPRESSED = replace(
    SPARSE_SNP_ELL, early_reopen="overwrite", stop_at_closed_target=True
)

#: WebSnapse Reloaded and dynamic (github.com/websnapse). It makes one step more after the halt.
WEBSNAPSE_RELOADED = Compatibility(
    unchecked_consumption="negative",
    needs_spikes=True,
    no_self_synapses=True,
    late_consumption=True,
)
#: WebSnapse v1 (github.com/chinadupaya/WebSnapse, `canUseRule`).
WEBSNAPSE_V1 = Compatibility(
    unchecked_consumption="negative", closed_receives=True, late_consumption=True
)
#: WebSnapse v2 (github.com/nccruel/websnapse_extended).
WEBSNAPSE_V2 = Compatibility(closed_receives=True, late_consumption=True)
#: WebSnapse v3 (github.com/lmgal/websnapse-v3), whose counts have 16 bits.
WEBSNAPSE_V3 = Compatibility(no_self_synapses=True, late_consumption=True)
#: WebSnapse v4 (github.com/puzzledparadox/websnapse-v4-svelte, `engine.py`): exact guards only. A
#: neuron that selects another delayed rule while one is pending emits in that step although it
#: closes; here that emission is lost, as v4 itself does where it is the same rule again.
WEBSNAPSE_V4 = Compatibility(early_reopen="overwrite_delayed", unchecked_consumption="clamp")

#: sn-p-factory, the engine whose closed neurons receive; the other one is
#: `replace(SN_P_FACTORY, closed_receives=False)`. A guard is matched against as many letters as
#: there are spikes, and none where a count is negative.
SN_P_FACTORY = Compatibility(
    unchecked_consumption="negative",
    negative_is_zero=True,
    closed_receives=True,
    late_consumption=True,
)

#: distributed-snp (github.com/LipatJob/distributed-snp, `NaiveCpuSnpSimulator`): rules have a
#: threshold. Choose with `FirstChoice`.
DISTRIBUTED_SNP = Compatibility(threshold_rules=True, early_reopen="overwrite_delayed")

#: The simulators by the names that `snpjax run --as` takes.
SIMULATORS: Mapping[str, Compatibility] = MappingProxyType(
    {
        "textbook": TEXTBOOK,
        "plingua-core": PLINGUA_CORE,
        "esnp-cuda": ESNP_CUDA,
        "esnp-python": ESNP_PYTHON,
        "sparse-snp": SPARSE_SNP,
        "sparse-snp-ell": SPARSE_SNP_ELL,
        "sparse-snp-compressed": SPARSE_SNP_COMPRESSED,
        "websnapse-reloaded": WEBSNAPSE_RELOADED,
        "websnapse-v1": WEBSNAPSE_V1,
        "websnapse-v2": WEBSNAPSE_V2,
        "websnapse-v3": WEBSNAPSE_V3,
        "websnapse-v4": WEBSNAPSE_V4,
        "sn-p-factory": SN_P_FACTORY,
        "distributed-snp": DISTRIBUTED_SNP,
    }
)


explain_arguments(__name__)
