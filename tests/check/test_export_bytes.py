"""Exported files stay the same to the byte: digests of all formats for a few models."""

import hashlib

import pytest

import snpjax as snp
from snpjax.io import write_graph
from tests.check.test_graph_exports import CHUNKS, dividing, naturals, odd_names, wiring
from tests.check.test_net_graphs import race


MODELS = {
    "naturals": naturals,
    "odd names": odd_names,
    "plasticity": wiring,
    "division": dividing,
    "net": race,
}
#: sha256 of all files of a model, one after the other, the first 16 digits.
DIGESTS = {
    "naturals": "d242a9d8d262c5f3",
    "odd names": "4ae551b227fe1f70",
    "plasticity": "65b82dd796bb82ea",
    "division": "e2dec802f3ec0a3e",
    "net": "472b46c7a36d453c",
}


@pytest.mark.parametrize("name", MODELS)
def test_files_are_the_same(name, tmp_path):
    graph = snp.explore(MODELS[name](), chunks=CHUNKS, max_configurations=40)
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
