"""Gzip files and standard input: read once, whatever is wrong with their end."""

import errno
import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from collector.sources.logs.readers import GZIP_BROKEN, GZIP_TRUNCATED, PIECE_BYTES, GzipLog, PipedLog
from collector.sources.source import SourceDownError, State
from tests.unit.collector.sources.logs.scanning import (
    abandoned,
    drain,
    flat,
    glob_of,
    log_source,
    refusing,
    tasks_and_reasons,
)

QUIET = (b"x" * 99 + b"\n") * 14_000
"""More than one block."""


def line(task: int) -> bytes:
    return abandoned(task).encode()


def read(path: Path, saved: State | None = None) -> list[str]:
    """Tasks and reasons up to the end, and again nothing after it."""
    with closing(log_source(path, saved)) as source:
        events, _ = drain(source)
        assert source.poll() is None
        return tasks_and_reasons(events)


def test_a_gzip_file_is_read_once_to_its_last_line(tmp_path: Path) -> None:
    path = tmp_path / "a.log.gz"
    path.write_bytes(gzip.compress(line(0) + QUIET) + gzip.compress(line(1).rstrip()))
    assert read(path) == ["0", "1"]


def test_a_restart_goes_on_within_a_gzip_file(tmp_path: Path) -> None:
    path = tmp_path / "a.log.gz"
    path.write_bytes(gzip.compress(line(0) + QUIET + line(1)))
    with closing(log_source(path)) as source:
        first = source.poll()
    assert first is not None
    assert len(first.events) == 1
    with closing(log_source(path, first.state)) as source:
        _, last = drain(source)
    assert read(path, first.state) == ["1"]
    assert read(path, last) == []


@pytest.mark.parametrize(("of", "call"), [(gzip.GzipFile, "read1"), (os, "fstat")])
def test_a_gzip_file_whose_handle_is_stale_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of: object, call: str
) -> None:
    """As after NFS has come back with another export: it is not broken."""
    path = tmp_path / "a.log.gz"
    path.write_bytes(gzip.compress(line(0) + QUIET + line(1)))
    with closing(log_source(path)) as source:
        first = source.poll()
        with monkeypatch.context() as patched:
            patched.setattr(of, call, refusing(errno.ESTALE))
            with pytest.raises(SourceDownError, match="Stale file handle"):
                source.poll()
        assert first is not None
        assert tasks_and_reasons([*first.events, *drain(source)[0]]) == ["0", "1"]


def test_what_was_read_before_a_restart_is_not_held(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(bytes(10_000_000) + b"end"))
    with closing(GzipLog(path)) as log:
        log.open(None, 0, "", 0)
        with flat(most_mb=5):
            assert log.read(10_000_000, 100) == b"end"


def test_what_a_truncated_gzip_file_holds_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.log.gz"
    whole = gzip.compress(b"".join(line(task) for task in range(1_000)) + os.urandom(1_000))
    path.write_bytes(whole[:-500])
    os.utime(path, (0, 0))
    assert read(path) == [*(str(task) for task in range(1_000)), GZIP_TRUNCATED]


@pytest.mark.parametrize("written", [0, 60])
def test_a_gzip_file_that_is_still_being_written_is_read_to_its_end(tmp_path: Path, written: int) -> None:
    path, whole = tmp_path / "a.log.gz", gzip.compress(line(0) + QUIET + line(1))
    path.write_bytes(whole[:written])
    with closing(log_source(path)) as source:
        events, _ = drain(source)
        path.write_bytes(whole)
        assert tasks_and_reasons([*events, *drain(source)[0]]) == ["0", "1"]


@pytest.mark.parametrize("data", [b"no gzip at all\n", gzip.compress(line(0), mtime=0)[:-8] + b"wrong crc"])
def test_what_is_no_gzip_is_said_once(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.gz").write_bytes(data)
    assert read(tmp_path / "a.gz")[-1:] == [GZIP_BROKEN]


def test_a_gzip_bomb_is_read_in_flat_memory(tmp_path: Path) -> None:
    path, packer = tmp_path / "a.gz", zlib.compressobj(wbits=31)
    with path.open("wb") as file:
        for _ in range(20):
            file.write(packer.compress(b"y" * 1_000_000))
        file.write(packer.compress(b"\n" + line(7)) + packer.flush())
    assert path.stat().st_size < 100_000
    with flat(most_mb=10):
        assert read(path) == ["line_too_long", "7"]


def test_an_absent_gzip_file_is_waited_for(tmp_path: Path) -> None:
    with pytest.raises(SourceDownError, match="does not exist yet"):
        log_source(tmp_path / "a.gz").poll()


def test_a_log_that_is_compressed_after_it_was_read_is_not_read_again(tmp_path: Path) -> None:
    found: list[str] = []
    (tmp_path / "a.log").write_bytes(line(0))
    (tmp_path / "a.log.9.gz").write_bytes(gzip.compress(line(1)))
    source = glob_of(tmp_path / "a.log*", found)
    source.poll()
    (tmp_path / "a.log.1.gz").write_bytes(gzip.compress(line(0)))
    (tmp_path / "a.log2").write_bytes(line(2))
    source.poll()
    assert found == ["a.log", "a.log.9.gz", "a.log2"]


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)


def test_what_is_piped_in_comes_as_it_is_written(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    piped = PipedLog(reading)
    inode, another = piped.open(None, 0, "", 0)
    assert not another
    assert piped.read(0, 100) == b""
    os.write(writing, b"abc")
    assert piped.read(0, 100) == b"abc"
    assert piped.read(2, 100) == b"c"
    assert piped.ends(inode, 2, b"c") == (False, None)
    os.write(writing, b"d" * PIECE_BYTES)
    os.close(writing)
    assert piped.read(2, 3) == b"cdd"
    assert piped.read(3, 2 * PIECE_BYTES) == b"d" * PIECE_BYTES
    assert piped.ends(inode, 3, b"d" * PIECE_BYTES) == (True, None)


def test_another_process_reads_another_pipe(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    os.close(writing)
    piped = PipedLog(reading)
    assert piped.open(12, 300, "", 0)[1]
    assert not piped.open(12, 0, "", 0)[1]
