"""Libraries that only some functions need."""

from typing import Any


def installing(extra: str) -> str:
    """The command that installs an extra. snpjax is not on a package index, so it needs a clone."""
    return f"pip install '.[{extra}]' in a clone of snpjax"


def networkx():
    """The module. **Raises:** `ImportError` with how to install it."""
    try:
        import networkx
    except ImportError:
        raise ImportError(f"networkx is not installed ({installing('io')})") from None
    return networkx


def pyplot():
    """`matplotlib.pyplot`. **Raises:** `ImportError` with how to install it."""
    try:
        import matplotlib.pyplot as plt  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise ImportError(f"matplotlib is not installed ({installing('viz')})") from None
    return plt


def nir() -> Any:
    """The module. **Raises:** `ImportError` with how to install it."""
    try:
        import nir  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise ImportError(f"nir is not installed ({installing('nir')})") from None
    return nir


def anywidget():
    """The module. **Raises:** `ImportError` with how to install it."""
    try:
        import anywidget
    except ImportError:
        raise ImportError(f"anywidget is not installed ({installing('notebook')})") from None
    return anywidget


def z3():
    """The solver z3. **Raises:** `ImportError` with how to install it."""
    try:
        import z3
    except ImportError:
        raise ImportError(f"z3-solver is not installed ({installing('prove')})") from None
    return z3
