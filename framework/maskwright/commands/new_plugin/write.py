"""Writing a package with a plugin of a kind: the whole folder appears at once, or nothing does."""

from __future__ import annotations

import shutil
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from maskwright import __version__
from maskwright.commands.new_plugin.names import PluginNames, plugin_names
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.whole_files import masked_mode
from maskwright.plugins.contract import CONTRACT, KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    """Write a package that offers one plugin, with tests that pass.

    `folder`: in which a folder of the package's name is made. `name`: of the package, and so of the plugin. Returns the
    folder that was made; names of the files in it.
    """
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
