"""How fast do cells divide? The answer is in two histograms of a dye that every division halves.

The histograms are those of an invented population of resting and cycling cells, at the beginning
and after 120 hours (examples/make_proliferation_data.py). The exact expectation of a model is
fitted to the second histogram, and the fit is compared with a simulation of every single cell.
"""

from pathlib import Path

import jax

from snpjax import proliferation as pr
from snpjax.io.proliferation import read_model


file = read_model(Path(__file__).with_name("proliferation.model.json"))
guess, measured = file.model(), file.histogram("target")
assert file.bins is not None
fit = pr.calibrate(guess, measured, bins=file.bins, bounds=file.bounds)
errors, goodness = pr.uncertainty(fit), pr.goodness_of_fit(fit)

print(f"{guess.initial.cells} cells, 120 hours; Hellinger distance {fit.normalised:.4f} of 1")
for name, interval in errors.intervals().items():
    ends = "{:.3f} to {:.3f} (95 %)".format(*interval) if interval else "on its bound"
    print(f"  {name}: {ends}")
print(f"  goodness of fit: p = {goodness.p_value:.2f}")
assert goodness.p_value > 0.01
truth = {"resting proportion": 0.2, "cycling mean": 40, "cycling sd": 12}
intervals = errors.intervals(level=0.999)
for name, value in truth.items():
    interval = intervals[name]
    assert interval is not None and interval[0] <= value <= interval[1], name

predicted = pr.expected(fit.model)
sample = pr.simulate(fit.model, jax.random.key(0), runs=20)
print(f"{predicted.total:.0f} cells expected (sd {predicted.total_sd:.0f})")
print(f"{sample.total.mean():.0f} on average over {len(sample.total)} simulations")
assert abs(sample.total.mean() - predicted.total) < 5 * predicted.total_sd / 20**0.5
