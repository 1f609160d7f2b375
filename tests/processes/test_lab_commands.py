"""``deadwatch demo`` and ``deadwatch lab`` on a machine that lacks what Kafka runs on."""

from pathlib import Path

import pytest

from tests.command_line import deadwatch

LACKING = {
    "Java": ("JAVA_HOME", "deadwatch: Java 17 or 21 is needed and none was found: "),
    "jars": ("DEADWATCH_CACHE", "deadwatch: the jars are not in "),
}


@pytest.mark.parametrize("command", ["demo --once", "lab"])
@pytest.mark.parametrize(("variable", "said"), LACKING.values(), ids=LACKING)
def test_what_is_missing_is_one_line(command: str, variable: str, said: str, tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    variables = {"TMPDIR": str(temporary), variable: str(tmp_path)}
    failed = deadwatch(*command.split(), within_s=100, variables=variables)
    assert (failed.returncode, failed.stderr.count("\n")) == (1, 1), failed.stderr
    assert failed.stderr.startswith(said)
    assert not list(temporary.iterdir())
