"""``python -m benchmarks [NAME …]``: a table of ratios, and the same in ``benchmarks/results.json``.

Exit code 1 when a ratio falls short of its goal, 2 for a name that is none.
"""

import json
import sys
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Final

RESULTS = Path(__file__).with_name("results.json")
BENCHMARKS: Final = (
    *("api", "clients", "console", "letters", "latency", "growth", "flood", "idle", "scale"),
    *("collector", "redrive", "streaming"),
)
"""Modules with a function ``rows``."""


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all of them."""
    unknown = sorted(set(names) - set(BENCHMARKS))
    if unknown:
        sys.stderr.write(f"no benchmark is called {unknown[0]!r}; there are {', '.join(BENCHMARKS)}\n")
        return 2
    print(f"{'work':<86} {'ours /s':>14} {'peer /s':>14} {'ratio':>8} {'goal':>6}", flush=True)
    rows = []
    for name in names or BENCHMARKS:
        for row in import_module(f"benchmarks.{name}").rows():
            rows.append(row)
            print(row.line(), flush=True)
    RESULTS.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
