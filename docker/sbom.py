"""Adds the jars of an installation to the list of its Python packages: ``sbom.py PYTHON_JSON TARGET``."""

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

VERSIONS = (r"\d+\.[\w.+-]*", r"\d+")
JARS = [re.compile(rf"(?P<name>.+)-(?P<version>{version})\.jar") for version in VERSIONS]
"""The version begins at the last part that begins with a number and a dot: names have numbers too."""


def jars(target: Path) -> Iterator[dict[str, Any]]:
    """A component for every jar, by its name and SHA-256."""
    for file in sorted(target.rglob("*.jar")):
        named = next(filter(None, (jar.fullmatch(file.name) for jar in JARS)), None)
        yield {
            "type": "library",
            "bom-ref": str(file.relative_to(target)),
            "name": named["name"] if named else file.stem,
            "version": named["version"] if named else "",
            "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(file.read_bytes()).hexdigest()}],
        }


def main() -> None:
    """Print the list of Python packages with the jars added (CycloneDX)."""
    listed, target = Path(sys.argv[1]), Path(sys.argv[2])
    bom = json.loads(listed.read_text())
    bom["components"] = [*bom.get("components", ()), *jars(target)]
    json.dump(bom, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
