"""Mutants of small files, and how long the slowest takes: anything but a `ReadError` is a bug, and
so are more than 2 seconds for one file.

    PYTHONPATH=.:formats python tests/support/fuzz/mutants.py COUNT FORMAT...

FORMAT is one of `snpjax.io.NetFormat`; the mutations are those of tests/io/test_fuzz.py.
"""

import random
import sys
import time
import warnings
from pathlib import Path
from typing import cast


sys.path.insert(0, str(Path(__file__).parents[3]))
import snpjax as snp  # noqa: E402
from snpjax.io import (
    NetFormat,  # noqa: E402
    decoded,  # noqa: E402
    formats_of,  # noqa: E402
)
from snpjax.io.read import read_net_source  # noqa: E402
from tests.io.test_fuzz import mutated  # noqa: E402
from tests.support.sleptsov_seeds import SEEDS  # noqa: E402


MAX_SECONDS = 2.0


def main() -> None:
    _, count, *formats = sys.argv
    warnings.simplefilter("ignore")
    for format in formats:
        choose = random.Random(f"mutants of {format}")
        num_read, slowest = 0, 0.0
        known = formats_of("net")[format].options
        for number in range(int(count)):
            data = mutated(choose.choice(SEEDS[format]), choose)
            drops = number % 4 == 0 and "drop_time" in known
            start = time.perf_counter()
            try:
                source = decoded("mutated", data, may_be_empty=True)
                read_net_source(source, cast(NetFormat, format), drop_time=drops)
                num_read += 1
            except snp.ReadError:
                pass
            seconds = time.perf_counter() - start
            slowest = max(slowest, seconds)
            if seconds > MAX_SECONDS:
                print(f"{format}: {seconds:.1f} s for mutant {number}: {data!r}")
        print(f"{format}: {count} mutants, {num_read} read, the slowest took {slowest:.3f} s")


if __name__ == "__main__":
    main()
