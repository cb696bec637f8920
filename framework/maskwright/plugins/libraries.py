"""Libraries that a plugin needs and its package does not always install: what is missing here, and how to get it."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping


def libraries_error(plugin: object) -> str | None:
    """Say in one sentence what is wrong with the libraries that a plugin record names, or return None."""
    libraries: object = getattr(plugin, "libraries", {})
    if isinstance(libraries, Mapping) and all(
        isinstance(name, str) and all(part.isidentifier() for part in name.split(".")) and isinstance(how, str) and how
        for name, how in libraries.items()
    ):
        return None
    return "libraries must map names of modules to what installs them, such as {'PIL': 'pip install pillow'}"


def what_is_missing(plugin: object) -> str | None:
    """Say which library of a plugin is not installed, and what installs it; None when nothing is missing.

    Nothing is imported: only whether it could be is looked up.

    `plugin`: whose libraries are as they should be.
    """
    libraries: Mapping[str, str] = getattr(plugin, "libraries", {})
    for name, how in libraries.items():
        if importlib.util.find_spec(name.partition(".")[0]) is None:
            return f"it needs the library {name}, which is not installed; {how}"
    return None
