"""The demo as a new user runs it: every failure kind of a real Kafka, exactly."""

import re

from cli.demo.command import ALL_WITHIN_S, READY_WITHIN_S
from tests.command_line import deadwatch

WITHIN_S = READY_WITHIN_S + ALL_WITHIN_S + 120
"""Longer than the demo takes until it says what was missing; its lab starts and ends in the rest."""
ROWS = {
    "abandoned tasks, now": r"1, then 0",
    "abandoned tasks, in all": r"1",
    "dead letters of a share group": r"10",
    "dead letters of Connect": r"20",
    "dead letters of every dialect": r"30",
    "task timeouts": r"[1-9]\d*",
    "expired batches": r"[1-9]\d*",
    "expired records": r"[1-9]\d*",
    "input that was not understood": r"0",
    "redrives completed": r"3",
    "dead letters put back": r"20",
    "of these, dead again": r"10",
    "of these, parked": r"10",
}


def test_the_demo_sees_every_failure_exactly_and_ends() -> None:
    done = deadwatch("demo", "--once", within_s=WITHIN_S)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    for what, expected in ROWS.items():
        row = rf"^{what} +(?P<expected>{expected}) +(?P=expected)( +\d+\.\d\d s)?$"
        assert re.search(row, done.stdout, re.MULTILINE), f"{what}\n{done.stdout}"
    measured = r"event to /metrics: median \d+\.\d\d s, p95 \d+\.\d\d s over \d+ events"
    assert re.search(measured, done.stdout), done.stdout
