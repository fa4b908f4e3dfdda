"""Files of cell proliferation: histograms, models, cell types of cuda-pro-cell, results."""

from snpjax_formats.arguments import explain_arguments

from .histogram import read_histogram as read_histogram, write_histogram as write_histogram
from .model import (
    ModelFile as ModelFile,
    model_json as model_json,
    read_model as read_model,
    write_model as write_model,
)
from .results import (
    calibration_json as calibration_json,
    calibration_record as calibration_record,
    table_text as table_text,
    write_calibration as write_calibration,
    write_table as write_table,
)
from .types import read_types as read_types, write_types as write_types


explain_arguments(__name__)
