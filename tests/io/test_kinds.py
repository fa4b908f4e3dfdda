"""What a file holds, told by its text."""

from pathlib import Path

import pytest

import snpjax as snp
from snpjax.io import Source
from snpjax.io.kinds import told_by_text


EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    "text, kind",
    [
        ("@model<spiking_psystems>\n", "plingua"),
        ('{"neurons": []}', "websnapse"),
        ("neurons:\n- id: n\n", "factory-yaml"),
        ("<?xml version='1.0'?><pnml/>", "pnml"),
        ("|0|\n|\nf 0 0 0 0 0 0 0\n", "greatspn"),
        ('{"populations": []}', "json"),
        ("populations:\n- name: a\n", "yaml"),
        ("1 2\n3 4\n", "histogram"),
        ("# a comment\n\n1 2 3\n", "cell types"),
        ("1 2\n1 2 3\n", None),
        ("1 2 3 4\n", None),
        ("1 2\n# @model\n", "histogram"),
        ("p cnf 3 2\n", None),
        ("", None),
    ],
)
def test_kinds_that_the_text_tells(text, kind):
    told = told_by_text(Source("file", text))
    assert (told and (told.format or told.kind)) == kind


def test_python_names_its_functions():
    with pytest.raises(snp.ReadError, match=r"this is a file of a net \(use: snp.read_net\)"):
        snp.read(EXAMPLES / "half.lsn")
    with pytest.raises(snp.ReadError, match=r"a histogram \(use: snpjax.io.proliferation"):
        snp.read_net(EXAMPLES / "proliferation_initial.txt")
