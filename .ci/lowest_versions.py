"""Prints the lowest versions that pyproject.toml allows, as requirements: ``numpy>=1.26`` becomes ``numpy==1.26``."""

import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
for requirement in project["dependencies"]:
    if ">=" not in requirement:
        raise SystemExit(f"pyproject.toml: {requirement} names no lowest version")
    print(requirement.replace(">=", "=="))
