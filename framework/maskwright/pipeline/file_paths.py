"""File names and addresses in the pipeline file: existing where read, apart from each other where written."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.data.parts.part_files import (
    address_of,
    could_match,
    folder_of,
    is_pattern,
    is_remote,
    is_several,
    refuse_address,
)
from maskwright.foundation.errors import PluginError, Problem
from maskwright.foundation.files import file_identity, split_name
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.yaml_models import only, read_model
from maskwright.pipeline.file_model import OUTPUT_SETTINGS, OutputSection
from maskwright.pipeline.resolved import Output
from maskwright.plugins.registry import find_source, plugins

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from maskwright.foundation.errors import Place
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
    """Absolute path of a file to read, or None when the node is no name of one (`problems` says why)."""
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
    """Absolute path of a file name, relative to `folder`; None when it is not one."""
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
    original: Source | None = None,
) -> Output | None:
    """Files of the ``output:`` section."""
    before = len(problems)
    reports = plugins().reports
    core = set(OutputSection.model_fields) - {"report"}
    settings = read_model(OutputSection, only(section, (*core, "report")), problems)
    taken = {file_identity(path): what for what, path in inputs.items()}
    paths: dict[str, Path] = {}
    entries = _of_levels(section, levels, problems)
    is_folder = _is_folder(section, folder)
    named = _named_format(section, problems, original if is_folder else None)
    for key, node in entries:
        if key.raw not in core and key.raw not in reports and not key.raw.startswith("data."):
            valid = sorted({*core, *reports})
            problems.append(Problem(plugins().unknown("report", key.raw, valid), key.place))
            continue
        if key.raw in OUTPUT_SETTINGS or (node.is_scalar and node.value is None):
            continue
        has_parts = is_folder and key.raw == "data"
        if key.raw == "data" and is_address(node) and is_remote(str(node.value)):
            found = remote_folder(node, inputs, problems, is_folder=is_folder)
            paths |= {} if found is None else {"data": found}
            continue
        path = absolute_path(node, folder, problems)
        if path is None:
            continue
        _check_place(key.raw, path, node, folder, taken, problems, is_folder=has_parts)
        _check_overlap(key.raw, path, node, inputs, problems, named if has_parts else None)
        if not has_parts or named is not None:
            _check_suffix(key.raw, path, node, reports, named, problems)
        taken.setdefault(file_identity(path), f"output.{key.raw}")
        paths[key.raw] = path
    if is_folder and (across_levels or named is None):
        hint = "Name a file: output: {data: masked.csv}; or one for each level."
        refused = [Problem("output.data: levels are written into files, not into parts", section.place, hint)]
        problems.extend(refused if across_levels else ())
        return None
    needs, xml = new_rules and len(problems) == before, None if named is None else named.name == "xml"
    _place_rules(
        section, folder, paths, levels, taken, problems,
        needs=needs, across_levels=across_levels, is_xml=xml, is_folder=is_folder,
    )  # fmt: skip
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
        is_folder=is_folder,
        parts=settings.parts,
    )


def _place_rules(
    section: Node, folder: Path, paths: dict[str, Path], levels: Sequence[str], taken: Mapping[object, str],
    problems: list[Problem], *, needs: bool, across_levels: bool, is_xml: bool | None, is_folder: bool,
) -> None:  # fmt: skip
    """Add the file of the rules that hold in the published data, where they need one and the section names none.

    `is_xml` says whether the data are written as XML; None: the ending of their name decides.
    """
    # Where each level has a file, the rules stand beside that of the lowest one.
    beside = paths.get("data") or next((paths[f"data.{name}"] for name in levels[-1:] if f"data.{name}" in paths), None)
    if needs and beside is not None and "edits" not in paths:
        of_records = (find_source(beside).name == "xml" if is_xml is None else is_xml) and not across_levels
        # A folder has no ending: what follows its last point distinguishes it from others.
        name = beside.name if is_folder else split_name(beside.name)[0]
        paths["edits"] = beside.with_name(name + (".edits.sch" if of_records else ".edits.yaml"))
        _check_place("edits", paths["edits"], section, folder, taken, problems)
    elif across_levels and "edits" in paths and paths["edits"].suffix.lower() == ".sch":
        place = next(node.place for key, node in section.entries if key.raw == "edits")
        hint = "Name a .yaml file: output: {edits: masked.edits.yaml}."
        problems.append(Problem("output.edits: rules on data of several levels are written in YAML", place, hint))


def _is_folder(section: Node, folder: Path) -> bool:
    """Whether the masked data are a folder of parts: its name ends in '/' or has no ending, or it is one already."""
    data, stated = section.get("data"), section.get("format")
    if data is None or not isinstance(data.value, str) or not data.value:
        return False
    name = Path(data.value).name
    has_no_ending = "." not in name and stated is None
    return data.value.endswith("/") or has_no_ending or "parts" in section or (folder / data.value).is_dir()


def _check_overlap(
    key: str, path: Path, node: Node, inputs: Mapping[str, Path], problems: list[Problem], of_parts: Source | None
) -> None:
    """Add what is wrong where an output would be among the data that are read, or around them."""
    if of_parts is not None and any(each.is_relative_to(path) for each in inputs.values()):
        wrong = f"output.{key}: files that are read lie in this folder"
        problems.append(Problem(wrong, node.place, "Give the masked data a folder of their own."))
    written = (path,) if of_parts is None else (path, path / f"part-1{of_parts.suffixes[0]}")
    several = [str(each) for each in inputs.values() if is_several(str(each))]
    if any(could_match(each, file) for each in several for file in written):
        hint = "It would be read with the data the next time."
        problems.append(Problem(f"output.{key} would be written into the folder of the data", node.place, hint))


def _named_format(section: Node, problems: list[Problem], of_parts: Source | None) -> Source | None:
    """Source of the format that the section names; None: it names none, or one that is not there.

    Of a folder the section need not name one: its parts are written by the source `of_parts` then.
    """
    from maskwright.plugins.parts_reading import parts_source  # of parts
    from maskwright.plugins.parts_writing import writing_parts  # of parts

    if of_parts is not None:
        named = _named_format(section, problems, None)
        return writing_parts(parts_source(named or find_source(of_parts.name)))
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
    key: str, path: Path, node: Node, folder: Path, taken: Mapping[object, str], problems: list[Problem],
    *, is_folder: bool = False,
) -> None:  # fmt: skip
    from maskwright.data.parts.manifest import foreign_file  # of parts

    other = taken.get(file_identity(path))
    if is_pattern(str(path)) and {"*", "?"}.intersection(str(path)):
        problems.append(Problem(f"output.{key}: {node.raw!r} is a pattern; expected one name", node.place))
    elif other is not None:
        problems.append(Problem(f"output.{key} would overwrite {other}", node.place, "Give it another file name."))
    elif is_folder and path.is_dir():
        foreign = foreign_file(path)
        if foreign is not None:
            hint = "Only a folder is replaced in which each file is listed in its _manifest.json: name another one."
            message = f"output.{key}: Maskwright did not write {foreign} in {node.raw!r}"
            problems.append(Problem(message, node.place, hint))
    elif path.is_dir():
        problems.append(Problem(f"output.{key}: {node.raw!r} is a folder; expected a file name", node.place))
    elif is_folder and path.exists():
        problems.append(Problem(f"output.{key}: {node.raw!r} is a file; expected a folder of parts", node.place))
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
                Problem(f"output.{key}: {problem.sentence}", node.place, problem.hint) for problem in error.problems
            )
            return
        if source.format.not_written is not None:
            wrong = f"output.{key}: {path.suffix} files are read, and not written"
            problems.append(Problem(wrong, node.place, source.format.not_written))
        lost = (
            source.format.lost_when_replaced(path)
            if source.format.lost_when_replaced is not None and path.is_file()
            else None
        )
        if lost is not None:
            message = f"output.{key} would replace {path.name}, and with it {lost}"
            problems.append(Problem(message, node.place, "Give it another file name."))
        return
    if key == "edits":
        languages = plugins().rule_languages.values()
        suffixes = tuple(suffix for language in languages for suffix in language.written_suffixes)
    else:
        suffixes = _SUFFIXES[key] if key in _SUFFIXES else reports[key].suffixes
    if suffixes and not path.name.lower().endswith(suffixes):
        problems.append(Problem(f"output.{key}: the file name must end in {' or '.join(suffixes)}", node.place))


_SECRET = re.compile(r"passw|passphrase|^pwd$|secret|token|credential|^dsn$|conninfo", re.IGNORECASE)
_ADDRESS = "://"


def secrets_in(section: Node, options: Callable[[], Container[str]]) -> list[Problem]:
    """A problem for each password, and each address that may hold one, in the ``data:`` section."""
    found = [
        Problem(
            f"{key.raw}: a password does not belong in a pipeline",
            without_text(key.place),
            "Set it in the environment (PGPASSWORD), and remove it here.",
        )
        for key, _ in section.entries
        if _SECRET.search(key.raw) and key.raw not in options()
    ]
    named = section.get("source")
    if named is not None and is_address(named):
        wrong = refuse_address(str(named.value))
        if wrong is not None:
            return [*found, replace(wrong, place=without_text(named.place))]
        if is_remote(str(named.value)) or address_of(str(named.value)) != str(named.value):
            return found
        hint = "Of a table on a server: `format: postgresql`, its database as `source:`, and `host:`."
        found.append(Problem("expected the name of a data file, not an address", without_text(named.place), hint))
    return found


def is_address(node: Node) -> bool:
    """Whether a file name is an address (``postgresql://...``), which may hold a password."""
    return isinstance(node.value, str) and _ADDRESS in node.value


def without_text(place: Place) -> Place:
    """Place without the line that stands there."""
    file = place.file
    if file is not None and file.startswith("--set "):
        file = file.partition("=")[0]
    return replace(place, file=file, text=None)


def remote_folder(
    node: Node, inputs: Mapping[str, Path], problems: list[Problem], *, is_folder: bool
) -> Path | None:  # fmt: skip
    """Address of a folder in an object store, as a path of which `address_of` makes the address again."""
    address = address_of(str(node.value))
    wrong = refuse_address(address)
    if wrong is not None:
        problems.append(replace(wrong, place=without_text(node.place)))
        return None
    before = len(problems)
    if not is_folder:
        hint = f"Name a folder: {address.partition('://')[0]}://BUCKET/masked/"
        problems.append(Problem("output.data: masked data in an object store are a folder of parts", node.place, hint))
    if is_pattern(address):
        problems.append(Problem(f"output.data: {address!r} is a pattern; expected one name", node.place))
    folder = _within(address)
    for what, path in inputs.items():
        place = address_of(str(path))
        if not is_remote(place):
            continue
        read = _within(folder_of(place))
        if folder.is_relative_to(read) or read.is_relative_to(folder):
            message = f"output.data: the folder and that of {what} lie in each other"
            problems.append(Problem(message, node.place, "Give the masked data a folder of their own."))
    return Path(address) if len(problems) == before else None


def _within(address: str) -> Path:
    """Bucket and folder: several protocols may name the same store."""
    return Path("/") / address.partition("://")[2].strip("/")
