"""The statistical tests that a simulation of dividing cells has to pass, whoever made it.

Every z value is a number of exact standard errors; m of them are tested at once, at 1e-4 in all
(Bonferroni). Wrong correlations leave every mean right, so the dispersion is tested as well.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri, ndtri

from snpjax import proliferation as pr


_LEVEL = 1e-4
_LEAST = 5.0  # expected cells of what is tested alone


@dataclass(frozen=True)
class Report:
    """The largest |z| of each family of tests beside its limit, and two dispersions."""

    channels: tuple[float, float]
    type_generation: tuple[float, float]
    total: tuple[float, float]
    rest: tuple[float, float]
    dispersion: float
    dispersion_limits: tuple[float, float]
    total_dispersion: float
    total_limits: tuple[float, float]

    @property
    def failures(self) -> list[str]:
        names = ("channels", "type_generation", "total", "rest")
        found = [name for name in names if getattr(self, name)[0] > getattr(self, name)[1]]
        low, high = self.dispersion_limits
        if not low <= self.dispersion <= high:
            found.append("dispersion")
        low, high = self.total_limits
        if not low <= self.total_dispersion <= high:
            found.append("total_dispersion")
        return found


def accept(
    expected: pr.Expected, counts: np.ndarray, type_generation: np.ndarray, *, width: float = 0.07
) -> Report:
    """`counts` is `(runs, channels, generations)`, `type_generation` `(runs, types, generations)`;
    `width` is how far the mean dispersion may be from 1."""
    runs = counts.shape[0]
    root = np.sqrt(runs)
    tested = expected.mean >= _LEAST
    z = (counts.mean(0) - expected.mean)[tested] / expected.sd[tested] * root
    means, sds = expected.type_generation, expected.type_generation_sd
    large = (means >= _LEAST) & (sds > 0)
    by_type = (type_generation.mean(0) - means)[large] / sds[large] * root
    totals = (type_generation.sum((1, 2)) - expected.total) / expected.total_sd
    scores = (counts - expected.mean)[:, tested] / expected.sd[tested]
    # Those too rare to be tested alone, as one.
    rare = ~tested & expected.is_there
    difference = (counts.mean(0) - expected.mean)[rare].sum()
    rest_sd = np.sqrt((expected.sd[rare] ** 2).sum())
    return Report(
        _largest(z),
        _largest(by_type),
        _largest(np.array([totals.mean() * root])),
        _largest(np.array([difference / rest_sd * root]), slack=1.5),  # they are correlated
        float((scores**2).mean()),
        (1 - width, 1 + width),
        float((totals**2).sum()),
        (float(chdtri(runs, 1 - _LEVEL / 2)), float(chdtri(runs, _LEVEL / 2))),
    )


def _largest(z: np.ndarray, slack: float = 1.0) -> tuple[float, float]:
    limit = -float(ndtri(_LEVEL / (2 * max(z.size, 1))))
    return float(np.abs(z).max(initial=0)), limit * slack
