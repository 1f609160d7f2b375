"""``python -m cli.generate``: writes the generated parts of the documentation and of the chart anew."""

from pathlib import Path

from api.app import create_app
from api.openapi import written
from api.settings import ApiSettings
from cli.generate import chart, settings_page

root = Path(__file__).parents[2]
settings = root / "docs" / "configuration.md"
settings.write_text(settings_page.page(settings.read_text()))
(root / "docs" / "openapi.json").write_text(written(create_app(ApiSettings.model_construct())))
chart.write(root / "helm" / "deadwatch")
