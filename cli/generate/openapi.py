"""The committed OpenAPI document: ``python -m cli.generate.openapi docs/openapi.json`` writes it."""

import sys
from pathlib import Path

from api.app import create_app
from api.openapi import written
from api.settings import ApiSettings

if __name__ == "__main__":
    Path(sys.argv[1]).write_text(written(create_app(ApiSettings.model_construct())))
