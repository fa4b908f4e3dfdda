"""Exported files stay the same to the byte: digests of all formats for a few models."""

import hashlib

import pytest

import snpjax as snp
from snpjax.io import write_graph
from tests.check.test_graph_exports import dividing, naturals, odd_names, wiring
from tests.check.test_net_graphs import race
from tests.support import changing


MODELS = {
    "naturals": naturals,
    "odd names": odd_names,
    "plasticity": lambda: changing.with_ballast(wiring()),
    "division": lambda: changing.with_ballast(dividing()),
    "net": race,
}
#: sha256 of all files of a model, one after the other, the first 16 digits.
DIGESTS = {
    "naturals": "d242a9d8d262c5f3",
    "odd names": "4ae551b227fe1f70",
    "plasticity": "fdbc75b1f6ba17db",
    "division": "50fd8e0827d6b89c",
    "net": "472b46c7a36d453c",
}


@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=[pytest.mark.slow] * (x == "division")) for x in MODELS]
)
def test_files_are_the_same(name, tmp_path):
    explore = changing.explore if name in ("plasticity", "division") else snp.explore
    graph = explore(MODELS[name](), chunks=(16,), max_configurations=40)
    files = [
        (suffix, labels) for suffix in ("aut", "tra", "dot") for labels in ("rules", "emissions")
    ]
    files += [("json", None), ("graphml", None)]
    if name in ("naturals", "net"):
        files.append(("smv", None))
    digest = hashlib.sha256()
    for suffix, labels in files:
        for path in write_graph(graph, tmp_path / f"{labels}.{suffix}", labels=labels):
            digest.update(path.read_bytes())
    for query in ("always halted", "on some path eventually halted"):
        digest.update(str(snp.check(graph, query)).encode())
    assert digest.hexdigest()[:16] == DIGESTS[name], (
        "A file or a verdict has changed. If that is wanted, compare the files of both versions, "
        "and write the new digest here."
    )
