"""The page of benchmarks is drawn from the results in bench/measured."""

import importlib.util

from tests.support.helpers import REPOSITORY


def _loaded():
    path = REPOSITORY / "docs" / "make_benchmarks.py"
    spec = importlib.util.spec_from_file_location("make_benchmarks", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_has_every_figure_and_its_plots(tmp_path):
    page = _loaded()
    page.main(tmp_path)
    text = (tmp_path / "index.md").read_text()
    for device in page.DEVICES:
        for name in page.results(device):
            assert f"| {name} |" in text
        assert (tmp_path / f"against_{device}.svg").exists()
    assert (tmp_path / "sorting.svg").exists()


def test_rates_and_times_are_both_times_as_fast():
    page = _loaded()
    time = {"warm": {"value": 2.0, "unit": "ms"}, "scipy": {"value": 6.0, "unit": "ms"}}
    rate = {"warm": {"value": 6.0, "unit": "steps/s"}, "C": {"value": 2.0, "unit": "steps/s"}}
    assert page.times_as_fast(time, "scipy") == page.times_as_fast(rate, "C") == 3
