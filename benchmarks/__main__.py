"""``python -m benchmarks [NAME …]``: a table of ratios, and the same in ``benchmarks/results.json``.

Exit code 1 when a ratio falls short of its goal, 2 for a name that is none.
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from itertools import chain
from pathlib import Path

from benchmarks import (
    api,
    clients,
    console,
    flood,
    growth,
    idle,
    latency,
    letters,
    publish,
    redrive,
    scale,
    scan,
    streaming,
)
from benchmarks.row import Row

RESULTS = Path(__file__).with_name("results.json")
BENCHMARKS: Mapping[str, Callable[[], Iterable[Row]]] = {
    "api": api.rows,
    "clients": clients.rows,
    "console": console.rows,
    "letters": letters.rows,
    "latency": latency.rows,
    "growth": growth.rows,
    "flood": flood.rows,
    "idle": idle.rows,
    "scale": scale.rows,
    "collector": lambda: chain(scan.rows(), publish.rows()),
    "redrive": redrive.rows,
    "streaming": streaming.rows,
}


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all of them."""
    unknown = sorted(set(names) - set(BENCHMARKS))
    if unknown:
        sys.stderr.write(f"no benchmark is called {unknown[0]!r}; there are {', '.join(BENCHMARKS)}\n")
        return 2
    print(f"{'work':<86} {'ours /s':>14} {'peer /s':>14} {'ratio':>8} {'goal':>6}", flush=True)
    rows = []
    for name in names or BENCHMARKS:
        for row in BENCHMARKS[name]():
            rows.append(row)
            print(row.line(), flush=True)
    RESULTS.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
