"""The XML of WebSnapse v1 and v2 (`.xmp`) and of sn-p-factory, which look alike."""

from .read import read_factory_xml as read_factory_xml, read_xmp as read_xmp
