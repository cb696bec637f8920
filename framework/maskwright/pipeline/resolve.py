"""Reading a pipeline file: every mistake in it at once, each with its place and the nearest valid name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.edits.edit_set import EditSet
from maskwright.edits.rule_language.rule_entry import RuleEntry
from maskwright.foundation.errors import (
    EditError,
    PipelineError,
    Place,
    PluginError,
    Problem,
    nearest_name,
    unknown_name,
)
from maskwright.foundation.yaml_document import MAX_CHARACTERS, Node, load_yaml
from maskwright.foundation.yaml_models import read_model
from maskwright.foundation.yaml_subtrees import only, texts, without
from maskwright.pipeline.file_model import DataSection, ExecutionSection, PipelineFile, SingleSettings
from maskwright.pipeline.file_paths import existing_file, resolve_output
from maskwright.pipeline.names import in_order, variable_uses
from maskwright.pipeline.overrides import Overrides, apply_overrides
from maskwright.pipeline.resolved import DataSource, Output, Pipeline, RuleFile, RuleText, VariableUse
from maskwright.pipeline.steps import resolve_measures, resolve_steps, resolve_thresholds
from maskwright.plugins.registry import Registry, find_source, plugins

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import BaseModel

    from maskwright.plugins.source import Source

_VARIABLE_TEXTS = ("categories", "missing")


class UnfinishedPipelineError(PipelineError):
    """A pipeline file is wrong; what was understood of it is kept, so that more mistakes can be looked for.

    Attributes
    ----------
    data : DataSource or None
        None where the data file cannot be opened or is not to be.
    edits : tuple of RuleText or RuleFile
    uses : tuple of VariableUse
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        data: DataSource | None,
        edits: tuple[RuleText | RuleFile, ...],
        uses: tuple[VariableUse, ...],
    ) -> None:
        super().__init__(problems)
        self.data, self.edits, self.uses = data, edits, uses


HELP = "`maskwright init` writes a pipeline to start from."


def resolve_file(path: str | Path, overrides: Overrides = (), *, check_data: bool = True) -> Pipeline:
    """Read a pipeline file.

    Parameters
    ----------
    path : str or Path
    overrides : mapping of path to value, or sequence of "path=value"
        Put over the settings of the file: ``{"protect.0.params.k": 5}`` or ``["protect.0.params.k=5"]``.
    check_data : bool, default True
        Whether the data file must exist (``plan --no-data`` does without).

    Returns
    -------
    Pipeline

    Raises
    ------
    PipelineError
        With every mistake in file order: syntax, unknown keys and names, wrong types, values out of range, missing
        files, outputs that would overwrite inputs or each other.
    """
    file = Path(path)
    if file.is_file() and file.suffix.lower() not in (".yaml", ".yml", ".json"):
        # What is in another file, perhaps data, must not be quoted in a message about syntax.
        raise PipelineError(
            Problem(f"{file.name} is not a pipeline file: expected a name that ends in .yaml", hint=HELP)
        )
    text = text_of(file, "pipeline", HELP)
    problems: list[Problem] = []
    root = apply_overrides(load_yaml(text, str(path), problems=problems), overrides)
    if not root.is_mapping:
        message = (
            "the file is empty" if root.is_scalar and root.value is None else f"expected keys, not {root.description}"
        )
        raise PipelineError([*problems, Problem(message, root.place, HELP)])
    return resolve_pipeline(file.resolve(), text, root, check_data=check_data, problems=problems)


def resolve_pipeline(
    path: Path, text: str, root: Node, *, check_data: bool = True, problems: Sequence[Problem] = ()
) -> Pipeline:
    """Pipeline of a document that has been read, or put together of the parts of one.

    Parameters
    ----------
    path : Path
        Absolute; names of files are relative to its folder.
    text : str
        For the run record.
    root : Node
        A mapping.
    check_data : bool, default True
        Whether the data file must exist.
    problems : sequence of Problem
        Mistakes that reading found.

    Raises
    ------
    PipelineError
        As `resolve_file`.
    """
    return _Reading(path, text, root, problems, check_data=check_data).pipeline()


def text_of(file: Path, what: str, hint: str) -> str:
    """Text of a file of settings.

    Parameters
    ----------
    file : Path
    what : str
        What it is called in messages: "pipeline".
    hint : str
        What to do when there is none.

    Raises
    ------
    PipelineError
        It cannot be read, is too large or no UTF-8 text.
    """
    try:
        if file.stat().st_size > 4 * MAX_CHARACTERS:
            raise PipelineError(Problem(f"this file is too large to be a {what}", Place(str(file))))
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise PipelineError(Problem(f"there is no such {what} file", Place(str(file)), hint)) from None
    except UnicodeDecodeError as error:
        message = f"the file is not UTF-8 text (byte {error.start + 1})"
        raise PipelineError(Problem(message, Place(str(file)), "Save it with the encoding UTF-8.")) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a file name"
        raise PipelineError(Problem(f"the {what} file cannot be read: {reason}", Place(str(file)))) from None


class _Reading:
    """One reading of a file: its sections are resolved apart from each other, so that each can tell its mistakes."""

    def __init__(self, path: Path, text: str, root: Node, problems: Sequence[Problem], *, check_data: bool) -> None:
        self.path, self.text, self.root, self.check_data = path, text, root, check_data
        self.folder = path.parent
        self.registry: Registry = plugins()
        self.problems: list[Problem] = list(problems)
        # The data file, also where something else in its section is wrong.
        self.file: DataSource | None = None

    def pipeline(self) -> Pipeline:
        self.check_keys()
        data = self.data()
        edits = self.edits()
        uses = variable_uses(self.root, self.registry)
        steps = resolve_steps(self.section("protect"), self.registry, self.problems) if "protect" in self.root else ()
        measures = resolve_measures(self.section("measure"), self.registry, self.problems)
        thresholds = resolve_thresholds(self.section("thresholds"), measures, self.problems)
        execution = read_model(ExecutionSection, self.section("execution"), self.problems)
        plain = read_model(SingleSettings, only(self.root, tuple(SingleSettings.model_fields)), self.problems)
        inputs = {"this pipeline file": self.path}
        if data is not None:
            inputs["the data"] = data.path
        inputs |= {f"the rules {edit.path.name}": edit.path for edit in edits if isinstance(edit, RuleFile)}
        output = self.output(inputs, new_rules=any(step.method.removes & {"cells", "detail"} for step in steps))
        if output is not None and output.record is None:
            self.problems.extend(
                Problem(
                    f"per_record of {each.label}: contributions of records go to the confidential record only",
                    each.place,
                    "name a file for it: output: {record: run.json}",
                )
                for each in measures
                if each.per_record
            )
        if self.problems or data is None or execution is None or plain is None or output is None:
            problems = in_order(self.problems, self.root.place.file or "")
            raise UnfinishedPipelineError(problems, self.file if self.check_data else None, edits, uses)
        return Pipeline(
            path=self.path,
            folder=self.folder,
            text=self.text,
            settings=self.root.to_python(),
            data=data,
            edits=edits,
            on_input_violation=plain.on_input_violation,
            steps=steps,
            measures=measures,
            thresholds=thresholds,
            output=output,
            seed=plain.seed,
            execution=execution,
            uses=uses,
            file=self.root.place.file or "",
        )

    def output(self, inputs: Mapping[str, Path], *, new_rules: bool) -> Output | None:
        if "output" not in self.root:
            return None
        return resolve_output(self.section("output"), self.folder, inputs, self.problems, new_rules=new_rules)

    def section(self, name: str) -> Node:
        return self.root.get(name) or Node("scalar", self.root.place)

    def check_keys(self) -> None:
        valid = PipelineFile.model_fields
        for key, _ in self.root.entries:
            if key.raw not in valid:
                self.problems.append(Problem(unknown_name("key", key.raw, valid), key.place))
        for name, field in valid.items():
            if field.is_required() and name not in self.root and name not in SingleSettings.model_fields:
                self.problems.append(Problem(f"the key {name!r} is missing", self.root.place, field.description))

    def data(self) -> DataSource | None:
        section = self.section("data")
        if "data" not in self.root:
            return None
        before = len(self.problems)
        own = only(section, tuple(DataSection.model_fields))
        variables = own.get("variables")
        if variables is not None:
            own = own.with_entry("variables", texts(variables, _VARIABLE_TEXTS))
        declared = read_model(DataSection, own, self.problems)
        named = section.get("source")
        source = self.source_plugin(section)
        if source is None or named is None:
            return None
        options = without(section, tuple(DataSection.model_fields))
        for key, _ in options.entries:
            if key.raw not in source.params.model_fields:
                self.problems.append(self.unknown_option(key, source.name))
        params = read_model(source.params, only(options, tuple(source.params.model_fields)), self.problems)
        path = existing_file(named, self.folder, "data", self.problems, must_exist=self.check_data)
        if path is not None and params is not None:
            self.file = DataSource(path, source, params)
        if len(self.problems) > before or declared is None or params is None or path is None:
            return None
        return DataSource(path, source, params, declared.variables, declared.cluster, named.place)

    def source_plugin(self, section: Node) -> Source | None:
        named, chosen = section.get("source"), section.get("format")
        node = chosen if chosen is not None and chosen.value is not None else named
        if node is None or not isinstance(node.value, str) or not node.value:
            return None
        try:
            return find_source(node.value) if node is chosen else find_source(Path(node.value))
        except PluginError as error:
            names = ", ".join(self.registry.sources)
            hint = f"Name the format with `format:` ({names})." if names and node is named else None
            self.problems.extend(Problem(problem.message, node.place, hint) for problem in error.problems)
            return None

    def unknown_option(self, key: Node, source: str) -> Problem:
        others = [name for name, other in self.registry.sources.items() if key.raw in other.params.model_fields]
        if others:
            return Problem(f"{key.raw!r} is an option of {' and '.join(others)} files, and this is {source}", key.place)
        valid = {*DataSection.model_fields, *self.registry.sources[source].params.model_fields}
        return Problem(unknown_name("key", key.raw, valid), key.place)

    def edits(self) -> tuple[RuleText | RuleFile, ...]:
        section = self.section("edits")
        if section.is_scalar and section.value is None:
            return ()
        if not section.is_sequence:
            hint = "Start each rule with '- ' on its own line."
            self.problems.append(Problem(f"edits: expected a list, not {section.description}", section.place, hint))
            return ()
        found = [self.edit(element) for element in section]
        return tuple(edit for edit in found if edit is not None)

    def edit(self, node: Node) -> RuleText | RuleFile | None:
        if node.is_scalar and isinstance(node.value, str) and node.value.strip():
            return self.rule_text(node)
        if node.is_mapping and ("rule" in node or len(node.entries) != 1):
            return self.rule_entry(node)
        if node.is_mapping:
            return self.rule_file(node)
        self.problems.append(
            Problem(
                f"expected a rule as text, {{rule: ..., name: ...}} or {{schematron: file}}, not {node.description}",
                node.place,
            )
        )
        return None

    def rule_text(self, node: Node) -> RuleText | None:
        readers = [name for name, reader in self.registry.edit_readers.items() if node.raw.endswith(reader.suffixes)]
        if readers and " " not in node.raw:
            hint = f"Write: {readers[0]}: {node.raw}"
            self.problems.append(Problem("this is a file name where a rule is expected", node.place, hint))
            return None
        return self.checked_rule(RuleText(node.raw, node.place), node)

    def rule_entry(self, node: Node) -> RuleText | None:
        entry = read_model(RuleEntry, node, self.problems)
        text = node.get("rule")
        if entry is None or text is None:
            return None
        return self.checked_rule(RuleText(entry.model_dump(exclude_none=True), text.place), text)

    def rule_file(self, node: Node) -> RuleFile | None:
        key, file = node.entries[0]
        reader = self.registry.edit_readers.get(key.raw)
        if reader is None:
            valid = ["rule", *self.registry.edit_readers]
            sentence = unknown_name("key", key.raw, valid)
            if nearest_name(key.raw, valid) is None:
                sentence = self.registry.unknown("edit_reader", key.raw, self.registry.edit_readers)
            hint = "If this is one rule that holds ': ', put it in quotes."
            self.problems.append(Problem(sentence, key.place, hint))
            return None
        params: BaseModel | None = None
        if file.is_mapping and reader.params is not None:
            params = read_model(reader.params, without(file, ("file",)), self.problems, "option")
            named = file.get("file")
            if named is None:
                self.problems.append(Problem(f"{key.raw}: the key 'file' is missing", file.place))
                return None
            if params is None:
                return None
            file = named
        path = existing_file(file, self.folder, "rule", self.problems)
        return RuleFile(reader, path, file.place, params) if path is not None else None

    def checked_rule(self, rule: RuleText, node: Node) -> RuleText | None:
        """Parse the rule now, so that its mistakes are told with those of the rest of the file."""
        try:
            EditSet.parse([rule.rule], lambda _: node.place)
        except EditError as error:
            self.problems.extend(error.problems)
            return None
        return rule
