"""The range of coordinates."""

from snpjax.drawing.coordinates import COORDINATE_LIMIT, is_coordinate, noted_positions


INSIDE, OUTSIDE = 999_999_999.5, 1_000_000_000


def test_positions_out_of_range_are_not_drawn():
    assert noted_positions({"x": [1, INSIDE]}, ["x"]) is not None
    for wrong in (OUTSIDE, float("nan"), float("inf"), 10**400):
        assert noted_positions({"x": [1, wrong]}, ["x"]) is None
        assert not is_coordinate(wrong)
    assert not is_coordinate(True) and not is_coordinate("1")
    assert is_coordinate(-INSIDE) and not is_coordinate(-COORDINATE_LIMIT)
