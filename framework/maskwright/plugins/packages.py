"""Packages of plugins: which may offer some, which are absent, and which libraries they need."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from maskwright.foundation.errors import Problem


MOST_FILES = 200
LARGEST_FILE = 1 << 20
OFFERED = "would have offered it"


@dataclass(frozen=True)
class AbsentPackage:
    """A package that is broken, or that is not to be loaded.

    `module`: that the entry point names; perhaps never imported.
    """

    distribution: str
    version: str
    entry_point: str
    module: str
    why: str

    @property
    def called(self) -> str:
        """What it is called in messages."""
        return f"package {self.distribution} {self.version}"

    def offers_name(self, name: str) -> bool:
        """Whether its entry point has this name, or the name stands in quotes in its source, which is not run."""
        if self.entry_point == name:
            return True
        quoted = re.compile(rf"[\"']{re.escape(name)}[\"']")
        return any(quoted.search(text) for text in self._sources())

    def _sources(self) -> Iterator[str]:
        for path in self._files():
            try:
                if path.stat().st_size <= LARGEST_FILE:
                    yield path.read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue

    def _files(self) -> list[Path]:
        try:
            # Of a name without a point nothing is imported.
            spec = importlib.util.find_spec(self.module.partition(".")[0])
        except (ImportError, ValueError, AttributeError):
            return []
        if spec is None:
            return []
        folders = [Path(each) for each in spec.submodule_search_locations or ()]
        files = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
        own = [Path(spec.origin)] if spec.origin and spec.origin.endswith(".py") else []
        return [*own, *files][:MOST_FILES]


def about_absent(absent: Iterable[AbsentPackage], name: str) -> str:
    """What may be said of packages whose plugins cannot be had, behind a sentence about an unknown name."""
    packages = tuple(absent)
    offering = [each for each in packages if each.offers_name(name)]
    if offering:
        return "; " + ", and ".join(dict.fromkeys(f"{each.called} {OFFERED}: {each.why}" for each in offering))
    if packages:
        listed = ", ".join(dict.fromkeys(each.called for each in packages))
        return f" (plugins that could not be had, and `maskwright plugins` says why: {listed})"
    return ""


def reasons_once(problems: Iterable[Problem], absent: Iterable[AbsentPackage]) -> list[Problem]:
    """The same problems; why a package cannot be had is said with the first name that it would have offered."""
    sentences = {f"{each.called} {OFFERED}: {each.why}" for each in absent}
    reported: set[str] = set()
    found = []
    for problem in problems:
        message = problem.message
        for said in sentences:
            if said in message and said in reported:
                message = message.replace(said, said.partition(f"{OFFERED}:")[0] + f"{OFFERED} too")
            elif said in message:
                reported.add(said)
        found.append(replace(problem, message=message))
    return found


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
