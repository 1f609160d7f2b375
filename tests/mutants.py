"""How many mutants of the pure decisions their tests kill: ``make mutants [ARGS="MODULE …"]``.

cosmic-ray's operators make the mutants. Of each module a sample with a fixed seed is tried, one mutant at a
time, in a copy of the tree, by the tests of the module's package: one that fails or does not end kills it.
What was changed in a mutant that survives is printed. The exit code is 1 where more than a tenth survives.

``DEADWATCH_MUTANTS`` is the size of each sample, 0 takes all; ``DEADWATCH_MUTANTS_SEED`` chooses another one.
It is run by an interpreter that has ``mutants.lock``; the tests have theirs.
"""

import difflib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from parso.tree import NodeOrLeaf

AT_LEAST: Final = 0.9
SIZE: Final = int(os.environ.get("DEADWATCH_MUTANTS", "10"))
SEED: Final = os.environ.get("DEADWATCH_MUTANTS_SEED", "1")
WITHIN_S: Final = 120
ROOT: Final = Path(__file__).parents[1]
PYTHON: Final = ROOT / ".venv" / "bin" / "python"
PYTEST: Final = ("-m", "pytest", "-qx", "-p", "no:schemathesis", "-p", "no:cacheprovider", "--noconftest")
"""The tests of pure decisions need nothing that is prepared for others."""
TESTS: Final = {
    "orders/*.py": "orders",
    "deadletter/**/*.py": "deadletter",
    "contract/backoff.py": "contract/test_backoff.py",
    "contract/deadline.py": "contract/test_deadline.py",
    "contract/fingerprint.py": "contract/test_fingerprint.py",
}
"""Which modules below ``deadwatch`` are tried, by which tests below ``tests/unit/deadwatch``."""
LEFT_OUT: Final = "dialects/__main__.py"
"""It writes documentation: there is nothing to decide."""
TRIVIAL: Final = "core/ReplaceBinaryOperator_BitOr_"
"""Not tried: nearly every ``|`` stands in an annotation, where another operator fails when it is imported."""

EQUIVALENT: Final = (
    "LINGER_MS ^ REQUEST_TIMEOUT_MS",  # they have no bit in common
    "LONG_BYTES) or -1)",  # as the larger of it and 0
    "wrapper is not error_class",  # where they are equal they are one object
    "close[ -1]",  # the only one
    "_readings[- 0]",  # the only one, too
    "_readings[not 1]",
)
"""What some mutants change, none of which behaves in another way than the code: they are not tried."""

Mutant = tuple[str, int]
"""An operator's name, and at which of the places where it can be applied it is."""


class Row(NamedTuple):
    """How many mutants of a module were killed, of those that were tried."""

    module: str
    killed: int
    tried: int

    @property
    def holds(self) -> bool:
        return self.killed >= AT_LEAST * self.tried

    def __str__(self) -> str:
        return f"{self.module:<44} {self.killed:>4} of {self.tried:>4}{'' if self.holds else '  TOO FEW'}"


def mutants(source: str) -> list[Mutant]:
    """All that the operators can make of a module."""
    nodes = list(ast_nodes(get_ast(source)))
    found = []
    for name in operator_names():
        operator = get_operator(name)
        if not operator.arguments() and not name.startswith(TRIVIAL):
            places = [node for node in nodes for _ in operator().mutation_positions(node)]
            found += [(name, at) for at, node in enumerate(places) if not in_decorator(node)]
    return found


def in_decorator(node: NodeOrLeaf) -> bool:
    """Whether a node stands within a decorator: that a dataclass is frozen or has slots decides nothing."""
    return node.type != "decorator" and node.search_ancestor("decorator") is not None


def is_equivalent(source: str, mutant: Mutant) -> bool:
    """Whether the mutant is known to behave as the code does."""
    name, place = mutant
    mutated = mutate_code(source, get_operator(name)(), place)
    return any(text in mutated for text in EQUIVALENT)


def passes(tree: Path, tests: str, **variables: str) -> bool:
    """Whether these tests of a copy of the tree pass."""
    # CI: Hypothesis tries the same examples every time, and sets no deadline
    environment = {**os.environ, "PYTHONPATH": str(tree), "CI": "1", **variables}
    command: list[str | Path] = [PYTHON, *PYTEST, f"tests/unit/deadwatch/{tests}"]
    try:
        return not subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, timeout=WITHIN_S, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        return False


def survivors(tree: Path, file: Path, tests: str, sample: Sequence[Mutant]) -> Iterator[str]:
    """The lines that were changed, of each mutant with which the tests pass."""
    source = file.read_text()
    for name, place in sample:
        mutated = mutate_code(source, get_operator(name)(), place)
        file.write_text(mutated)
        if passes(tree, tests, PYTHONDONTWRITEBYTECODE="1"):
            lines = difflib.unified_diff(source.splitlines(), mutated.splitlines(), n=0, lineterm="")
            yield "\n".join(f"  {line}" for line in list(lines)[2:])
    file.write_text(source)


def main(chosen: Sequence[str]) -> int:
    """Print a row for each module, or for those that were chosen; the exit code."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="deadwatch-mutants-") as name:
        ignored = shutil.ignore_patterns(".*", "__pycache__")
        tree = Path(shutil.copytree(ROOT, Path(name) / "tree", ignore=ignored))
        for pattern, tests in TESTS.items():
            if not passes(tree, tests):
                raise SystemExit(f"without a mutant {tests} fails")
            for file in sorted((tree / "deadwatch").glob(pattern)):
                module = str(file.relative_to(tree))
                found = mutants(file.read_text())
                sample = Random(f"{SEED} {module}").sample(found, min(SIZE or len(found), len(found)))
                sample = [mutant for mutant in sample if not is_equivalent(file.read_text(), mutant)]
                if not sample or module.endswith(LEFT_OUT) or (chosen and module not in chosen):
                    continue
                left = list(survivors(tree, file, tests, sample))
                rows.append(Row(module, len(sample) - len(left), len(sample)))
                print(rows[-1], *left, sep="\n", flush=True)
    print(Row("all", sum(row.killed for row in rows), sum(row.tried for row in rows)))
    return int(not all(row.holds for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
