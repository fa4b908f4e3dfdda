"""How long readers take for large hostile texts, in plain passes over 10 MB: 6 are 2 seconds.

    PYTHONPATH=.:formats python tests/support/fuzz/hostile.py MEGABYTES [READER...]

READER is a name of tests/support/file_readers.py, by default each of them.
"""

import sys
import tempfile
from pathlib import Path


sys.path.insert(0, str(Path(__file__).parents[3]))
from tests.support.file_readers import file_readers  # noqa: E402
from tests.support.hostile import hostile_texts, passes_of  # noqa: E402


def main() -> None:
    _, megabytes, *names = sys.argv
    with tempfile.TemporaryDirectory() as folder:
        readers = file_readers(Path(folder))
        for name in names or readers:
            texts = hostile_texts(readers[name], int(float(megabytes) * 10**6))
            passes = [(passes_of(readers[name], data), what) for what, data in texts]
            found = sorted([(x, what) for x, what in passes if x is not None], reverse=True)
            worst = "; ".join(f"{passes:.1f} {what!r}" for passes, what in found[:4])
            print(f"{name}: {len(passes)} texts, {len(found)} refused: {worst}", flush=True)


if __name__ == "__main__":
    main()
