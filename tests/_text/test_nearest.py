"""Names that may be meant."""

import pytest

from snpjax._text.nearest import nearest


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("in_1", ["in_{1}", "out", "in_2"], "did you mean 'in_{1}' or 'in_2'?"),
        ("in_1", ["x", "yy"], "the neurons are 'x', 'yy'"),
        ("in_1", ["x", "y", "z", "w"], "the first neurons are 'x', 'y', 'z'"),
        ("in_1", ["x"], "the only one is 'x'"),
        ("in_1", [], "there are no neurons"),
        ("x" * 101, ["x" * 100, "x" * 102], f"the neurons are '{'x' * 100}', '{'x' * 102}'"),
        ("n", [f"n{i}" for i in range(10**6)], "did you mean 'n9' or 'n8' or 'n7'?"),
    ],
)
def test_only_close_names_may_be_meant(name, known, hint):
    assert nearest(name, known, "neurons") == hint
