"""Print the oldest versions that `pyproject.toml` allows, as constraints of pip:

python .ci/oldest.py > oldest.txt && pip install '.[test]' -c oldest.txt
"""

import re
import tomllib
from pathlib import Path


project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
asked = [*project["dependencies"], *sum(project["optional-dependencies"].values(), [])]
for one in asked:
    found = re.fullmatch(r"([\w.-]+)>=([\d.]+)", one)
    if found:
        print(f"{found[1]}=={found[2]}")
