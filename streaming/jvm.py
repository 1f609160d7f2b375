"""Spark's JVM: with which options it starts, and why it does not.

Why it does not is told by its standard error, of which PySpark knows nothing.
"""

import hashlib
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import pyspark
from pyspark import SparkConf
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway

import jars

LOGGING = Path(__file__).with_name("log4j2.properties")
HEAP = ("-XX:+UseSerialGC", "-Xms96m", "-XX:MinHeapFreeRatio=40", "-XX:MaxHeapFreeRatio=60")
"""The heap grows with the work and shrinks after it; a JVM begins with a 64th of the machine otherwise.

With half of this room each batch of 100 000 dead letters was stopped for 0.3 s, while all that lives was
collected; at rest this costs some 20 MB.
"""
WHERE_MADE = ("-XX:+UnlockDiagnosticVMOptions", "-XX:ArchiveRelocationMode=0")
"""Elsewhere than it was made for, a JVM rewrites the pointers of prepared classes: 70 MB that are its own."""
REFUSED = re.compile(
    r"^.*(?:"
    r"Improperly specified VM option|Unrecognized (?:VM )?option|VM option '.+' is \w+ and must be enabled"
    r"|(?:Missing|Unexpected) \+/- setting|is outside the allowed range|must be \w+ than or equal to"
    r"|Invalid \w+ (?:heap|stack) size|Initial heap size set to a larger value|Multiple garbage collectors"
    r"|Too small (?:initial|maximum) heap|stack size specified is too small|Invalid -Xlog option"
    r"|Could not find (?:agent library|or load main class)|is no longer a supported option"
    r"|Error opening zip file or JAR manifest missing|Not allowed to specify"  # an agent; a setting's place
    r"|NumberFormatException|ClassNotFoundException|must be a positive number|Master must "
    r").*$",
    re.MULTILINE,
)
"""A line about a setting, which is the same the next time. Nothing of it is said where memory is short."""


def options() -> tuple[str, ...]:
    """How the driver's JVM is started; its temporary files, Spark's too, are where Python has its own."""
    file = class_archive()
    classes = (f"-XX:SharedArchiveFile={file}", *WHERE_MADE) if file.is_file() else ()
    temporary = f'"-Djava.io.tmpdir={tempfile.gettempdir()}"'
    return (f"-Dlog4j2.configurationFile={LOGGING.as_uri()}", temporary, *HEAP, *classes)


def class_archive() -> Path:
    """The file of class data sharing (JEP 350) for the Java that a start would take now.

    It keeps what a JVM works out of Spark's classes at its start: the next start takes about half the time.
    It belongs to one Java and to this installation of PySpark, and is removed with it; a JVM that it does not
    fit, or that finds none, starts without. ``streaming.warm_up`` makes it.
    """
    home = os.environ.get("JAVA_HOME")
    java = Path(shutil.which("java", path=f"{home}/bin" if home else None) or "java").resolve()
    release = java.parent.with_name("release")
    version = release.read_text() if release.is_file() else ""
    key = hashlib.sha256(repr((str(java), version, pyspark.__version__)).encode())
    return Path(sys.prefix) / "var" / "deadwatch" / f"spark-{key.hexdigest()[:12]}.jsa"


def refusal(conf: SparkConf) -> str:
    """Why no JVM will ever start with this Java or these settings, in one line; "" where one may later."""
    try:
        jars.find_java()
    except jars.BrokenJavaError:
        pass  # it may have had no memory
    except jars.JavaError as error:
        return str(error)
    refused = REFUSED.search(_last_words(conf))
    return refused[0].strip() if refused else ""


def _last_words(conf: SparkConf) -> str:
    """What the JVM says when it is started once more, and does not start; "" where it does."""
    with tempfile.TemporaryFile() as said:
        try:
            heard = {"stdout": said, "stderr": said}
            gateway = launch_gateway(conf, heard)  # type: ignore[no-untyped-call]  # of PySpark, without types
        except PySparkRuntimeError:
            said.seek(0)
            return said.read().decode(errors="replace")
        gateway.shutdown()
        gateway.proc.kill()
        gateway.proc.wait()
        return ""
