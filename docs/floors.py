"""The floors of the code and their imports, drawn from it: ``python docs/floors.py docs/architecture.md``.

It rewrites what stands between the two markers of the page. With ``--check`` nothing is written: it ends with
exit code 1 when the page is out of date or modules import each other in a circle. Imports inside functions
count as well. That no import goes upwards is a contract of import-linter (``pyproject.toml``).
"""

import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Final

import grimp

PYPROJECT: Final = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text())
(_LAYERED,) = (each for each in PYPROJECT["tool"]["importlinter"]["contracts"] if each["type"] == "layers")
FLOORS: Final = tuple(tuple(layer.split(" | ")) for layer in _LAYERED["layers"])
"""From above: a package imports what stands below it, never what stands beside or above it."""

OUTSIDE: Final = ("lab", "jars")
"""Know nothing of the service; whoever needs a real Kafka, or a jar, may import them."""

ALIASES: Final = frozenset({"streaming.redrive"})
"""Old names of commands; each loads another package by its name and is gone with the next version."""

BEGIN: Final = "<!-- floors: written by make docs -->\n"
END: Final = "<!-- /floors -->\n"

Graph = Mapping[str, frozenset[str]]


def modules() -> Graph:
    """Every module of ours and those that it imports."""
    roots = sorted({name.partition(".")[0] for floor in FLOORS for name in floor} | set(OUTSIDE))
    graph = grimp.build_graph(*roots, cache_dir=None)
    return {name: frozenset(graph.find_modules_directly_imported_by(name)) for name in sorted(graph.modules)}


def package(module: str) -> str:
    """The package of a floor, or outside of them, that a module belongs to."""
    names = [name for floor in FLOORS for name in floor] + list(OUTSIDE)
    found = [name for name in names if module == name or module.startswith(f"{name}.")]
    return found[0] if found else module.partition(".")[0]


def arrows(graph: Graph) -> Counter[tuple[str, str]]:
    """How many imports lead from one package to another."""
    pairs = ((package(module), package(other)) for module, others in graph.items() for other in others)
    return Counter((source, target) for source, target in pairs if source != target)


def circles(graph: Graph) -> list[str]:
    """Modules that import each other, over however many others, in words: of several circles one."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [" is imported by ".join(error.args[1])]
    return []


def drawn(found: Counter[tuple[str, str]]) -> Iterator[str]:
    """The picture, for Mermaid; an arrow that follows from others is left out."""
    below: dict[str, set[str]] = {}
    for source, target in found:
        below.setdefault(source, set()).add(target)

    def reached(name: str) -> set[str]:
        return {further for other in below.get(name, ()) for further in {other} | reached(other)}

    yield "```mermaid"
    yield "flowchart TD"
    for place, floor in enumerate(FLOORS):
        yield f'  subgraph floor{place}[" "]'
        yield "    direction LR"
        yield from (f'    {_id(name)}["{name}"]' for name in floor)
        yield "  end"
    for source, targets in below.items():
        if source in OUTSIDE:
            continue
        for target in sorted(targets):
            if target not in OUTSIDE and not any(target in reached(third) for third in targets - {target}):
                yield f"  {_id(source)} -->|{found[source, target]}| {_id(target)}"
    yield "```"


def _id(name: str) -> str:
    return name.replace(".", "_")


def main() -> int:
    """Draw the picture into the page or compare them; the exit code."""
    path, check = Path(sys.argv[1]), "--check" in sys.argv
    graph = {name: others for name, others in modules().items() if name not in ALIASES}
    found, page = arrows(graph), path.read_text()
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    text = "".join((before, BEGIN, *(f"{line}\n" for line in drawn(found)), END, after))
    wrong = circles(graph)
    if not check:
        path.write_text(text)
    elif text != page:
        wrong.append(f"{path} is out of date: run make docs")
    for line in wrong:
        sys.stderr.write(f"{line}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
