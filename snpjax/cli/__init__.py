"""The command `snpjax`."""

from .app import main as main
