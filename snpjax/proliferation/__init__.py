"""Cell proliferation, read through the dilution of a fluorescent label."""

from snpjax_formats.arguments import explain_arguments

from .binning import (
    AbstractBins as AbstractBins,
    BinRule as BinRule,
    Bins as Bins,
    CellsDropped as CellsDropped,
    ChannelBins as ChannelBins,
)
from .calibrate import Calibration as Calibration, calibrate as calibrate
from .distance import Objective as Objective, hellinger as hellinger
from .expected import Expected as Expected, expected as expected
from .family import (
    expected_counts as expected_counts,
    family_means as family_means,
    family_second_moments as family_second_moments,
    mixed_covariance as mixed_covariance,
    mixed_means as mixed_means,
)
from .histogram import Axis as Axis, Histogram as Histogram
from .lattice import sample_lattice as sample_lattice
from .law import Fixed as Fixed, Gamma as Gamma, Normal as Normal
from .likelihood import (
    Measurement as Measurement,
    log_likelihood as log_likelihood,
    measurement as measurement,
)
from .model import (
    CellType as CellType,
    InvalidModel as InvalidModel,
    ProliferationModel as ProliferationModel,
    max_divisions as max_divisions,
)
from .program import (
    Parameters as Parameters,
    ProliferationProgram as ProliferationProgram,
    Range as Range,
    Unresolved as Unresolved,
    lower as lower,
)
from .sample import Sample as Sample, SampleFailed as SampleFailed, simulate as simulate
from .search import GuessOutsideBounds as GuessOutsideBounds
from .start import Start as Start
from .table import SparseHistogram as SparseHistogram
from .uncertainty import (
    Goodness as Goodness,
    PoorFit as PoorFit,
    Profile as Profile,
    Uncertainty as Uncertainty,
    goodness_of_fit as goodness_of_fit,
    profile as profile,
    uncertainty as uncertainty,
)
from .validate import validate as validate


explain_arguments(__name__)
