"""Coverage-guided fuzzing of the readers of model files: anything but a `ReadError` is a bug, and
so are more than 10 seconds or 1 GB for one file.

    pip install atheris
    PYTHONPATH=.:formats python tests/support/fuzz/readers.py FORMAT [-max_total_time=1800] [CORPUS]

FORMAT is one of `snpjax.io.SystemFormat`; the further arguments are those of libFuzzer. Without a
corpus the seeds are the small files of tests/support/fuzz_seeds.py. What breaks a reader is left in
crash-*, and becomes a test.
"""

import importlib
import sys
import tempfile
import warnings
from pathlib import Path
from typing import cast

import atheris  # pyright: ignore[reportMissingImports]


with atheris.instrument_imports(include=["snpjax.io", "snpjax.spiking", "lark", "yaml", "json"]):
    import snpjax as snp
    from snpjax.io import SystemFormat, decoded
    from snpjax.io.read import read_source

    for reader in ("cusnp", "esnp", "native", "plingua", "websnapse", "xmp"):
        importlib.import_module(f"snpjax.io.{reader}")  # which `read_source` does when needed

sys.path.insert(0, str(Path(__file__).parents[3]))
from tests.support.fuzz_seeds import SEEDS  # noqa: E402


LIMITS = ["-timeout=10", "-rss_limit_mb=1024", "-max_len=4096"]


def main() -> None:
    program, format, *options = sys.argv
    warnings.simplefilter("ignore")

    def read_one(data: bytes) -> None:
        try:
            read_source(decoded("fuzzed", data), cast(SystemFormat, format), "extended")
        except snp.ReadError:
            pass

    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(SEEDS[format]):
            Path(corpus, str(number)).write_text(seed)
        if all(option.startswith("-") for option in options):
            options = [*options, corpus]
        atheris.Setup([program, *LIMITS, *options], read_one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
