"""The lines that `snpjax proliferation calibrate` prints."""

from types import SimpleNamespace

import numpy as np
import pytest

from snpjax.cli.proliferation import bound_text


@pytest.mark.parametrize(
    ("name", "point", "said"),
    [
        ("go sd", 1.0, "on its upper bound, 15; set max_std to change it"),
        ("go mean", 0.0, "on its lower bound, 20; set min_mean to change it"),
        ("go sd", 0.0, "on its lower bound, 1.5"),  # the least sd of any search
        ("x1", 1.0, "on its upper bound, 1"),
    ],
)
def test_a_bound_is_named_with_the_key_that_sets_it(name, point, said):
    search = SimpleNamespace(
        names=("x1", "go mean", "go sd"),
        lower=np.array([0.0, 20.0, 1.5]),
        upper=np.array([1.0, 120.0, 15.0]),
    )
    fit = SimpleNamespace(
        search=search, model=SimpleNamespace(duration=120.0), point=np.full(3, point)
    )
    assert bound_text(fit, name) == said  # pyright: ignore[reportArgumentType]
