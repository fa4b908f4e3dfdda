"""Networks that change, in all that shows runs or needs a network that stays as it is."""

import re

import jax
import pytest

import snpjax as snp
from snpjax.check import reach_probability, reaches
from snpjax.spiking import Transition, TransitionMatrix
from snpjax_formats import Dense


def wiring() -> snp.SpikingSystem:
    """A spike that goes to j and is lost, or to k."""
    neurons = [snp.Neuron("i", 1, ["a -> +-1(i, {j, k})"]), snp.Neuron("j"), snp.Neuron("k")]
    return snp.SpikingSystem(neurons, output="k")


def growing() -> snp.SpikingSystem:
    """c becomes l and r; the second neuron has the label of the first one's right child."""
    return snp.SpikingSystem(
        [snp.Neuron("c", 1, ["[a]_c -> []_l || []_r"]), snp.Neuron("x", 2, ["a+/a -> a"], "r")],
        output="r",
        input={"l": [0, 3]},
    )


SYSTEMS = pytest.mark.parametrize("system", [wiring(), growing()], ids=["plastic", "growing"])


@SYSTEMS
def test_what_needs_a_network_that_stays_as_it_is_says_so(system):
    refused = r"needs a network that does not change, but neuron '.' has the rule "
    for build in (
        lambda: TransitionMatrix(system),
        lambda: snp.invariants(system),
        lambda: snp.SystemBatch([system]).lower(),
    ):
        with pytest.raises(NotImplementedError, match=refused):
            build()
    for build in (snp.run, snp.explore):
        with pytest.raises((NotImplementedError, ValueError), match="does not change|are a list"):
            build(system, layout=Transition(Dense))


@pytest.mark.slow
def test_an_estimate_of_plasticity_is_near_the_exact_number():
    exact = float(reach_probability(snp.explore(wiring()), lambda c: c["k"] > 0))
    assert exact == 0.5
    property = reaches(lambda c: c["k"] > 0)
    found = snp.estimate(wiring(), property, key=jax.random.key(0), max_steps=4, paths=500)
    assert exact in found and found.undecided == 0


def texts(html: str) -> list[list[str]]:
    """The cells of a table."""
    rows = re.findall("<tr>(.*?)</tr>", html)
    return [re.findall("<t[hd]>(.*?)</t[hd]>", row) for row in rows]


def test_notebooks_show_what_plasticity_did():
    solution = snp.run(wiring())
    head, *rows = texts(solution._repr_html_())
    assert head == ["step", "i", "j", "k", "rules"]
    assert [row[-1] for row in rows] == [
        "",
        "i: a -&gt; +-1(i, {j, k}); new (i, j)",
        "deleted (i, j)",
    ]
    assert "final spikes: i=0, j=1, k=0" in repr(solution)


def test_notebooks_show_neurons_when_they_are_there():
    system = growing()
    rows = texts(system._repr_html_())
    assert rows[1][:3] == ["c", "1", "[a]_c -&gt; []_l || []_r"]
    assert rows[2][0] == "x (label r) (output)"
    solution = snp.run(system)
    head, *rows = texts(solution._repr_html_())
    assert head == ["step", "l", "r#1", "r#2", "rules"]
    assert rows[0] == ["0", "1", "2", "", ""]
    assert rows[1][-1] == "c: [a]_c -&gt; []_l || []_r; r: a+/a -&gt; a"
    assert rows[1][1:4] == ["0", "1", "0"]
    assert "final spikes: l=3, r#1=0, r#2=0" in repr(solution)
    assert solution.spikes_of("l").tolist() == [3] and solution.spikes_of("c").tolist() == []
    with pytest.raises(ValueError, match="No neuron of the system ever has the label 'x'"):
        solution.spikes_of("x")
    sparse = snp.run(system, save=snp.Save(every=2))
    assert [row[0] for row in texts(sparse._repr_html_())[1:]] == ["0", "2"]
