"""Build the net that a reader has read, and report what is wrong with it."""

import warnings
from typing import Any

from ..._text.model_warning import ModelWarning
from ..._text.warn import warn
from ...sleptsov import InvalidNet, SleptsovNet
from ..errors import Diagnostic, ReadError, ReadWarning
from ..source import Report


def build_net(report: Report, *, quiet: bool = False, **arguments: Any) -> SleptsovNet:
    """The net of these arguments, after the findings of the reader are reported.

    The rule of the source, where it has one, replaces that of the file. What the net itself warns
    about is reported for the file as a whole, unless `quiet`.

    **Raises:** `ReadError`, with every error that was reported; an invalid net that no reader has
    located is reported for the file as a whole, too.
    """
    report.finish()
    if report.source.rule is not None:
        arguments["rule"] = report.source.rule
    path = report.source.path
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            net = SleptsovNet(**arguments)
        except InvalidNet as error:
            found = [Diagnostic(path, None, None, text) for text in error.problems]
            raise ReadError(found) from None
    told = [w for w in caught if issubclass(w.category, ModelWarning)]
    if told and not quiet:
        found = [Diagnostic(path, None, None, str(w.message), "warning") for w in told]
        warn(ReadWarning(found))
    return net
