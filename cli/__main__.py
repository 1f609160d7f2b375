"""``python -m cli`` is the command ``deadwatch``."""

from cli.main import app

app()
