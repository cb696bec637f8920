"""A package with a plugin of a kind: names checked, and the whole folder written at once or not at all."""

from __future__ import annotations

import importlib.util
import keyword
import re
import shutil
import tempfile
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from maskwright import __version__
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.files import masked_mode
from maskwright.foundation.nearest_names import unknown_name
from maskwright.plugins.contract import CONTRACT, KINDS
from maskwright.plugins.hooks import HOOKS
from maskwright.plugins.registry import plugins

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


TEMPLATE_KINDS = ("method", "measure", "attack", "partition", "source", "rule_language", "report")
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
    if kind not in TEMPLATE_KINDS:
        raise InputError(unknown_name("kind of plugin", kind, TEMPLATE_KINDS))
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
    if plugin in offered:
        of = registry.info(kind, plugin).distribution
        message = f"there is a {kind.replace('_', ' ')} {plugin!r} already, offered by {of}: choose another name"
        raise InputError(Problem(message, hint=f"Try 'maskwright-my-{plugin.replace('_', '-')}'."))


def _near(name: str) -> str:
    """Hint with a name that would do."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-").lstrip("0123456789-") or "plugin"
    plain = plain.removeprefix("maskwright-")
    return f"Try 'maskwright-{plain if not keyword.iskeyword(plain) else f'my-{plain}'}'."


SUMMARIES = {
    "method": "Independent normal noise on every value.",
    "measure": "How far the means have moved, in percent of a standard deviation.",
    "attack": "The value that most records have.",
    "partition": "Neighbours on the sum of the standardised variables.",
    "source": "A JSON object in each line.",
    "rule_language": "One rule a line, with comments; read and written.",
    "report": "The outcome in a few lines of plain text.",
}
NEEDS = {
    "method": ("numpy>=1.26", "pydantic>=2.9"),
    "measure": ("numpy>=1.26",),
    "attack": ("numpy>=1.26",),
    "partition": ("numpy>=1.26",),
    "source": ("pyarrow>=24", "pydantic>=2.9"),
    "rule_language": (),
    "report": (),
}
TESTING = {
    "attack": "attack_checks",
    "rule_language": "RightRules, RunPipeline, WrongRules, rule_language_checks",
}
_FOLDER_MODE = 0o777
"""Before the user's mask."""


def write_plugin_package(folder: Path, name: str, kind: str = "method") -> tuple[Path, tuple[str, ...]]:
    """Write a package that offers one plugin, with tests that pass."""
    names = plugin_names(name, kind)
    target = folder / names.distribution
    if target.exists() or target.is_symlink():
        raise InputError(Problem(f"{target} exists; it was left alone", hint="Choose another name or another folder."))
    content = package_files(names)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{names.distribution}-", dir=folder))
        try:
            for each, text in content.items():
                path = made / each
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8", newline="\n")
            made.chmod(masked_mode(_FOLDER_MODE))
            made.rename(target)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}") from error
    return target, tuple(content)


def package_files(names: PluginNames) -> Mapping[str, str]:
    """Content of every file of a package, by its name in the folder."""
    source = f"src/{names.package}"
    return {
        "pyproject.toml": _filled("common/pyproject.toml.txt", names),
        "README.md": _filled("common/README.md.txt", names),
        ".gitignore": _filled("common/gitignore.txt", names),
        ".github/workflows/tests.yml": _filled("common/workflow.yml.txt", names),
        f"{source}/__init__.py": _filled("common/init.py.txt", names),
        f"{source}/{names.plugin}.py": _filled(f"{names.kind}.plugin.py.txt", names),
        f"{source}/py.typed": "",
        f"tests/test_{names.plugin}.py": _filled(f"{names.kind}.test.py.txt", names),
    }


def _filled(template: str, names: PluginNames) -> str:
    """Text of a template with the names in their places."""
    text = (files("maskwright.commands.new_plugin") / "templates" / template).read_text(encoding="utf-8")
    major, minor, *_ = __version__.split(".")
    # Later versions are not forbidden: the number of the contract tells whether they will do.
    dependencies = (f"maskwright>={major}.{minor}", *NEEDS[names.kind])
    title = names.plugin.replace("_", " ")
    for key, value in {
        "distribution": names.distribution,
        "package": names.package,
        "plugin": names.plugin,
        "constant": names.plugin.upper(),
        "kind": names.kind.replace("_", " "),
        "record": KINDS[names.kind].__name__,
        "hook": names.hook,
        "title": title[:1].upper() + title[1:],
        "suffix": f".{names.plugin}",
        "summary": SUMMARIES[names.kind],
        "dependencies": ", ".join(f'"{each}"' for each in dependencies),
        "testing": TESTING.get(names.kind, f"RunPipeline, {names.kind}_checks"),
        "contract": str(CONTRACT),
        "usage": _usage(names),
    }.items():
        text = text.replace(f"@@{key}@@", value)
    return text


def _usage(names: PluginNames) -> str:
    """Part of a pipeline that uses the plugin."""
    return {
        "method": f"protect:\n  - method: {names.plugin}",
        "measure": f"measure: [{names.plugin}]",
        "attack": f"disclosure: {{attacks: [{names.plugin}]}}",
        "partition": f"protect:\n  - method: microaggregation\n    params: {{k: 5, partition: {names.plugin}}}",
        "source": f"data: {{source: people.{names.plugin}}}\n"
        "waive: [{doubt: written-file-not-read-twice, because: the kit tests that it is read as written}]",
        "rule_language": f"edits:\n  - {names.plugin}: people.{names.plugin}",
        "report": f"output: {{data: masked.csv, {names.plugin}: outcome.txt}}",
    }[names.kind]
