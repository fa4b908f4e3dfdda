"""Files of Sleptsov nets."""

from .formats import NET_FORMATS as NET_FORMATS, NetFormat as NetFormat
from .read import read_net as read_net, write_net as write_net
