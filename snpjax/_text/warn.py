"""Warnings that name the line of the user."""

import sys
import warnings


_PASSED_OVER = ("snpjax", "snpjax_formats", "contextlib")


def warn(warning: Warning) -> None:
    """Issue a warning about what was passed to snpjax, at the line that called it."""
    level, frame = 2, sys._getframe(1)
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] in _PASSED_OVER:
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)
