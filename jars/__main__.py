"""``python -m jars [--verify | --lock]``: make the jars, compare each with its SHA-256, or lock them anew."""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Final

from jars import cache
from jars.cache import Conf, JarsError, Manifest
from jars.java import JavaError, find_java
from jars.resolve import discard, lock_versions, resolve

_A_LINE_EVERY_S: Final = 5.0


class Printer:
    """Progress for people: one line rewritten on a terminal, else a line every few seconds."""

    def __init__(self) -> None:
        self._terminal = sys.stdout.isatty()
        self._shown, self._shown_at_s = "", -_A_LINE_EVERY_S

    def show(self, line: str) -> None:
        """Show ``line``, unless it is shown already or the last one was printed less than 5 s ago."""
        now_s = time.monotonic()
        if line == self._shown or (not self._terminal and now_s - self._shown_at_s < _A_LINE_EVERY_S):
            return
        self._shown, self._shown_at_s = line, now_s
        print(f"\r\033[K{line}" if self._terminal else line, end="" if self._terminal else "\n", flush=True)

    def close(self) -> None:
        """End the line that was rewritten, so that what follows stands below it."""
        if self._terminal and self._shown:
            print()


def _verify() -> int:
    manifest = Manifest.read().of_confs(cache.present() or cache.CONFS)
    damaged = manifest.damaged(cache.home())
    if damaged:
        discard()
        print(f"jars: damaged or missing: {', '.join(damaged)}; run `make setup`", file=sys.stderr)
        return 1
    print(f"jars: {len(manifest.jars)} verified in {cache.home()}")
    return 0


def _lock() -> int:
    with closing(Printer()) as printer:
        manifest = lock_versions(printer.show)
    print(f"jars: {len(manifest.jars)} written to {cache.MANIFEST.name}; run `make setup`")
    return 0


def _make(confs: Sequence[Conf]) -> int:
    find_java()
    with closing(Printer()) as printer:
        home = resolve(printer.show, confs)
    print(f"jars: ready in {home}")
    return 0


def main() -> int:
    """Run; one line on standard error and exit status 1 where it cannot be done."""
    parser = argparse.ArgumentParser(prog="python -m jars", description=__doc__)
    parser.add_argument("--verify", action="store_true", help="compare every jar with its SHA-256")
    parser.add_argument(
        "--lock", action="store_true", help="write manifest.txt anew, after a change of ivy.xml"
    )
    parser.add_argument(
        "--conf", action="append", choices=cache.CONFS, help="only these jars; the service needs spark alone"
    )
    arguments = parser.parse_args()
    try:
        if arguments.lock:
            code = _lock()
        else:
            code = _verify() if arguments.verify else _make(arguments.conf or cache.CONFS)
        print(end="", flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left is written once more at the end
        print(f"jars: {error.filename or 'the output'}: {error.strerror}", file=sys.stderr)
        return 1
    except (JarsError, JavaError) as error:
        print(f"jars: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("jars: interrupted; the next run goes on from here", file=sys.stderr)
        return 130
    return code


if __name__ == "__main__":
    sys.exit(main())
