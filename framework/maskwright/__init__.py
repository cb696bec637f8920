"""Maskwright: statistical disclosure control that keeps edit constraints.

The public names, for users and for plugin authors, are those of the stub ``__init__.pyi``.
"""

import importlib
import re
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

# Imported on first use: ``maskwright --help`` must not wait for pandas or numba.
_HOME = {
    name: module
    for module, name in re.findall(
        r"^from (\S+) import (\w+) as \2$", Path(__file__).with_suffix(".pyi").read_text("utf-8"), re.MULTILINE
    )
}

__all__ = ["__version__", *sorted(_HOME)]  # noqa: PLE0604 - those of the stub


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'maskwright' has no attribute {name!r}")
    home = importlib.import_module(_HOME[name])
    return home if _HOME[name] == f"maskwright.{name}" else getattr(home, name)


def __dir__() -> list[str]:
    return __all__
