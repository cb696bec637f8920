"""The ``data:`` section: file or parts, format, options, hierarchies, and what is declared of the variables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from maskwright.data.declaration import declared_together, with_missing_codes
from maskwright.data.hierarchies.declaration import read_hierarchy_file
from maskwright.data.parts.part_files import address_of, find_parts, is_pattern, is_remote, is_several
from maskwright.foundation.errors import DataError, InputError, Place, PluginError, Problem
from maskwright.foundation.files import note_read
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.yaml_models import only, read_model, texts, without
from maskwright.pipeline.declared_lists import LISTS, Declarations, needs_names, origins_of_roles, with_lists
from maskwright.pipeline.file_model import DataSection
from maskwright.pipeline.file_paths import existing_file, secrets_in
from maskwright.pipeline.resolved import DataSource, LevelSources
from maskwright.plugins.guarding.origin import BUILT_IN
from maskwright.plugins.registry import find_source, plugins
from maskwright.plugins.source import column_names

if TYPE_CHECKING:
    from collections.abc import Collection

    from maskwright.foundation.yaml_document import Node
    from maskwright.plugins.source import Source

    Declared = TypeVar("Declared", bound=Declarations)
    from pydantic import BaseModel

    from maskwright.data.codebooks.codebook import Codebook


def place_in(folder: Path, name: str) -> str:
    """Absolute path of a name, relative to a folder; addresses of object stores as they are."""
    address = address_of(name)
    if is_remote(address) or "\0" in address:
        return address
    return str((folder / address).resolve())


def source_of(name: str, folder: Path = Path(), file_format: str | None = None, *, must_exist: bool = True) -> Source:
    """Source of a data file, or of a dataset in parts, by a stated format or the ending of its name."""
    from maskwright.plugins.parts_reading import parts_source  # of parts

    place = place_in(folder, name)
    several = is_several(place)
    if file_format is not None:
        source = find_source(file_format)
        whole = source.content is not None or (source.format.reads_folders and not is_remote(place))
        return parts_source(source, place) if several and not whole else source
    if not several:
        return find_source(Path(place))
    if not must_exist and is_pattern(place):
        return parts_source(find_source(Path(place)), place)
    return _folder_reader(place) or parts_source(_source_of_parts(place), place)


def _folder_reader(place: str) -> Source | None:
    """Plugin that reads a folder as a whole, where its name ends so."""
    registry = plugins()
    for name, package in registry.packages("source").items():
        source = None if package == BUILT_IN else registry.sources.get(name)
        if source is not None and source.format.reads_folders and place.lower().endswith(source.suffixes):
            return source
    return None


def _source_of_parts(place: str) -> Source:
    """Source that reads every part."""
    found = find_parts(place)
    chosen: dict[str, Source] = {}
    for part in found:
        name = PurePosixPath(part.name).name
        ending = name.partition(".")[2]
        if ending not in chosen:
            chosen[ending] = find_source(Path(name))
            first = next(iter(chosen.values()))
            if chosen[ending].name != first.name:
                message = f"a {chosen[ending].name} file among {first.name} files, as {found[0].name} is one"
                hint = "The parts of one dataset are of one format; names that begin with '_' or '.' are passed over."
                raise DataError(Problem(message, Place(part.path), hint))
    return next(iter(chosen.values()))


_CATEGORIES = ("table", "groups")


def categories_kept(variables: Node) -> Node:
    """Declared variables in whose hierarchies categories are as they were written: ``012`` is not the number 12."""
    for name, declared in variables.entries:
        hierarchy = declared.get("hierarchy")
        if hierarchy is not None:
            variables = variables.with_entry(name.raw, declared.with_entry("hierarchy", texts(hierarchy, _CATEGORIES)))
    return variables


def with_hierarchy_files(declared: Declared, variables: Node | None, folder: Path, problems: list[Problem]) -> Declared:
    """Declarations whose hierarchies of files have the rows of those."""
    found = dict(declared.variables)
    for name, each in declared.variables.items():
        if variables is None or each.hierarchy is None or each.hierarchy.form != "file":
            continue
        node = variables.at((name, "hierarchy"))
        named = None if node is None else node.get("file") or node
        path = None if named is None else existing_file(named, folder, "hierarchy", problems)
        if path is None:
            continue
        try:
            rows = read_hierarchy_file(path)
        except InputError as error:
            problems.extend(error.problems)
            continue
        found[name] = each.model_copy(update={"hierarchy": each.hierarchy.model_copy(update={"table": rows})})
    return declared.model_copy(update={"variables": found})


_VARIABLE_TEXTS = ("categories", "missing", "suppressed_as", "labels")


DECLARED = tuple(Declarations.model_fields)
"""Keys of the section that declare something of variables."""


class FoundData(NamedTuple):
    """What the section says, as far as it was understood.

    `whole` is None where anything in the section is wrong; `openable` names the file and its options, also where what
    is declared of its variables is wrong, so that more mistakes can be found in it.
    """

    whole: DataSource | None
    openable: DataSource | None
    levels: LevelSources | None = None


def _options_of_sources() -> set[str]:
    return {option for each in plugins().sources.values() for option in each.params.model_fields}


def resolve_data(
    section: Node, folder: Path, problems: list[Problem], *, must_exist: bool = True, lists_read: bool = False
) -> FoundData:
    """Resolve the section: mistakes are added to `problems`; `lists_read`: what lists say stands in ``variables``."""
    if "levels" in section:
        return _of_levels(section, folder, problems, must_exist=must_exist)
    before = len(problems)
    problems.extend(_without_source(section))
    secrets = secrets_in(section, _options_of_sources)
    if secrets:
        # Another mistake on the same line would show that line.
        problems.extend(secrets)
        return FoundData(None, None)
    section = _with_path(section)
    openable, codebook = _openable(section, folder, problems, must_exist=must_exist)
    stated = section
    if not lists_read:
        roles = () if codebook is None else [name for name, each in codebook.variables.items() if each.role is not None]
        names = first_names(openable) if openable is not None and needs_names(section) else None
        stated = with_lists(texts_kept(section), names, problems, roles, may_match_nothing=not must_exist)
    declared = read_model(DataSection, texts_kept(only(stated, tuple(DataSection.model_fields))), problems)
    if declared is not None:
        declared = with_hierarchy_files(declared, stated.get("variables"), folder, problems)
    if len(problems) > before or declared is None or openable is None:
        return FoundData(None, openable)
    variables = declared.variables if codebook is None else declared_together(codebook.variables, declared.variables)
    place = section.place if (named := section.get("source")) is None else named.place
    whole = replace(
        openable, variables=variables, cluster=declared.cluster, place=place, missing=declared.missing,
        codebook=codebook, stated=declared.variables, origins=origins_of_roles(section, stated),
    )  # fmt: skip
    return FoundData(whole, openable)


def _openable(
    section: Node, folder: Path, problems: list[Problem], *, must_exist: bool
) -> tuple[DataSource | None, Codebook | None]:
    """The file with its options, and the codebook of it."""
    named = section.get("source")
    source = _source(section, folder, problems, must_exist=must_exist)
    if source is None or named is None:
        return None, None
    options = without(section, tuple(DataSection.model_fields))
    for key, _ in options.entries:
        if key.raw not in source.params.model_fields:
            problems.append(_unknown_option(key, source))
    params = read_model(source.params, only(options, tuple(source.params.model_fields)), problems)
    path = _path_of(source, named, folder, problems, must_exist=must_exist)
    if params is None or path is None:
        return None, None
    params = _found_files(params, folder)
    return DataSource(path, source, params), _codebook(section.get("codebook"), folder, params, problems)


def first_names(data: DataSource) -> tuple[str, ...] | None:
    """Names of the variables in a file of any size; None where it cannot be read."""
    return column_names(data.source, data.path, data.params, largest=None)


def _path_of(source: Source, named: Node, folder: Path, problems: list[Problem], *, must_exist: bool) -> Path | None:
    """What the data are read from: a file, a folder, a pattern, an address, or what a server calls them."""
    if source.content is not None:
        return Path(str(named.value))
    place = place_in(folder, str(named.value))
    if is_remote(place) or is_pattern(place):
        return Path(place)
    return existing_file(named, folder, "data", problems, must_exist=must_exist, or_folder=source.format.reads_folders)


def _with_path(section: Node) -> Node:
    """Section in which ``file:///folder`` is the path that it means."""
    named = section.get("source")
    if named is None or not isinstance(named.value, str) or address_of(named.value) == named.value:
        return section
    return section.with_entry("source", replace(named, value=address_of(named.value)))


def _without_source(section: Node) -> list[Problem]:
    if "source" in section:
        return []
    return [Problem("the key 'source' is missing", section.place, DataSection.model_fields["source"].description)]


def _of_levels(section: Node, folder: Path, problems: list[Problem], *, must_exist: bool) -> FoundData:
    """What a section with levels says; names are not searched in its files where something else is wrong."""
    from maskwright.pipeline.levels_section import resolve_levels  # of several levels

    def found(stated: Node, into: list[Problem]) -> LevelSources | None:
        def of_level(part: Node) -> DataSource | None:
            return resolve_data(part, folder, into, must_exist=must_exist, lists_read=True).whole

        return resolve_levels(stated, into, of_level)

    names: list[str] | None = None
    if needs_names(section):
        files = found(without(section, LISTS), [])
        each = [] if files is None else [first_names(source) for source in files.sources.values()]
        if each and None not in each:
            names = list(dict.fromkeys(name for own in each for name in own or ()))
    stated = with_lists(texts_kept(section), names, problems, may_match_nothing=not must_exist)
    levels = found(stated, problems)
    if levels is None:
        return FoundData(None, None)
    origins = origins_of_roles(section, stated)
    sources = {name: replace(source, origins=origins) for name, source in levels.sources.items()}
    levels = replace(levels, sources=sources)
    return FoundData(list(sources.values())[-1], None, levels)


def resolve_declarations(section: Node, problems: list[Problem], names: Collection[str]) -> Declarations | None:
    """Resolve what is declared of data that need no reading, whose variables have these names.

    Each variable has the missing codes of all. Files of hierarchies are relative to the working directory.
    """
    stated = with_lists(texts_kept(section), names, problems)
    declared = read_model(Declarations, texts_kept(stated), problems)
    if declared is None:
        return None
    found = with_hierarchy_files(declared, stated.get("variables"), Path(), problems)
    return found.model_copy(update={"variables": with_missing_codes(found.variables, found.missing, names)})


def texts_kept(section: Node) -> Node:
    """Copy in which cell texts are as they were written: ``012`` is a category, not the number 12."""
    missing, variables = section.get("missing"), section.get("variables")
    if missing is not None:
        section = section.with_entry("missing", texts(missing))
    if variables is None:
        return section
    return section.with_entry("variables", categories_kept(texts(variables, _VARIABLE_TEXTS)))


def _codebook(node: Node | None, folder: Path, params: BaseModel, problems: list[Problem]) -> Codebook | None:
    """Codebook of the data; its mistakes stand beside those of the pipeline."""
    if node is None or node.value is None:
        return None
    path = existing_file(node, folder, "codebook", problems)
    if path is None:
        return None
    from maskwright.data.codebooks.files import read_codebook_file  # of codebooks alone

    try:
        return read_codebook_file(path, getattr(params, "encoding", None))
    except InputError as error:
        problems.extend(error.problems)
        return None


def _source(section: Node, folder: Path, problems: list[Problem], *, must_exist: bool) -> Source | None:
    named, chosen = section.get("source"), section.get("format")
    node = chosen if chosen is not None and chosen.value is not None else named
    if node is None or not isinstance(node.value, str) or not node.value:
        return None
    try:
        if named is None or not isinstance(named.value, str):
            return find_source(node.value)
        return source_of(named.value, folder, node.value if node is chosen else None, must_exist=must_exist)
    except DataError as error:
        problems.extend(replace(problem, place=node.place, message=_placed(problem)) for problem in error.problems)
        return None
    except PluginError as error:
        names = ", ".join(plugins().sources)
        hint = f"Name the format with `format:` ({names})." if names and node is named else None
        problems.extend(replace(each, place=node.place, hint=each.hint or hint) for each in error.problems)
        return None


def _placed(problem: Problem) -> str:
    return problem.message if problem.place is None else f"{problem.place}: {problem.message}"


def _found_files(params: BaseModel, folder: Path) -> BaseModel:
    """Options of which some are names of further files to read: those are relative to the folder too."""
    paths = {name: (folder / value).resolve() for name, value in params if isinstance(value, Path)}
    for path in paths.values():
        note_read(path)
    return params.model_copy(update=paths) if paths else params


def _unknown_option(key: Node, source: Source) -> Problem:
    sources = plugins().sources
    others = [name for name, other in sources.items() if key.raw in other.params.model_fields]
    if others:
        message = f"{key.raw!r} is an option of {' and '.join(others)} files, and this is {source.name}"
        return Problem(message, key.place)
    return Problem(unknown_name("key", key.raw, {*DataSection.model_fields, *source.params.model_fields}), key.place)
