"""What the command line does where its output takes no more."""

import os
import sys

import pytest

from tests.command_line import ended
from tests.paths import ROOT

FULL = "deadwatch: cannot write the output: No space left on device\n"
CASES = {
    "a full disk, help": ("--help", ">/dev/full", 1, FULL),
    "a full disk, version": ("--version", ">/dev/full", 1, FULL),
    "no output": ("--version", ">&-", 0, ""),
    "nothing at all": ("--bogus", "<&- >&- 2>&-", 2, ""),
}
"""An argument, what the shell does with the output, and what becomes of it; /dev/full takes nothing."""


@pytest.mark.parametrize(("argument", "output", "code", "said"), CASES.values(), ids=CASES)
def test_an_output_that_takes_no_more_is_one_line_and_none_is_needed(
    argument: str, output: str, code: int, said: str
) -> None:
    command = ["/bin/sh", "-c", f'exec "$@" {output}', "sh", sys.executable, "-m", "cli", argument]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = ended(*command, cwd=ROOT, env=environment)
    assert (done.returncode, done.stderr) == (code, said)
