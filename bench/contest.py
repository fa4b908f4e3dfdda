"""How many markings a second does `explore` find in nets of the Model Checking Contest, and are
they as many as published? Beside pm4py where it is installed, up to 21,000 markings.

The argument is a folder with the models, `INSTANCE/model.pnml` as the contest distributes them. The
table of docs/sleptsov_files.md:

    PYTHONPATH=.:formats python bench/contest.py FOLDER [INSTANCE ...]
"""

import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from figures import Setup, commit_of

import snpjax as snp
from snpjax.sleptsov import Execution, Petri


#: Markings and arcs of the state space, from the results of the contest (StateSpace).
PUBLISHED = {
    "ERK-PT-000001": (13, 30),
    "ResAllocation-PT-R003C003": (92, 257),
    "Angiogenesis-PT-01": (110, 288),
    "CircadianClock-PT-000001": (128, 624),
    "DatabaseWithMutex-PT-02": (153, 312),
    "TokenRing-PT-005": (166, 365),
    "CircularTrains-PT-012": (195, 496),
    "Philosophers-PT-000005": (243, 945),
    "DrinkVendingMachine-PT-02": (1_024, 7_680),
    "QuasiCertifProtocol-PT-02": (1_029, 3_084),
    "Railroad-PT-005": (1_838, 7_699),
    "SharedMemory-PT-000005": (1_863, 10_395),
    "BridgeAndVehicles-PT-V04P05N02": (2_874, 7_160),
    "FMS-PT-00002": (3_444, 16_311),
    "ResAllocation-PT-R010C002": (6_144, 20_480),
    "Dekker-PT-010": (6_144, 171_530),
    "Raft-PT-02": (7_381, 55_824),
    "Peterson-PT-2": (20_754, 62_262),
    "ERK-PT-000010": (47_047, 372_372),
    "TokenRing-PT-010": (58_905, 294_050),
    "SwimmingPool-PT-01": (89_621, 450_003),
    "Kanban-PT-00005": (2_546_432, 24_460_016),
    "FMS-PT-00005": (2_895_018, 23_527_185),
    "Peterson-PT-3": (3_407_946, 13_631_784),
}
REPEATS = 3
_MOST_OF_PM4PY = 21_000


def timed(call: Callable[[], tuple[int, int]], published: tuple[int, int]) -> float:
    """The seconds of a call whose answer is checked."""
    start = time.perf_counter()
    found = call()
    seconds = time.perf_counter() - start
    assert found == published, f"{found} instead of {published}"
    return seconds


def explored(path: Path) -> Callable[[], tuple[int, int]]:
    """Our search; the net is read beforehand."""
    net = Execution(snp.read_net(path), rule=Petri())

    def call() -> tuple[int, int]:
        graph = snp.explore(net, max_configurations=5_000_000)
        return graph.num_configurations, graph.num_choices

    return call


def pm4py_call(path: Path) -> Callable[[], tuple[int, int]] | None:
    """The reachability graph of pm4py, where that is installed."""
    with suppress(ImportError):
        import pm4py  # pyright: ignore[reportMissingImports]
        from pm4py.objects.petri_net.utils import (  # pyright: ignore[reportMissingImports]
            reachability_graph,
        )

        net, marking, _ = pm4py.read_pnml(f"{path}")
        unlimited = {"max_elab_time": 3600}

        def call() -> tuple[int, int]:
            made = reachability_graph.construct_reachability_graph(
                net, marking, parameters=unlimited
            )
            return len(made.states), len(made.transitions)

        return call
    return None


def main() -> None:
    folder, names = Path(sys.argv[1]), sys.argv[2:] or list(PUBLISHED)
    print(
        "| instance | markings | arcs | first call, s | warm, s | markings/s | pm4py, markings/s |"
    )
    print("|---|---|---|---|---|---|---|")
    for name in names:
        published, path = PUBLISHED[name], folder / name / "model.pnml"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of pm4py, and what readers remark
            call, other = explored(path), None
            if published[0] <= _MOST_OF_PM4PY:
                other = pm4py_call(path)
            first, *warm = [timed(call, published) for _ in range(REPEATS)]
            beside = "" if other is None else f"{published[0] / timed(other, published):,.0f}"
        seconds = min(warm)
        rates = f"{seconds:.3f} | {published[0] / seconds:,.0f} | {beside}"
        print(
            f"| {name} | {published[0]:,} | {published[1]:,} | {first:.2f} | {rates} |", flush=True
        )
    print(Setup(commit_of()))


if __name__ == "__main__":
    main()
