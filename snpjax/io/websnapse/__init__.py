"""WebSnapse JSON of every generation, and the YAML of sn-p-factory with the same structure."""

from .read import read_factory_yaml as read_factory_yaml, read_websnapse as read_websnapse
from .write import write_factory_yaml as write_factory_yaml, write_websnapse as write_websnapse
