import pytest

from snpjax.explore import device_search, extent, space
from snpjax.explore.searched import SearchedModel


@pytest.fixture
def small_steps(monkeypatch):
    """Searches begin with few bytes, as if the allowed memory were large beside them."""
    monkeypatch.setattr(extent, "FIRST_CAPACITY", 8)
    monkeypatch.setattr(space, "FIRST_CAPACITY", 8)
    monkeypatch.setattr(device_search, "FEWEST_WORDS", 0)
    monkeypatch.setattr(SearchedModel, "working_bytes", lambda model, chunks: 0)
