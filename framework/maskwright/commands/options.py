"""How a command reads its files: options of formats and rule languages, declarations, or a pipeline."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.data.parts.part_files import address_of
from maskwright.edits.edit_set import EditSet, UnreadRulesError, WrongRulesError
from maskwright.foundation.errors import InputError, Place, Problem, refuse_problems
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.yaml_document import Node, load_yaml
from maskwright.foundation.yaml_models import only, read_model, without
from maskwright.pipeline.data_section import DECLARED, place_in, resolve_data, source_of
from maskwright.pipeline.edits_section import read_edits_of, resolve_edits
from maskwright.pipeline.overrides import value_of
from maskwright.pipeline.reading import HELP, text_of
from maskwright.pipeline.resolved import VariableUse
from maskwright.pipeline.variable_names import in_order
from maskwright.plugins.registry import find_rule_language, find_source, plugins

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from pydantic import BaseModel

    from maskwright.data.levels.linked_data import LevelDeclaration
    from maskwright.pipeline.resolved import DataSource, LevelSources


@dataclass(frozen=True)
class ReadingOptions:
    """What is said on a command line about the reading of files.

    `values`: options of data formats (``encoding``) and of rule languages (``phase``); each file takes those it knows.
    `variables`: what is declared of variables, as the ``variables:`` of a pipeline. `file_format`: of the data, where
    file names do not tell. `pipeline`: pipeline file whose ``data:`` section holds for these files too; what is said
    here is put over it.
    """

    values: Mapping[str, Node] = field(default_factory=dict)
    variables: Node | None = None
    cluster: str | None = None
    file_format: str | None = None
    pipeline: Path | None = None
    codebook: Path | None = None

    def without(self, name: str) -> ReadingOptions:
        """Copy without one option."""
        return replace(self, values={key: node for key, node in self.values.items() if key != name})


NO_OPTIONS = ReadingOptions()


def stated_values(texts: Iterable[str]) -> dict[str, Node]:
    """Options from ``--option name=value``."""
    return _values(texts, "--option", "name=value, for instance max_text=5000000")


def stated_texts(flags: Mapping[str, str | None]) -> dict[str, Node]:
    """Options that have a flag of their own, ``--encoding latin-1``; those that were not given are left out."""
    return {
        name: Node("scalar", Place(f"--{name.replace('_folder', '')}"), text, text)
        for name, text in flags.items()
        if text is not None
    }


def stated_variables(texts: Sequence[str]) -> Node | None:
    """Declarations from ``name={role: weight}``; None where there are none."""
    found = _values(texts, "--variable", "name={...}, for instance income={role: confidential, decimals: 2}")
    if not found:
        return None
    whole = Node("mapping", Place("--variable"))
    for name, node in found.items():
        whole = whole.with_entry(name, node)
    return whole


def data_files(paths: Sequence[Path], options: ReadingOptions, rules: Sequence[Path] = ()) -> tuple[DataSource, ...]:
    """Data files as a command is to read them.

    What a pipeline declares of variables and missing codes holds for every file. Its options of a format, such as the
    encoding, hold for files of that format; one of another format is read as the pipeline would have written it.
    """
    problems: list[Problem] = []
    section = _pipeline_section(options.pipeline)
    declared = only(section, DECLARED)
    codebook = _codebook(section, options)
    if codebook is not None:
        declared = declared.with_entry("codebook", codebook)
    declared = _declared_over(declared, options)
    sources = [source_of(str(path), file_format=options.file_format) for path in paths]
    models = [source.params for source in sources] + [find_rule_language(path).params for path in rules]
    known = {name for model in models if model is not None for name in model.model_fields}
    problems += [
        Problem(_unknown_option(name, known), node.place) for name, node in options.values.items() if name not in known
    ]
    found: list[DataSource] = []
    own = _format_of(section, Path() if options.pipeline is None else options.pipeline.absolute().parent)
    for path, source in zip(paths, sources, strict=True):
        is_own = own in (None, source.name)
        chosen = declared.with_entry("source", _text(address_of(str(path))))
        chosen = chosen.with_entry("format", _text(source.name))
        stated = {key.raw: node for key, node in section.entries} if is_own else {}
        for name, node in (stated | dict(options.values)).items():
            if name in source.params.model_fields:
                chosen = chosen.with_entry(name, node)
        data = resolve_data(chosen, Path(), problems, must_exist=False).whole
        if data is not None:
            is_told = any(name in source.params.model_fields for name in options.values)
            as_written = source.format.params_of_written if not (is_own or is_told) else None
            params = data.params if as_written is None else as_written(data.params)
            found.append(replace(data, path=path, params=params))
    if problems:
        raise InputError(in_order(problems, ""))
    return tuple(found)


def read_rule_files(
    files: Sequence[Path],
    options: ReadingOptions = NO_OPTIONS,
    language: str | None = None,
    levels: Mapping[str, LevelDeclaration] | None = None,
) -> EditSet:
    """Edits of several files, in order; edits without a name of their own are numbered through."""
    edits = EditSet()
    problems: list[Problem] = []
    kind: type[WrongRulesError] = UnreadRulesError
    for path in files:
        try:
            section = None if language is not None else _edits_of_pipeline(path)
            if section is not None:
                found, wrong = read_edits_of(resolve_edits(section, path.absolute().parent, problems), levels)
                problems.extend(wrong)
                edits = edits.joined(found)
                continue
            reader = find_rule_language(language or path)
            edits = edits.joined(reader.read_with(path, own_params(reader.params, options), levels))
        except InputError as error:
            problems.extend(error.problems)
            kind = kind if isinstance(error, UnreadRulesError) else WrongRulesError
            edits = edits.joined(error.edits) if isinstance(error, WrongRulesError) else edits
    if problems:
        raise kind(problems, edits)
    return edits


def _edits_of_pipeline(path: Path) -> Node | None:
    """The ``edits:`` section of a pipeline, an empty one where it has none; None: the file is no pipeline."""
    if path.suffix.lower() not in (".yaml", ".yml"):
        return None
    try:
        root = load_yaml(text_of(path, "pipeline", HELP), str(path))
    except InputError:
        return None  # who reads it as rules says what is wrong
    if not root.is_mapping or "maskwright" not in root:
        return None
    return root.get("edits") or Node("sequence", Place(str(path)))


def files_of_pipeline(pipeline: Path) -> tuple[Path, ...]:
    """Data files that a pipeline names, those of upper levels first."""
    section, folder = _pipeline_section(pipeline), pipeline.absolute().parent
    levels = section.get("levels")
    entries = () if levels is None else tuple(level.get("source") for _, level in levels.entries)
    named: list[Node | None] = [node for node in entries if node is not None] or [section.get("source")]
    texts = [node.value for node in named if node is not None and isinstance(node.value, str)]
    if len(texts) < len(named):
        raise InputError(Problem("the pipeline names no data file", section.place, HELP))
    return tuple(Path(place_in(folder, text)) for text in texts)


def pipeline_levels(options: ReadingOptions, data: Sequence[Path]) -> LevelSources | None:
    """Levels that the named pipeline declares, read from other files; None: it declares none."""
    section = _pipeline_section(options.pipeline)
    if options.pipeline is None or "levels" not in section:
        if len(data) > 1:
            way = "A file of each level: --pipeline FILE, whose `data: levels:` links them (maskwright explain levels)."
            raise InputError(Problem("more than one data file, and nothing says how they are linked", hint=way))
        return None
    levels = section.get("levels")
    own = () if levels is None else tuple(level for _, level in levels.entries if level.get("source") is not None)
    names = "" if levels is None else " ".join(key.raw.upper() for key, _ in levels.entries)
    if not data:
        return _resolved_levels(section, options, options.pipeline)
    if len(data) != max(1, len(own)):
        wanted = "one file" if not own else f"a file of each level, in this order: {names}"
        hint = f"maskwright validate {names if own else 'DATA'} --edits RULES --pipeline {options.pipeline}"
        raise InputError(Problem(f"the levels of {options.pipeline.name} are in {wanted}", hint=hint))
    if own and levels is not None:
        entries = tuple((key, _from(level, path)) for (key, level), path in zip(levels.entries, data, strict=True))
        section = without(section, ("levels",)).with_entry("levels", replace(levels, entries=entries))
    if section.get("source") is not None:
        section = _from(section, data[0])
    return _resolved_levels(section, options, options.pipeline)


def _resolved_levels(section: Node, options: ReadingOptions, pipeline: Path) -> LevelSources | None:
    """Levels as a pipeline says them, over which what the command line says is put."""
    problems: list[Problem] = []
    folder = pipeline.absolute().parent
    codebook = _codebook(section, options)
    if codebook is not None:
        section = section.with_entry("codebook", codebook)
    section = _declared_over(section, options)
    if options.file_format is not None:
        section = section.with_entry("format", _text(options.file_format))
    known = _options_of_files(section, folder)
    for name, node in options.values.items():
        if name in known:
            section = section.with_entry(name, node)
    found = resolve_data(section, folder, problems).levels
    if problems:
        raise InputError(in_order(problems, str(pipeline)))
    return None if found is None else replace(found, uses=uses_of_declared(options))


def uses_of_declared(options: ReadingOptions) -> tuple[VariableUse, ...]:
    """Names of the variables that the command line declares: each is to be in the data."""
    entries = () if options.variables is None else options.variables.entries
    return tuple(VariableUse(key.raw, node.place) for key, node in entries)


def _declared_over(section: Node, options: ReadingOptions) -> Node:
    """Section over which what the command line declares is put; of a variable it replaces all that was declared."""
    stated = section.get("variables")
    if options.variables is not None:
        together = options.variables if stated is None or not stated.is_mapping else stated
        for key, node in options.variables.entries:
            together = together.with_entry(key.raw, node)
        section = section.with_entry("variables", together)
    if options.cluster is not None:
        section = section.with_entry("cluster", _text(options.cluster, Place("--cluster")))
    return section


def _options_of_files(section: Node, folder: Path) -> set[str]:
    """Names of the options that the formats of the files of a section with levels have."""
    levels = section.get("levels")
    parts = (section, *(() if levels is None else (level for _, level in levels.entries)))
    found: set[str] = set()
    for named in (part.get("source") for part in parts if part.is_mapping):
        name = _format_of(section.with_entry("source", named), folder) if named is not None else None
        found.update(() if name is None else find_source(name).params.model_fields)
    return found


def _from(section: Node, path: Path) -> Node:
    """Section whose source is another file."""
    return without(section, ("source",)).with_entry("source", _text(str(path.absolute())))


def own_params(model: type[BaseModel] | None, options: ReadingOptions) -> BaseModel | None:
    """Parameters of a rule language, from the options that it knows; None when there are none of them."""
    if model is None:
        return None
    entries = [
        (Node("scalar", node.place, name, name), node)
        for name, node in options.values.items()
        if name in model.model_fields
    ]
    if not entries:
        return None
    problems: list[Problem] = []
    found = read_model(model, Node("mapping", Place(), entries=tuple(entries)), problems, "option")
    refuse_problems(problems)
    return found


def _pipeline_section(pipeline: Path | None) -> Node:
    """The ``data:`` section of a pipeline file; an empty one where none is named."""
    empty = Node("mapping", Place())
    if pipeline is None:
        return empty
    section = load_yaml(text_of(pipeline, "pipeline", HELP), str(pipeline)).get("data")
    if section is None or not section.is_mapping:
        raise InputError(Problem("the pipeline has no data section", Place(str(pipeline)), HELP))
    return section


def _format_of(section: Node, folder: Path) -> str | None:
    """Name of the format of a pipeline's data, which is relative to its folder; None where it is not known."""
    named = section.get("format") or section.get("source")
    if named is None or not isinstance(named.value, str):
        return None
    try:
        if section.get("format") is not None:
            return find_source(named.value).name
        return source_of(named.value, folder).name
    except InputError:
        return None


def _codebook(section: Node, options: ReadingOptions) -> Node | None:
    """Codebook that is named on the command line, or by the pipeline, relative to which its name is."""
    named = section.get("codebook")
    if options.codebook is not None:
        return _text(str(options.codebook))
    if options.pipeline is None or named is None or not isinstance(named.value, str):
        return named
    path = str(options.pipeline.absolute().parent / named.value)
    return replace(named, value=path, raw=path)


def _unknown_option(name: str, known: Collection[str]) -> str:
    others = [other.name for other in plugins().sources.values() if name in other.params.model_fields]
    if others:
        return f"{name!r} is an option of {' and '.join(others)} files, and none of these is one"
    return unknown_name("option", name, known)


def _values(texts: Iterable[str], flag: str, example: str) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise InputError(f"{flag} {text}: expected {example}")
        found[name] = value_of(value, Place(f"{flag} {name}"))
    return found


def _text(text: str, place: Place | None = None) -> Node:
    return Node("scalar", place or Place(), text, text)
