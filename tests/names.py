"""Names of topics, groups and services that no other test has."""

import uuid


def fresh(prefix: str = "t") -> str:
    """``prefix`` and eight hex digits; it begins with a letter, since YAML reads ``12345678`` as a number."""
    return f"{prefix}{uuid.uuid4().hex[:8]}"
