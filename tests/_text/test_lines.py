"""Lines of files, made of columns."""

import numpy as np
from hypothesis import given, strategies as st

from snpjax._text.lines import lines, numbers, text


@given(st.lists(st.tuples(st.integers(-(2**62), 2**62), st.booleans()), min_size=1))
def test_numbers_as_text(drawn):
    values, present = np.asarray([x for x, _ in drawn]), np.asarray([here for _, here in drawn])
    made = lines(b"<", numbers(values, present), text(b"none", ~present), b">\n").decode()
    assert made == "".join(f"<{x if here else 'none'}>\n" for x, here in drawn)
    assert lines(numbers(values), b" ").decode().split() == [f"{x}" for x, _ in drawn]
