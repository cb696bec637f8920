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
from maskwright.plugins.contract import COMMANDS, CONTRACT, KINDS
from maskwright.plugins.guarding.origin import BUILT_IN
from maskwright.plugins.hooks import HOOKS
from maskwright.plugins.registry import plugins

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


TEMPLATE_KINDS = (
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


SUMMARIES = {
    "method": "Independent normal noise on every value.",
    "measure": "How far the means have moved, in percent of a standard deviation.",
    "partition": "Neighbours on the sum of the standardised variables.",
    "aggregation": "The middle between the smallest and the largest value of each cluster.",
    "constraint": "Every value is a multiple of a number.",
    "source": "A JSON object in each line.",
    "edit_reader": "One rule a line, with comments.",
    "report": "The outcome in a few lines of plain text.",
    "rule_writer": "One edit a line, with its name.",
    "plan_check": "Asks for files beside the masked data.",
    "report_section": "How many records and edits there are, and what was measured.",
    "action": "Lists the files that may be passed on.",
    "command": "Counts the lines of a text file.",
}
NEEDS = {
    "method": ("numpy>=1.26", "pydantic>=2.9"),
    "measure": ("numpy>=1.26",),
    "partition": ("numpy>=1.26",),
    "aggregation": ("numpy>=1.26",),
    "constraint": ("numpy>=1.26", "pydantic>=2.9"),
    "source": ("pyarrow>=24", "pydantic>=2.9"),
    "edit_reader": (),
    "report": (),
    "rule_writer": (),
    "plan_check": ("pydantic>=2.9",),
    "report_section": (),
    "action": ("pydantic>=2.9",),
    "command": ("pydantic>=2.9",),
}
TESTING = {
    "edit_reader": "RightRules, RunPipeline, WrongRules, edit_reader_checks",
    "command": "command_checks",
    "constraint": "RunPipeline, Verdicts, constraint_checks",
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
        "record": KINDS[names.kind][0].__name__,
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
        "partition": f"protect:\n  - method: microaggregation\n    params: {{k: 5, partition: {names.plugin}}}",
        "aggregation": f"protect:\n  - method: microaggregation\n    params: {{k: 5, aggregation: {names.plugin}}}",
        "constraint": f"edits:\n  - {names.plugin}(12, rent, water, heat)",
        "source": f"data: {{source: people.{names.plugin}}}\n"
        "waive: [{doubt: written-file-not-read-twice, because: the kit tests that it is read as written}]",
        "edit_reader": f"edits:\n  - {names.plugin}: people.{names.plugin}",
        "report": f"output: {{data: masked.csv, {names.plugin}: outcome.txt}}",
        "rule_writer": f"output: {{data: masked.csv, edits: published.{names.plugin}}}",
        "plan_check": f"checks: [{names.plugin}]",
        "report_section": f"sections: [{names.plugin}]\noutput: {{data: masked.csv, report: report.html}}",
        "action": f"after: [{names.plugin}]",
        "command": f"# maskwright {names.plugin} --file FILE",
    }[names.kind]
