"""Mutants of small files: anything but a refusal that a reader promises is a bug, and so are more
than 5 seconds of CPU time for one file.

    PYTHONPATH=.:formats python tests/support/fuzz/mutants.py COUNT [READER...]

READER is a name of tests/support/file_readers.py, by default each of them.
"""

import sys
import tempfile
import time
from pathlib import Path


sys.path.insert(0, str(Path(__file__).parents[3]))
from tests.support.file_readers import file_readers  # noqa: E402
from tests.support.mutants import read_mutants  # noqa: E402


def main() -> None:
    _, count, *names = sys.argv
    with tempfile.TemporaryDirectory() as folder:
        readers = file_readers(Path(folder))
        for name in names or readers:
            start = time.process_time()
            num_read = read_mutants(readers[name], int(count), f"script {name} {count}")
            seconds = time.process_time() - start
            print(f"{name}: {count} mutants, {num_read} read, {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
