"""Whether the answers of trained networks stay the same for all inputs near given ones."""

from .box import SpikeBox as SpikeBox
from .classifier import Decoder as Decoder
from .decide import CaseDecision as CaseDecision, Robustness as Robustness, robustness as robustness
