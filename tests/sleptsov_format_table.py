"""What each format of nets holds: the table of docs/sleptsov_files.md, computed by writing and
reading.

PYTHONPATH=.:formats python -m tests.sleptsov_format_table
"""

import warnings
from collections.abc import Mapping

import snpjax as snp
from snpjax.io.sleptsov.formats import NET_FORMATS, NetFormat
from snpjax.io.sleptsov.read import net_text, read_net_source
from snpjax.io.source import Source
from snpjax.sleptsov import SleptsovNet, net_of_text


WRITTEN: list[NetFormat] = [
    name for name, record in NET_FORMATS.items() if record.writer and name != "hsn"
]


def net(text: str, **changes: object) -> SleptsovNet:
    """The net of a text, without names unless they are among the changes."""
    plain: dict[str, object] = {"place_names": None, "transition_names": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)  # one can never fire
        return net_of_text(text, {"a": 5}).replace(**{**plain, **changes})


#: A net that has one thing more than the plainest.
FEATURES = {
    "weights, plain inhibitor arcs": net("t: 2a !b -> 3c"),
    "a regular and an inhibitor arc between the same nodes": net("t: a !a -> b"),
    "inhibitor arcs with thresholds": net("t: a !3b -> b"),
    "test arcs": net("t: a ?2b -> b"),
    "priorities": net("t: a -> b\nu: a -> c\nt > u"),
    "an order without priorities": net("t: a -> b\nu: a -> c", order=[1, 0]),
    "a place that no arc touches": net_of_text("t: p1 -> p2", {"p1": 2, "p3": 1}).replace(
        place_names=None
    ),
    "names": net("t: a -> b", place_names=["in put", "{\u00e9}"], transition_names=["do: it"]),
    "line ends in names": net("t: a -> b", place_names=["in\nput", "b"]),
    "a place and a transition of one name": net(
        "t: a -> b", place_names=["a", "b"], transition_names=["a"]
    ),
    "final markings": net("t: a -> b", final_markings=[[0, 5], [1, 4]]),
    "a name of the net": net("t: a -> b", name="ours"),
    "positions (notes)": net("t: a -> b", notes={"positions": {"p1": [1.0, 2.0]}}),
}


def outcome(format: NetFormat, given: SleptsovNet) -> str:
    """`kept`, `lost` or `left out`, by writing and reading the net."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snp.ModelWarning)
        text, losses = net_text(given, format)
        if losses.items:
            return "lost"
        again = read_net_source(Source("model", text), format)
        assert again == given, (format, given)
        noted = given.notes.get("positions", {})
        found = again.notes.get("positions", {})
    assert isinstance(noted, Mapping) and isinstance(found, Mapping)
    return "kept" if all(found.get(name) == place for name, place in noted.items()) else "left out"


def table() -> str:
    """Features by formats."""
    titles = [NET_FORMATS[format].title for format in WRITTEN]
    rows = [["a net with", *titles], ["---"] * (len(titles) + 1)]
    for feature, given in FEATURES.items():
        rows.append([feature, *(outcome(format, given) for format in WRITTEN)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


if __name__ == "__main__":
    print(table(), end="")
