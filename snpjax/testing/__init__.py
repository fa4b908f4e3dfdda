"""Public helpers for tests: assertions, reference interpreters in pure Python, Hypothesis
strategies and stateful tests.

```python
from hypothesis import given
from snpjax.testing import assert_equivalent, systems

@given(systems(max_neurons=6))
def test_mine(system):
    assert_equivalent(system, optimised(system))
```

Names are imported when they are first asked for: `snpjax.testing.reference` needs nothing, the
assertions no test framework, strategies and stateful tests Hypothesis (`pip install
".[testing]"`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from snpjax_formats.arguments import explain


if TYPE_CHECKING:
    from .assertions import (
        assert_equivalent as assert_equivalent,
        assert_invariant as assert_invariant,
    )
    from .net_strategies import nets as nets
    from .stateful import SystemMachine as SystemMachine, machine_for as machine_for
    from .strategies import (
        dividing_systems as dividing_systems,
        guards as guards,
        inputs as inputs,
        plastic_systems as plastic_systems,
        rules as rules,
        runs as runs,
        systems as systems,
        variant_systems as variant_systems,
    )

_HOMES = {
    **dict.fromkeys(("assert_equivalent", "assert_invariant"), "assertions"),
    "nets": "net_strategies",
    **dict.fromkeys(("SystemMachine", "machine_for"), "stateful"),
    **dict.fromkeys(("dividing_systems", "guards", "inputs", "plastic_systems"), "strategies"),
    **dict.fromkeys(("rules", "runs", "systems", "variant_systems"), "strategies"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return explain(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
