"""Random small models and queries for the reductions of `check`."""

import warnings

import numpy as np

import snpjax as snp
from snpjax.sleptsov import Arcs, Execution, Petri, SleptsovNet


PLACES = TRANSITIONS = 8


def random_net(rng: np.random.Generator, rule=None) -> Execution:
    """A net that conserves its tokens, or loses some: each transition takes from two places and
    gives to two. One transition has an inhibitor arc, one a test arc. All have one shape."""
    inputs, outputs = [], []
    for transition in range(TRANSITIONS):
        before, after = (rng.choice(PLACES, 2, replace=False) for _ in range(2))
        if rng.random() < 0.5:  # one of them is only looked at, or comes back
            after[0] = before[0]
            after[1] = rng.choice(np.setdiff1d(np.arange(PLACES), after[:1]))
        inputs += [(int(p), transition, int(rng.integers(1, 3) == 2) + 1) for p in before]
        weight = 2 if rng.random() < 0.2 else 1
        weights = [w for _, t, w in inputs if t == transition]
        given = [min(weight, sum(weights) - 1), 1] if rng.random() < 0.9 else [0, 1]
        outputs += [(int(p), transition, w) for p, w in zip(after, given, strict=True) if w]
    inhibited, tested = rng.choice(TRANSITIONS, 2, replace=False).tolist()
    marking = rng.integers(0, 3, PLACES)
    return _execution(
        marking,
        inputs,
        outputs,
        [(int(rng.integers(PLACES)), inhibited, int(rng.integers(1, 3)))],
        [(int(rng.integers(PLACES)), tested, int(rng.integers(1, 3)))],
        rule or Petri(),
    )


def replicated_net(rng: np.random.Generator, rule=None) -> Execution:
    """Three components of two places and two transitions each, around two shared places."""
    shared, inputs, outputs = (6, 7), [], []
    per = [
        (
            rng.choice(4, 2, replace=False).tolist(),  # 0, 1: own places; 2, 3: the shared ones
            rng.choice(4, 2, replace=False).tolist(),
        )
        for _ in range(2)
    ]
    own_tokens = rng.integers(0, 3, 2).tolist()
    marking = np.asarray([*own_tokens * 3, *rng.integers(0, 3, 2).tolist()])

    def place(component: int, number: int) -> int:
        return 2 * component + number if number < 2 else shared[number - 2]

    for component in range(3):
        for number, (before, after) in enumerate(per):
            transition = 2 * component + number
            inputs += [(place(component, p), transition, 1) for p in before]
            outputs += [(place(component, p), transition, 1) for p in after]
    for transition in (6, 7):  # of the shared places
        inputs += [(6, transition, 1), (7, transition, 1)]
        outputs += [(int(rng.integers(6, 8)), transition, 2)]
    inhibitors, tests = [(6, 6, int(rng.integers(1, 3)))], [(7, 7, 1)]
    return _execution(marking, inputs, outputs, inhibitors, tests, rule or Petri())


def _execution(marking, inputs, outputs, inhibitors, tests, rule) -> Execution:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        net = SleptsovNet(
            marking,
            inputs=Arcs.of(inputs),
            outputs=Arcs.of(outputs),
            inhibitors=Arcs.of(inhibitors),
            tests=Arcs.of(tests),
            num_transitions=TRANSITIONS,
        )
    return Execution(net, rule)


def random_system(rng: np.random.Generator, copies: int = 1) -> snp.SpikingSystem:
    """Six neurons with two rules each; with three `copies` of a part of two neurons, they are three
    such parts, and a part is connected with the others as the others are with it. All have one
    shape."""
    size = 6 // copies
    parts = [
        (
            int(rng.integers(0, 3)),
            [
                f"a^{rng.integers(1, 3)}/a -> a; {rng.integers(0, 2)}",
                f"a^{rng.integers(1, 3)} -> {rng.choice(['a', 'lambda'])}",
                "a^3/a^2 -> a; 1",
            ],
        )
        for _ in range(size)
    ]
    neurons = [
        snp.Neuron(f"n{copy}{number}", spikes, rules)
        for copy in range(copies)
        for number, (spikes, rules) in enumerate(parts)
    ]
    inside = rng.random((size, size)) < (0.4 if size > 2 else 0.6)
    between = rng.random((size, size)) < 0.3
    synapses = [
        (f"n{c}{i}", f"n{d}{j}")
        for c in range(copies)
        for d in range(copies)
        for i in range(size)
        for j in range(size)
        if (c, i) != (d, j) and (inside if c == d else between)[i, j]
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        return snp.SpikingSystem(neurons, synapses)


def random_query(rng: np.random.Generator, conditions: list[str], *, has_next: bool) -> str:
    """A query of linear time that `check` takes, over some of the conditions."""
    p, q, r = (conditions[i] for i in rng.integers(len(conditions), size=3))
    forms = [
        f"always ({p})",
        f"never (({p}) and ({q}))",
        f"on some path eventually (({p}) and not ({q}))",
        f"eventually ({p})",
        f"on some path always ({p})",
        f"infinitely often ({p})",
        f"steady ({p})",
        f"({p}) until ({q})",
        f"({p}) weak until ({q})",
        f"({p}) followed by ({q})",
        f"({p}) preceded by ({q})",
        f"always (({p}) implies eventually ({q}))",
        f"on some path steady ({p})",
        f"on some path infinitely often ({q})",
        f"({p}) until (({q}) or ({r}))",
    ]
    if has_next:
        forms += [f"always (({p}) implies next ({q}))", f"on some path next next ({p})"]
    return str(rng.choice(forms))
