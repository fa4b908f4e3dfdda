"""Libraries that only some functions need."""


def networkx():
    """The module. **Raises:** `ImportError` with how to install it."""
    try:
        import networkx
    except ImportError:
        raise ImportError("networkx is not installed (pip install '.[io]')") from None
    return networkx


def pyplot():
    """`matplotlib.pyplot`. **Raises:** `ImportError` with how to install it."""
    try:
        import matplotlib.pyplot as plt  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise ImportError("matplotlib is not installed (pip install '.[viz]')") from None
    return plt


def z3():
    """The solver z3. **Raises:** `ImportError` with how to install it."""
    try:
        import z3
    except ImportError:
        raise ImportError("z3-solver is not installed (pip install '.[prove]')") from None
    return z3
