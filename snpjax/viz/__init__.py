"""Pictures: each is a function of a thing and of `ax=`, which it returns.

They need matplotlib: `pip install ".[viz]"`. Those of proliferation are in
`snpjax.viz.proliferation`.
"""

from snpjax_formats.arguments import explain_arguments

from .axes import save as save
from .graph import graph as graph
from .models import net as net, network as network, positions as positions
from .paths import halting_times as halting_times, numbers as numbers
from .run import heat_map as heat_map, raster as raster
from .timings import timings as timings


explain_arguments(__name__)
