"""Sparse layouts: ways to store a graph of weighted edges and to multiply by it."""

from .buckets import bucket as bucket
from .dense import Dense as Dense
from .edges import Edges as Edges
from .ell import ELL as ELL
from .layout import AbstractLayout as AbstractLayout
