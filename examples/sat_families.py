"""SAT by spiking neural P systems whose neurons divide: a neuron for every assignment.

A neuron doubles every second step until there is one for each of the 2^n assignments of n
variables. The clauses arrive literal by literal, one spike for v and two for -v; each assignment
counts the clauses that hold in it. So the space is exponential in n, and the time is about n m.
"""

from dimacs import Formula

import snpjax as snp


def by_division_and_budding(formula: Formula) -> snp.SpikingSystem:
    """Pan, Paun, Perez-Jimenez 2011: `out` spikes first in step 2n + nm + 6, or never.

    For n variables and m clauses 4n + 7 neurons and 5n + 6 synapses become 4n + 6 + 2^(n+1) neurons
    and 5n + 4 + (n + 3) 2^n synapses. Neuron 0 divides into t1 and f1, these into t2 and f2, ...;
    each of the last ones buds a `cl`, which counts its clauses up to m.
    """
    clauses, n = clauses_of(formula)
    m, variables = len(clauses), range(1, n + 1)
    # A literal that holds sends 4 spikes; (a^4)+ fires for the clause, 4k - 1 spikes are left.
    counts = ["(aaaa)+/a -> a", *(f"a^{4 * k - 1} -> lambda" for k in variables)]
    d = {i: ["a^4 -> a^4"] for i in variables}
    d[1] += ["a^5 -> lambda", f"a^6 -> a^4; {2 * n + 1}"]  # once around for every clause
    d[0] = [f"a -> a; {2 * n + n * m}"]  # and no more after the last
    neurons = [
        snp.Neuron("in", 0, ["a -> a", "a^2 -> a^2"]),
        snp.Neuron("0", 1, ["[a]_0 -> []_t1 || []_f1"]),
        snp.Neuron("1", 0, ["a -> a"]),
        snp.Neuron("2", 1, ["a -> a", "a^2 -> lambda"]),
        snp.Neuron("3", 1, [f"a -> a; {2 * n - 1}"]),
        *(snp.Neuron(f"d{i}", {0: 1, 1: 6}.get(i, 0), d[i]) for i in range(n + 1)),
    ]
    ignored = ["a -> lambda", "a^2 -> lambda", "a^4 -> lambda"]
    for i in variables:  # wait for the literals of the later variables
        forward = [f"a^{s} -> a^{s}; {n - i}" for s in (5, 6)]
        neurons.append(snp.Neuron(f"Cx{i}", 0, ignored + forward))
    neurons += [snp.Neuron(f"Cx{i},0", 0, ["a^5 -> lambda", "a^6 -> a^4"]) for i in variables]
    neurons += [snp.Neuron(f"Cx{i},1", 0, ["a^5 -> a^4", "a^6 -> lambda"]) for i in variables]
    neurons.append(snp.Neuron("out", 0, ["(aa)+/a -> a"]))

    synapses = [("1", "0"), ("1", "2"), ("2", "1"), ("3", "2"), ("0", "out"), (f"d{n}", "d1")]
    synapses += [(f"d{i}", f"d{i + 1}") for i in range(n)]
    dictionary, labelled = [], {"cl": [f"a^{m} -> a^2"]}
    for i in variables:
        synapses += [("in", f"Cx{i}"), (f"d{i}", f"Cx{i}")]
        for value, x in enumerate("ft"):
            label = f"{x}{i}"
            synapses.append((f"Cx{i}", f"Cx{i},{value}"))
            dictionary.append((f"Cx{i},{value}", label))
            divide = f"[a]_{label} -> []_t{i + 1} || []_f{i + 1}"
            labelled[label] = [*counts, divide if i < n else f"[a]_{label} -> []_{label} / []_cl"]
    return snp.SpikingSystem(
        neurons,
        synapses,
        input={"in": [0] * 2 * n + spikes_of(clauses, n)},
        output="out",
        dictionary=dictionary,
        rules_by_label=labelled,
    )


def by_division(formula: Formula) -> snp.SpikingSystem:
    """Wang, Hoogeboom, Pan 2010: `out` spikes first in step 4n + nm + 5, or never.

    For n variables and m clauses 11 neurons and 10 synapses become 4n + 7 + 2^n + e neurons and
    9n + 6 + (n + 3)(2^n + e) synapses; e <= 2^n assignments fail before the last clause, and divide
    once more into neurons that only forget. The neurons b1, e1 and g1 first divide into those that
    read the formula, neuron 0 into the assignments.
    """
    clauses, n = clauses_of(formula)
    m, variables = len(clauses), range(1, n + 1)
    failed = [f"a^{3 * k + 1} -> lambda" for k in variables]
    counts = [*failed, *(f"a^{3 * k + 2}/a^2 -> a^2" for k in variables)]
    forgotten = [f"a^{3 * k + s} -> lambda" for s in (1, 2) for k in range(n + 1)]
    relay = ["a -> a", "a^2 -> a^2"]
    three = [f"a^7/a^2 -> a^2; {2 * n - 3}", f"a^5/a^2 -> a^2; {2 * n - 1}"]
    three.append(f"a^3 -> a^3; {n * m + 2}")
    neurons = [
        snp.Neuron("in", 0, relay),
        snp.Neuron("out", 0, ["(aa)+/a -> a"]),
        snp.Neuron("d0", 4, [f"a^4/a^3 -> a^3; {4 * n}", f"a -> a; {n * m - 1}"]),
        snp.Neuron("0", 0, ["a^2 -> lambda", "[a]_0 -> []_t1 || []_f1"]),
        snp.Neuron("1", 0, relay),
        snp.Neuron("2", 2, [*relay, "a^3 -> lambda", "a^4 -> a"]),
        snp.Neuron("3", 7, three),
        snp.Neuron("4", 0, ["a^2 -> lambda", "a^3 -> a; 1", "a^6 -> a^2; 1"]),
        # websnapse-dynamic leaves these empty for n > 2: filled two steps later, they give the same
        # answers in the same step. For n = 2 that would be too late.
        *(snp.Neuron(f"{x}1", 2, chain_rule(x, y, 1, n)) for x, y in CHAINS.items()),
    ]
    labelled = {f"{x}{i}": chain_rule(x, y, i, n) for x, y in CHAINS.items() for i in range(2, n)}
    synapses = [("1", target) for target in ("0", "2", "b1", "e1", "g1")]
    synapses += [("2", "1"), ("3", "2"), ("3", "4"), ("4", "0"), ("0", "out")]
    dictionary = [(f"d{n}", "d1"), (f"d{n}", "4"), *((f"d{i}", f"d{i + 1}") for i in range(n))]
    for i in variables:
        little = ["a -> lambda", "a^2 -> lambda"]
        labelled[f"h{i}"] = [f'[a^2]_h{i} -> []_"Cx{i},1" || []_"Cx{i},0"']
        labelled[f"d{i}"] = [*little, "a^3 -> a^3", *(["a^4 -> lambda"] if i == 1 else [])]
        forward = [f"a^{s} -> a^{s}; {n - i}" for s in (4, 5)]
        labelled[f"Cx{i}"] = [*little, "a^3 -> lambda", *forward]
        labelled[f"Cx{i},1"] = [*little, "a^4 -> a^3", "a^5 -> lambda"]
        labelled[f"Cx{i},0"] = [*little, "a^4 -> lambda", "a^5 -> a^3"]
        for x in "tf":
            labelled[f"{x}{i}"] = [f"[a]_{x}{i} -> []_t{i + 1} || []_f{i + 1}", *counts]
        dictionary += [("in", f"Cx{i}"), (f"d{i}", f"Cx{i}"), (f"Cx{i}", f"h{i}")]
        dictionary += [(f"Cx{i},1", f"t{i}"), (f"Cx{i},0", f"f{i}")]
    labelled |= {f"t{n + 1}": forgotten, f"f{n + 1}": forgotten}
    return snp.SpikingSystem(
        neurons,
        synapses,
        input={"in": [0] * 4 * n + spikes_of(clauses, n)},
        output="out",
        dictionary=dictionary,
        rules_by_label=labelled,
    )


#: b divides into the d, e into the Cx, g into the h, one after the other.
CHAINS = {"b": "d", "e": "Cx", "g": "h"}


def chain_rule(x: str, y: str, i: int, n: int) -> list[str]:
    """x{i} becomes y{i} and the rest of the chain."""
    rest = f"{x}{i + 1}" if i + 1 < n else f"{y}{n}"
    return [f"[a^2]_{x}{i} -> []_{y}{i} || []_{rest}"]


def models_of(solution: snp.Solution, grown: snp.Solution) -> list[dict[int, bool]]:
    """The assignments that satisfy the formula: those of the neurons whose spikes made `out` spike
    first. Each was t1 or f1, then t2 or f2, ...

    `grown` is the run in which they divided: `solution` itself, or an earlier part of it.
    """
    times = solution.spike_times().tolist()
    if not times:
        return []
    network = solution.network()
    out = network.labels.index("out")
    sent = solution.emissions[times[0] - 2]
    satisfied = [source for source, target, _ in network.synapses if target == out and sent[source]]
    lineages = [grown.lineage(neuron) for neuron in satisfied]
    return [{int(x[1:]): x[0] == "t" for x in own if x[0] in "tf"} for own in lineages]


def clauses_of(formula: Formula) -> tuple[list[set[int]], int]:
    """The clauses that may be false, and the number of variables, at least the two of a ring.

    A variable and its negation in one clause have no common number of spikes.
    """
    clauses = [set(clause) for clause in formula.clauses]
    clauses = [clause for clause in clauses if not any(-literal in clause for literal in clause)]
    if not clauses:
        raise ValueError("no clause of the formula can be false (there is nothing to solve)")
    return clauses, max(formula.num_variables, 2)


def spikes_of(clauses: list[set[int]], n: int) -> list[int]:
    """The input for every clause and variable: 1 for v, 2 for -v, else 0."""
    return [(v in c) + 2 * (-v in c) for c in clauses for v in range(1, n + 1)]
