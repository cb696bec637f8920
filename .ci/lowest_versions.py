"""Prints the lowest versions that pyproject.toml allows, file formats included: ``numpy>=1.26`` as ``numpy==1.26``."""

import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
families = ("compression", "excel", "figures", "remote", "sql", "stat")
optional = [each for family in families for each in project["optional-dependencies"][family]]
for requirement in [*project["dependencies"], *optional]:
    if ">=" not in requirement:
        raise SystemExit(f"pyproject.toml: {requirement} names no lowest version")
    print(requirement.replace(">=", "=="))
