"""Write what the documentation says of the dialects: ``python -m deadwatch.deadletter.dialects docs``."""

import re
import sys
from pathlib import Path

from deadwatch.deadletter.dialects import DIALECTS, UNKNOWN

NAMES = tuple(dict.fromkeys(dialect.name for dialect in DIALECTS))


def row(name: str) -> str:
    """A dialect's row of ``dialects.md``: its headers by their prefixes, others by their whole names."""
    entries = [dialect for dialect in DIALECTS if dialect.name == name]
    prefixes = tuple(prefix for dialect in entries for prefix in dialect.names("prefix"))
    others = [header for dialect in entries for header in dialect.headers if not header.startswith(prefixes)]
    headers = ", ".join(f"`{text}`" for text in dict.fromkeys([*(f"{one}*" for one in prefixes), *others]))
    return f"| `{name}` | {headers} | {'big-endian bytes' if entries[0].binary_numbers else 'text'} |\n"


def write(docs: Path) -> None:
    """Write the rows of ``dialects.md``, and the names in ``filter.md``."""
    for page, pattern, text in (
        ("dialects.md", r"(?<=\|---\|---\|---\|\n)(\| `.*\n)*?(?=\| `unknown`)", "".join(map(row, NAMES))),
        ("filter.md", r"(?<=^\| `dialect` \| string \| ).*(?= \|$)", ", ".join((*NAMES, UNKNOWN))),
    ):
        file = docs / page
        file.write_text(re.sub(pattern, text, file.read_text(), count=1, flags=re.MULTILINE))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
