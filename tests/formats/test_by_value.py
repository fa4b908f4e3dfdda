"""Equality of dataclasses with arrays."""

import numpy as np
import pytest
import scipy.sparse

from snpjax import Population, Projection, RuleTemplate, graphs, numerical, rate


@pytest.mark.parametrize(
    "build",
    [
        lambda n: Population("p", 2, np.array([1, n]), [RuleTemplate([(np.arange(2), None)], n)]),
        lambda n: Projection("p", "q", scipy.sparse.csr_array(np.array([[0, n], [3, 0]]))),
        lambda n: Projection("p", "q", graphs.Pairs(np.array([0, n]), np.array([1, 0]))),
        lambda n: rate.RatePopulation("p", 2, parameters={"tau": np.array([1.0, n]), "b": 0.0}),
        lambda n: rate.RateProjection("p", "q", weights=np.array([0.5, n])),
        lambda n: numerical.NumericalNeuron("x", {"v": n}, [numerical.Production({"v": 1})]),
    ],
)
def test_equal_values_are_equal_and_have_equal_hashes(build):
    assert build(2) == build(2) and hash(build(2)) == hash(build(2))
    assert build(2) != build(5)
    assert len({build(2), build(2), build(5)}) == 2
