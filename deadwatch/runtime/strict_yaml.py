"""YAML in which no key stands twice: what the first one says would be lost without a word."""

from typing import IO, Any

import yaml


class DuplicateKeyError(ValueError):
    """A mapping has a key twice; the text says which and in which line."""


class Loader(yaml.SafeLoader):
    """Refuses a key that stands twice."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:  # noqa: ANN401 -- as the stubs have it
        """The mapping as it is written, before what ``<<`` takes over. Raises ``DuplicateKeyError``."""
        node = super().compose_mapping_node(anchor)
        names = [key.value for key, _ in node.value]
        for place, (key, _) in enumerate(node.value):
            if key.value in names[:place]:
                raise DuplicateKeyError(f"line {key.start_mark.line + 1}: {key.value} stands twice")
        return node


def parsed(content: str | IO[str]) -> Any:  # noqa: ANN401 -- what YAML holds
    """What the text says. Raises ``DuplicateKeyError``, ``yaml.YAMLError``, ``ValueError``."""
    return yaml.load(content, Loader)  # noqa: S506 -- it is a SafeLoader
