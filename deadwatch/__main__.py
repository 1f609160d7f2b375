"""``python -m deadwatch`` is the command ``deadwatch``."""

from deadwatch.cli import app

app(prog_name="deadwatch")
