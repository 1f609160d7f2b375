"""Compiles a Java program of the lab, with Eclipse's compiler: a Java runtime alone has none."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import jars
from lab.processes import Processes

_COMPILER: Final = "org.eclipse.jdt.internal.compiler.batch.Main"


def compiled(
    source: Path, libraries: Sequence[Path], java: Path, directory: Path, processes: Processes
) -> str:
    """The class path of the compiled ``source`` and its ``libraries``; its classes go to ``directory``."""
    classes = directory / "classes"
    class_path = os.pathsep.join(map(str, (classes, *libraries)))
    compilers = os.pathsep.join(map(str, jars.files("spring")))
    options = ("--release", "17", "-proc:none", "-nowarn", "-cp", class_path, "-d", classes)
    command: list[str | Path] = [java, "-cp", compilers, _COMPILER, *options, source]
    processes.run("ecj", command, directory)
    return class_path
