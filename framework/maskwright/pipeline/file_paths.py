"""File names in the pipeline file: relative to it, existing where read, apart from each other where written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.foundation.errors import PluginError, Problem, unknown_name
from maskwright.foundation.file_identity import file_identity
from maskwright.foundation.yaml_models import read_model
from maskwright.foundation.yaml_subtrees import only
from maskwright.pipeline.file_model import OUTPUT_SETTINGS, OutputSection
from maskwright.pipeline.resolved import Output
from maskwright.pipeline.secrets import is_address, without_text
from maskwright.plugins.registry import find_source, plugins

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.foundation.yaml_document import Node
    from maskwright.plugins.report import Report
    from maskwright.plugins.source import Source

_SUFFIXES: Mapping[str, tuple[str, ...]] = {
    "svrl": (".svrl", ".xml"),
    "record": (".json",),
    "public_record": (".json",),
    "codebook": (".xml", ".csv"),
    "key_map": (".csv",),
}


def existing_file(
    node: Node,
    folder: Path,
    what: str,
    problems: list[Problem],
    *,
    must_exist: bool = True,
    or_folder: bool = False,
) -> Path | None:
    """Absolute path of a file to read, or None when the node is no name of one (`problems` says why).

    Parameters
    ----------
    node : Node
    folder : Path
        That the name is relative to.
    what : str
        What kind of file is expected: ``data``.
    problems : list of Problem
        Added to.
    must_exist : bool, default True
    or_folder : bool, default False
        Whether a folder will do.
    """
    path = absolute_path(node, folder, problems)
    if path is None or not must_exist:
        return path
    if path.is_dir() and not or_folder:
        problems.append(Problem(f"{node.raw!r} is a folder; expected a {what} file", node.place))
        return None
    if not path.exists():
        hint = f"File names are relative to the {_base(folder)}."
        problems.append(Problem(f"there is no {what} file {node.raw!r}", node.place, hint))
        return None
    return path


def _base(folder: Path) -> str:
    return "pipeline file" if folder.is_absolute() else "folder you are in"


def absolute_path(node: Node, folder: Path, problems: list[Problem]) -> Path | None:
    """Absolute path of a file name, relative to `folder`; None when it is not one.

    Parameters
    ----------
    node : Node
    folder : Path
        That the name is relative to.
    problems : list of Problem
        Added to.
    """
    if not node.is_scalar or not isinstance(node.value, str) or not node.value.strip() or "\0" in node.value:
        problems.append(Problem(f"expected a file name, not {node.description}", node.place))
        return None
    if is_address(node):
        hint = "Masked data are written to a file, and not to a server."
        problems.append(Problem("expected a file name, not an address", without_text(node.place), hint))
        return None
    path = (folder / node.value).resolve()
    try:
        path.lstat()
    except FileNotFoundError:
        pass
    except OSError as error:
        problems.append(Problem(f"the file name cannot be used: {error.strerror}", node.place))
        return None
    return path


def resolve_output(
    section: Node,
    folder: Path,
    inputs: Mapping[str, Path],
    problems: list[Problem],
    *,
    new_rules: bool = False,
    levels: Sequence[str] = (),
    across_levels: bool = False,
) -> Output | None:
    """Files of the ``output:`` section.

    Parameters
    ----------
    section : Node
    folder : Path
        Names are relative to it.
    inputs : mapping of description to Path
        Files that are read, which no output may overwrite.
    problems : list of Problem
        Every mistake is added to it.
    new_rules : bool
        Whether other rules hold in the published data than in the original: they are written in any case.
    levels : sequence of str
        Names of the levels that have a file each.
    across_levels : bool
        Whether the data have several levels: their rules are written as text.
    """
    before = len(problems)
    reports = plugins().reports
    core = set(OutputSection.model_fields) - {"report"}
    settings = read_model(OutputSection, only(section, (*core, "report")), problems)
    taken = {file_identity(path): what for what, path in inputs.items()}
    paths: dict[str, Path] = {}
    entries = _of_levels(section, levels, problems)
    named = _named_format(section, problems)
    for key, node in entries:
        if key.raw not in core and key.raw not in reports and not key.raw.startswith("data."):
            valid = sorted({*core, *reports})
            problems.append(Problem(plugins().unknown("report", key.raw, valid), key.place))
            continue
        if key.raw in OUTPUT_SETTINGS or (node.is_scalar and node.value is None):
            continue
        path = absolute_path(node, folder, problems)
        if path is None:
            continue
        _check_place(key.raw, path, node, folder, taken, problems)
        if any(each.is_dir() and path.is_relative_to(each) for each in inputs.values()):
            hint = "It would be read with the data the next time."
            problems.append(Problem(f"output.{key.raw} would be written into the folder of the data", node.place, hint))
        _check_suffix(key.raw, path, node, reports, named, problems)
        taken.setdefault(file_identity(path), f"output.{key.raw}")
        paths[key.raw] = path
    # Where each level has a file, the rules stand beside that of the lowest one.
    beside = paths.get("data") or next((paths[f"data.{name}"] for name in levels[-1:] if f"data.{name}" in paths), None)
    if new_rules and beside is not None and "edits" not in paths and len(problems) == before:
        of_records = (named or find_source(beside)).name == "xml" and not across_levels
        ending = ".edits.sch" if of_records else ".edits.yaml"
        paths["edits"] = beside.with_name(beside.name.split(".")[0] + ending)
        _check_place("edits", paths["edits"], section, folder, taken, problems)
    elif across_levels and "edits" in paths and paths["edits"].suffix.lower() == ".sch":
        place = next(node.place for key, node in section.entries if key.raw == "edits")
        hint = "Name a .yaml file: output: {edits: masked.edits.yaml}."
        problems.append(Problem("output.edits: rules on data of several levels are written in YAML", place, hint))
    of_levels = {name: paths.pop(f"data.{name}") for name in levels if f"data.{name}" in paths}
    if of_levels:
        paths["data"] = of_levels[levels[-1]]
    if len(problems) > before or "data" not in paths or settings is None:
        return None
    return Output(
        level_data=of_levels,
        data=paths["data"],
        source=named or find_source(paths["data"]),
        svrl=paths.get("svrl"),
        record=paths.get("record"),
        public_record=paths.get("public_record"),
        edits=paths.get("edits"),
        codebook=paths.get("codebook"),
        key_map=paths.get("key_map"),
        escapes_formulas=settings.formulas == "escape",
        reports=tuple((reports[key], path) for key, path in paths.items() if key not in core),
        numbers=settings.numbers,
    )


def _named_format(section: Node, problems: list[Problem]) -> Source | None:
    """Source of the format that the section names; None: it names none, or one that is not there."""
    node = section.get("format")
    if node is None or not isinstance(node.value, str) or not node.value:
        return None
    sources = plugins().sources
    if node.value not in sources:
        problems.append(Problem(f"output.format: {plugins().unknown('source', node.value, sources)}", node.place))
    return sources.get(node.value)


def _of_levels(section: Node, levels: Sequence[str], problems: list[Problem]) -> tuple[tuple[Node, Node], ...]:
    """Entries of the section, in which the masked data of each level are an entry of their own, ``data.person``."""
    data = section.get("data")
    if data is None or (not data.is_mapping and not levels):
        return section.entries
    if not levels or not data.is_mapping or set(data.keys) != set(levels):
        named = ", ".join(f"{name}: FILE" for name in levels)
        wanted = f"a file of each level: {{{named}}}" if levels else "one file name"
        strange = [key for key, _ in data.entries if key.raw not in levels] if levels else []
        problems += [Problem(f"output.data: {unknown_name('level', key.raw, levels)}", key.place) for key in strange]
        if not strange:
            problems.append(Problem(f"output.data: expected {wanted}", data.place))
        return tuple(entry for entry in section.entries if entry[0].raw != "data")
    others = tuple(entry for entry in section.entries if entry[0].raw != "data")
    of_levels = tuple(
        (replace(key, raw=f"data.{key.raw}", value=f"data.{key.raw}"), node) for key, node in data.entries
    )
    return (*others, *of_levels)


def _check_place(
    key: str, path: Path, node: Node, folder: Path, taken: Mapping[object, str], problems: list[Problem]
) -> None:
    other = taken.get(file_identity(path))
    if other is not None:
        problems.append(Problem(f"output.{key} would overwrite {other}", node.place, "Give it another file name."))
    elif path.is_dir():
        problems.append(Problem(f"output.{key}: {node.raw!r} is a folder; expected a file name", node.place))
    elif path.exists() and not path.is_file():
        problems.append(Problem(f"output.{key}: {node.raw!r} is no regular file", node.place))
    elif not path.parent.is_dir():
        hint = f"Create it, or choose another: names are relative to the {_base(folder)}."
        problems.append(Problem(f"output.{key}: there is no folder {str(Path(node.raw).parent)!r}", node.place, hint))


def _check_suffix(
    key: str, path: Path, node: Node, reports: Mapping[str, Report], named: Source | None, problems: list[Problem]
) -> None:
    if key == "data" or key.startswith("data."):
        try:
            source = named or find_source(path)
        except PluginError as error:
            problems.extend(
                Problem(f"output.{key}: {problem.message}", node.place, problem.hint) for problem in error.problems
            )
            return
        if source.not_written is not None:
            wrong = f"output.{key}: {path.suffix} files are read, and not written"
            problems.append(Problem(wrong, node.place, source.not_written))
        lost = source.lost_when_replaced(path) if source.lost_when_replaced is not None and path.is_file() else None
        if lost is not None:
            message = f"output.{key} would replace {path.name}, and with it {lost}"
            problems.append(Problem(message, node.place, "Give it another file name."))
        return
    if key == "edits":
        suffixes = tuple(suffix for writer in plugins().rule_writers.values() for suffix in writer.suffixes)
    else:
        suffixes = _SUFFIXES[key] if key in _SUFFIXES else reports[key].suffixes
    if suffixes and not path.name.lower().endswith(suffixes):
        problems.append(Problem(f"output.{key}: the file name must end in {' or '.join(suffixes)}", node.place))
