"""Sizes are rounded up to few values, so that graphs of similar size share one compilation."""


def bucket(size: int, *, at_least: int = 8) -> int:
    """The least of 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, ... that is at least both arguments."""
    wanted = max(size, at_least, 1)
    power = 1 << (wanted - 1).bit_length()
    three_quarters = 3 * power // 4
    return three_quarters if power >= 4 and three_quarters >= wanted else power
