"""What the command line does where its output takes no more."""

import os
import sys

import pytest

from tests.command_line import ended
from tests.paths import ROOT

FULL = "cannot write the output: No space left on device\n"
CASES = {
    "a full disk, help": ("cli --help", ">/dev/full", 1, f"deadwatch: {FULL}"),
    "a full disk, version": ("cli --version", ">/dev/full", 1, f"deadwatch: {FULL}"),
    "a full disk, rules": ("dashboards rules", ">/dev/full", 1, f"dashboards: {FULL}"),
    "a full disk, store": ("streaming.store status", ">/dev/full", 1, f"store: {FULL}"),
    "a full disk, jars": ("jars --verify", ">/dev/full", 1, "jars: the output: No space left on device\n"),
    "no output": ("cli --version", ">&-", 0, ""),
    "no output, store": ("streaming.store status", ">&-", 0, ""),
    "no output, jars": ("jars --verify", ">&-", 0, ""),
    "nothing at all": ("cli --bogus", "<&- >&- 2>&-", 2, ""),
}
"""A module with its argument, what the shell does with the output, and what becomes of it; /dev/full takes
nothing.
"""


@pytest.mark.parametrize(("command", "output", "code", "said"), CASES.values(), ids=CASES)
def test_an_output_that_takes_no_more_is_one_line_and_none_is_needed(
    command: str, output: str, code: int, said: str
) -> None:
    shell = ["/bin/sh", "-c", f'exec "$@" {output}', "sh", sys.executable, "-m", *command.split()]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = ended(*shell, cwd=ROOT, env=environment)
    assert (done.returncode, done.stderr) == (code, said)
