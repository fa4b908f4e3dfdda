"""All paths at once: the configuration graph of a system."""

from .explore import explore as explore
from .graph import Graph as Graph, Stop as Stop
from .growth import Growth as Growth, growth as growth
from .language import Generated as Generated
