"""The interactive page: `snpjax view`. It needs no other library."""

from snpjax_formats.arguments import explain_arguments

from .recorded import export as export, recorded_page as recorded_page
from .server import PageServer as PageServer
from .session import Session as Session, new_session as new_session
from .texts import OpenedModel as OpenedModel, open_model as open_model


explain_arguments(__name__)
