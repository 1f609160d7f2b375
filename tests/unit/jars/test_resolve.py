from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

import jars
from jars import cache
from jars.cache import Conf, Manifest
from jars.resolve import complaint, look

MAKING = import_module("jars.resolve")
"""The module: the package has a function of this name."""
RESOLVING = """\
:: resolving dependencies :: deadwatch#jars;working@vm
\tconfs: [spark, kafka, apps, agents]
\tfound org.apache.kafka#kafka-clients;3.9.2 in public
\tfound org.apache.commons#commons-pool2;2.13.1 in public
"""
DOWNLOADING = f"""{RESOLVING}\
downloading kafka-clients-3.9.2.jar ...
....................... (5331kB)
.. (0kB)
\t[SUCCESSFUL ] org.apache.kafka#kafka-clients;3.9.2!kafka-clients.jar (176ms)
"""
FAILED = """\
\t\tmodule not found: org.apache.kafka#kafka_2.13;9.9.9
\t\t::::::::::::::::::::::::::::::::::::::::::::::
:: USE VERBOSE OR DEBUG MESSAGE LEVEL FOR MORE DETAILS
"""


@pytest.mark.parametrize(
    ("log", "line"),
    [
        (RESOLVING, "jars: resolving, 2 found"),
        (DOWNLOADING, "jars: 1 of 2, 5 MB"),
        (DOWNLOADING[:-20], "jars: 1 of 2, 5 MB"),
        (DOWNLOADING + ".......", "jars: 1 of 2, 5 MB"),
    ],
    ids=["what is found", "downloads with their size", "cut in a line", "cut in a download"],
)
def test_a_log_is_read_as_far_as_it_goes(log: str, line: str) -> None:
    assert look(log) == line


NO_NETWORK = "\tServer access error at url scheme://host/a.pom (java.net.ConnectException: refused)\n"


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (FAILED, "module not found: org.apache.kafka#kafka_2.13;9.9.9"),
        (FAILED + NO_NETWORK, "java.net.ConnectException: refused"),
        ("Error: Unable to access jarfile\n", "Error: Unable to access jarfile"),
        ("", "Ivy said nothing"),
    ],
    ids=["what is missing", "the network", "its last line", "nothing"],
)
def test_a_failure_has_a_reason(log: str, reason: str) -> None:
    assert complaint(log) == reason


class Ivy:
    """Retrieves a jar as Ivy does: without a look at what lies in its cache, which it fills first."""

    def __init__(self, kept: Path) -> None:
        self.kept, self.sent, self.runs = kept, b"whole", 0

    def run(self, _home: Path, target: Path, *_: object, lock: int, confs: Sequence[Conf]) -> bool:
        del lock
        self.runs += 1
        for conf in confs:
            wanted = target / conf / "a.jar"
            if not self.kept.exists():
                self.kept.parent.mkdir(parents=True)
                self.kept.write_bytes(self.sent)
            wanted.parent.mkdir(parents=True)
            wanted.write_bytes(self.kept.read_bytes())
        return True


@pytest.fixture
def ivy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ivy:
    """With a jar in its cache; the manifest names it with the contents ``whole``."""
    monkeypatch.setenv("DEADWATCH_CACHE", str(tmp_path / "cache"))
    place = tmp_path / "locked" / "kafka" / "a.jar"
    place.parent.mkdir(parents=True)
    place.write_bytes(b"whole")
    locked = Manifest.of(tmp_path / "locked")
    monkeypatch.setattr(Manifest, "read", lambda: locked)
    made = Ivy(cache.cache_root() / "ivy" / "cache" / "a.jar")
    made.kept.parent.mkdir(parents=True)
    monkeypatch.setattr(MAKING, "run_ivy", made.run)
    return made


def test_what_is_damaged_in_ivys_cache_is_downloaded_anew(ivy: Ivy) -> None:
    ivy.kept.write_bytes(b"while")
    home = jars.resolve(confs=("kafka",))
    assert (home / "kafka" / "a.jar").read_bytes() == b"whole"
    assert ivy.runs == 2


def test_what_comes_damaged_a_second_time_is_refused(ivy: Ivy) -> None:
    ivy.kept.write_bytes(b"torn")
    ivy.sent = b"other"
    with pytest.raises(jars.JarsError, match=r"kafka/a\.jar; .*changed on their way here"):
        jars.resolve(confs=("kafka",))
    assert ivy.runs == 2
    assert not cache.home().exists()


def test_jars_of_another_ivy_xml_are_not_downloaded_twice(ivy: Ivy, monkeypatch: pytest.MonkeyPatch) -> None:
    ivy.kept.write_bytes(b"whole")
    renamed = Manifest((replace(Manifest.read().jars[0], path="kafka/b.jar"),))
    monkeypatch.setattr(Manifest, "read", lambda: renamed)
    with pytest.raises(jars.JarsError, match=r"kafka/b\.jar, kafka/a\.jar; if jars/ivy\.xml was changed"):
        jars.resolve(confs=("kafka",))
    assert ivy.runs == 1
    assert ivy.kept.exists()
