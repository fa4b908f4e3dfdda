"""The page of benchmarks is drawn from the results in bench/measured."""

from tests.support.helpers import script


def test_page_has_every_figure_and_its_plots(tmp_path):
    page = script("docs/make_benchmarks.py")
    page.main(tmp_path)
    text = (tmp_path / "index.md").read_text()
    for device in page.DEVICES:
        for name in page.results(device):
            assert f"| {name} |" in text
        assert (tmp_path / f"against_{device}.svg").exists()
    assert (tmp_path / "sorting.svg").exists()


def test_rates_and_times_are_both_times_as_fast():
    page = script("docs/make_benchmarks.py")
    time = {"warm": {"value": 2.0, "unit": "ms"}, "scipy": {"value": 6.0, "unit": "ms"}}
    rate = {"warm": {"value": 6.0, "unit": "steps/s"}, "C": {"value": 2.0, "unit": "steps/s"}}
    assert page.times_as_fast(time, "scipy") == page.times_as_fast(rate, "C") == 3
