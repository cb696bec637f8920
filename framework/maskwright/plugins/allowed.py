"""Which packages may offer plugins: those that an environment variable names, and of these those of the pipeline."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

ENVIRONMENT = "MASKWRIGHT_PLUGINS"
"""Names of packages between commas; set and empty: built-in plugins only; not set: all that are installed."""


def package_name(name: str) -> str:
    """Name of a package as all its spellings are compared: ``My_Package`` is ``my-package``."""
    return re.sub(r"[-_.]+", "-", name).strip().lower()


@dataclass(frozen=True)
class Allowed:
    """Packages that are loaded beside Maskwright itself.

    `environment`, `pipeline`: names as `package_name` gives them; None: all.
    """

    environment: frozenset[str] | None = None
    pipeline: frozenset[str] | None = None

    def refusal(self, package: str) -> str | None:
        """Why a package is not loaded, in one sentence; None: it is."""
        if self.environment is not None and package not in self.environment:
            return f"not loaded, since {ENVIRONMENT} does not name this package"
        if self.pipeline is not None and package not in self.pipeline:
            return "not loaded, since `plugins: {allow: [...]}` of the pipeline does not name this package"
        return None

    def without(self, installed: Iterable[str]) -> tuple[str, ...]:
        """Packages that the environment names and that are not installed, or offer nothing."""
        return tuple(sorted((self.environment or frozenset()) - frozenset(installed)))


EVERY = Allowed()


def allowed_by_environment() -> frozenset[str] | None:
    """Packages that the environment variable names; None: it is not set."""
    said = os.environ.get(ENVIRONMENT)
    return None if said is None else frozenset(package_name(each) for each in said.split(",") if each.strip())


def allowed_by_pipeline(packages: Collection[str] | None) -> frozenset[str] | None:
    """Packages as a pipeline names them; None: it does not say."""
    return None if packages is None else frozenset(map(package_name, packages))
