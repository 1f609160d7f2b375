"""Our query as another checkout has it: a process, a JVM and packages of its own, warm between its runs."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.traffic import Totals

PROGRAM: Final = """
import json, sys, tempfile
from pathlib import Path
from benchmarks.backlog import Ours

servers, topic, truth, warm_up_runs = sys.argv[1:]
with tempfile.TemporaryDirectory(prefix="deadwatch-bench-") as name, Ours(servers, topic, Path(name)) as ours:
    for _ in range(int(warm_up_runs)):
        ours.run(json.loads(truth))
    print("warm", flush=True)
    for _ in sys.stdin:
        print("rate", ours.run(json.loads(truth)).rate, flush=True)
"""
"""The directory that it is run in comes first among Python's paths: that of the checkout."""


class BeforeError(Exception):
    """The other checkout did not count; what it said stands above."""


Run = Callable[[str, str, Totals, Path], float]


@contextmanager
def before(checkout: Path, servers: str, topic: str, truth: Totals, warm_up_runs: int) -> Iterator[Run]:
    """A run counts the topic on a new store, events per second; it raises ``BeforeError`` if it cannot."""
    own = checkout / ".venv" / "bin" / "python"
    process = subprocess.Popen(
        [
            own if own.exists() else sys.executable,
            *("-c", PROGRAM, servers, topic, json.dumps(truth), str(warm_up_runs)),
        ],
        cwd=checkout,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def answer(word: str) -> str:
        """The rest of the next line that begins with it; Spark may have lines of its own."""
        for line in process.stdout or ():
            if line.startswith(word):
                return line.removeprefix(word)
        raise BeforeError(f"the checkout {checkout} ended: exit code {process.wait()}")

    def run(_servers: str, _topic: str, _truth: Totals, _file: Path) -> float:
        print("run", file=process.stdin, flush=True)
        return float(answer("rate"))

    answer("warm")
    try:
        yield run
    finally:
        process.communicate()
