"""Files that are written atomically."""

import pytest

from snpjax._text.atomic import atomic_write


@pytest.mark.parametrize("error", [FileNotFoundError, IsADirectoryError])
def test_errors_name_the_file_and_no_temporary_one(tmp_path, error):
    target = tmp_path if error is IsADirectoryError else tmp_path / "none" / "x.json"
    with pytest.raises(error) as raised:
        atomic_write(target, "")
    assert raised.value.filename == str(target) and f".{target.name}" not in str(raised.value)
    assert not list(tmp_path.iterdir())
    assert not list(tmp_path.parent.glob(f".{tmp_path.name}*"))
