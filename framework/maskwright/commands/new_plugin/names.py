"""Names of a new plugin package: checked before anything is written, with one that would do."""

from __future__ import annotations

import importlib.util
import keyword
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.nearest_names import unknown_name
from maskwright.plugins.guarding.origin import BUILT_IN
from maskwright.plugins.hooks import HOOKS
from maskwright.plugins.registry import plugins
from maskwright.plugins.reserved_names import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Iterable

KINDS = (
    "method", "measure", "partition", "aggregation", "constraint", "source", "edit_reader", "report",
    "rule_writer", "plan_check", "report_section", "action", "command",
)  # fmt: skip
PREFIX = "maskwright_"
_DISTRIBUTION = re.compile(r"[A-Z0-9]|[A-Z0-9][A-Z0-9._-]*[A-Z0-9]", re.IGNORECASE)


@dataclass(frozen=True)
class PluginNames:
    """What a package and its plugin are called.

    `distribution`: as package indexes have it: ``maskwright-top-coding``.
    """

    kind: str
    distribution: str
    package: str
    plugin: str

    @property
    def hook(self) -> str:
        """Hook that offers it."""
        return HOOKS[self.kind]


def plugin_names(name: str, kind: str) -> PluginNames:
    """Names that follow from the one that a person chose."""
    if kind not in KINDS:
        raise InputError(unknown_name("kind of plugin", kind, KINDS))
    distribution = re.sub(r"[-_.]+", "-", name).lower()
    if not _DISTRIBUTION.fullmatch(name):
        message = f"{name!r} is no name of a package: letters, digits, '-', '_' and '.', no sign at either end"
        raise InputError(Problem(message, hint=_near(name)))
    package = distribution.replace("-", "_")
    plugin = package.removeprefix(PREFIX) or package
    if not package.isidentifier() or keyword.iskeyword(package) or not plugin[:1].isalpha():
        message = f"{name!r} cannot be imported or named in a pipeline: it must begin with a letter, and be no keyword"
        raise InputError(Problem(message, hint=_near(name)))
    if keyword.iskeyword(plugin):
        raise InputError(
            Problem(f"{plugin!r} is a word of Python, and the module would be called so", hint=_near(name))
        )
    if package == plugin and importlib.util.find_spec(package) is not None:
        raise InputError(Problem(f"there is a package called {package!r} already", hint=_near(name)))
    _refuse_taken(kind, plugin)
    return PluginNames(kind, distribution, package, plugin)


def _refuse_taken(kind: str, plugin: str) -> None:
    registry = plugins()
    offered: Iterable[str] = getattr(registry, f"{kind}s")
    own = COMMANDS if kind == "command" else frozenset[str]()
    if plugin in offered or plugin in own:
        of = BUILT_IN if plugin in own else registry.info(kind, plugin).distribution
        message = f"there is a {kind.replace('_', ' ')} {plugin!r} already, offered by {of}: choose another name"
        raise InputError(Problem(message, hint=f"Try 'maskwright-my-{plugin.replace('_', '-')}'."))


def _near(name: str) -> str:
    """Hint with a name that would do."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-").lstrip("0123456789-") or "plugin"
    plain = plain.removeprefix("maskwright-")
    return f"Try 'maskwright-{plain if not keyword.iskeyword(plain) else f'my-{plain}'}'."
