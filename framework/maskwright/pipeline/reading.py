"""Reading a pipeline, from a file, from settings of a program or from text, with every mistake in it at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from maskwright.foundation.errors import InputError, PipelineError, Place, Problem
from maskwright.foundation.files import note_read
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.yaml_document import MAX_CHARACTERS, Node, from_python, load_yaml
from maskwright.foundation.yaml_models import only, read_model
from maskwright.pipeline.data_section import FoundData, resolve_data
from maskwright.pipeline.edits_section import resolve_edits
from maskwright.pipeline.execution_section import allowed_packages, check_scratch, resolve_execution, resolve_list
from maskwright.pipeline.file_model import PipelineFile, SingleSettings
from maskwright.pipeline.file_paths import resolve_output
from maskwright.pipeline.resolved import (
    DataSource,
    LevelSources,
    Output,
    Pipeline,
    RuleFile,
    RuleText,
    VariableUse,
)
from maskwright.pipeline.steps import (
    resolve_disclosure,
    resolve_measures,
    resolve_release,
    resolve_steps,
    resolve_thresholds,
    resolve_waivers,
    totals_without_levels,
)
from maskwright.pipeline.variable_names import (
    SETTING,
    further_level_problems,
    further_problems,
    in_order,
    names_in,
    variable_uses,
)
from maskwright.plugins.measurement import needs_levels
from maskwright.plugins.packages import reasons_once
from maskwright.plugins.parameter_markers import files_named
from maskwright.plugins.registry import allow_only, pipelines_own_plugins, plugins

if TYPE_CHECKING:
    from maskwright.pipeline.overrides import Overrides
    from maskwright.planning.model import Step
    from maskwright.plugins.registered import Registry
    from maskwright.plugins.source import Source


class UnfinishedPipelineError(PipelineError):
    """A pipeline file is wrong; what was understood of it is kept, so that more mistakes can be found.

    `data`: none where the data file cannot be opened or is not to be. `levels`: where the data have several.
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        data: DataSource | None,
        edits: tuple[RuleText | RuleFile, ...],
        uses: tuple[VariableUse, ...],
        levels: LevelSources | None = None,
    ) -> None:
        super().__init__(problems)
        self.data, self.edits, self.uses, self.levels = data, edits, uses, levels


HELP = "`maskwright init` writes a pipeline to start from."


def resolve_file(path: str | Path, overrides: Overrides = (), *, check_data: bool = True) -> Pipeline:
    """Read a pipeline file."""
    file = Path(path)
    if file.is_file() and file.suffix.lower() not in (".yaml", ".yml", ".json"):
        # What is in another file, perhaps data, must not be quoted in a message about syntax.
        raise PipelineError(
            Problem(f"{file.name} is not a pipeline file: expected a name that ends in .yaml", hint=HELP)
        )
    text = text_of(file, "pipeline", HELP)
    problems: list[Problem] = []
    from maskwright.pipeline.overrides import apply_overrides  # of settings given beside the file

    root = apply_overrides(load_yaml(text, str(path), problems=problems), overrides)
    if not root.is_mapping:
        message = (
            "the file is empty" if root.is_scalar and root.value is None else f"expected keys, not {root.description}"
        )
        raise PipelineError([*problems, Problem(message, root.place, HELP)])
    return resolve_pipeline(file.resolve(), text, root, check_data=check_data, problems=problems)


def resolve_pipeline(
    path: Path | None, text: str, root: Node, *, check_data: bool = True, problems: Sequence[Problem] = ()
) -> Pipeline:
    """Pipeline of a document that has been read, or put together of the parts of one."""
    return _Reading(path, text, root, problems, check_data=check_data).pipeline()


def text_of(file: Path, what: str, hint: str) -> str:
    """Text of a file of settings."""
    note_read(file)
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
    """One reading of a file: its sections are resolved apart from each other, so that each can report its mistakes."""

    def __init__(
        self, path: Path | None, text: str, root: Node, problems: Sequence[Problem], *, check_data: bool
    ) -> None:
        self.path, self.text, self.root, self.check_data = path, text, root, check_data
        self.folder = Path() if path is None else path.parent
        self.problems: list[Problem] = list(problems)
        allow_only(allowed_packages(root.get("plugins"), self.problems))
        self.registry: Registry = plugins()

    def pipeline(self) -> Pipeline:
        self.check_keys()
        data, openable, levels = self.data()
        edits = resolve_edits(self.section("edits"), self.folder, self.problems)
        uses = variable_uses(self.root, self.registry)
        steps: tuple[Step, ...] = ()
        if "protect" in self.root:
            steps = resolve_steps(self.section("protect"), self.registry, self.problems, self.folder)
        measures = resolve_measures(self.section("measure"), self.registry, self.problems, self.folder)
        of_levels = () if levels is None else tuple(levels.declared)
        thresholds = resolve_thresholds(self.section("thresholds"), measures, self.problems, of_levels)
        if data is not None and levels is None:
            self.problems.extend(totals_without_levels(steps))
            self.problems.extend(
                needs_levels(each.label, each.place) for each in measures if each.measure.claims.of_levels
            )
        all_read = len(measures) == len(self.section("measure").elements)
        labels = [each.label for each in measures] if all_read else None
        stated = len(self.section("protect").elements)
        waivers = resolve_waivers(self.section("waive"), self.problems, stated, labels)
        execution, engine = resolve_execution(self.section("execution"), self.registry, self.folder, self.problems)
        known = {} if data is None else data.variables
        release = resolve_release(
            self.section("release"), known, None if data is None else data.cluster, self.problems,
            has_levels=levels is not None,
        )  # fmt: skip
        disclosure = resolve_disclosure(self.section("disclosure"), self.registry, self.problems)
        checks = resolve_list("checks", "plan check", self.section("checks"), self.problems)
        sections = resolve_list("sections", "report section", self.section("sections"), self.problems)
        after = resolve_list("after", "action", self.section("after"), self.problems)
        plain = read_model(SingleSettings, only(self.root, tuple(SingleSettings.model_fields)), self.problems)
        inputs = {} if self.path is None else {"this pipeline file": self.path}
        if data is not None:
            inputs["the data"] = data.path
            if levels is not None:
                inputs |= {f"the data of {name}": each.path for name, each in levels.sources.items()}
            if data.codebook is not None:
                inputs["the codebook"] = data.codebook.path
        inputs |= {f"the rules {edit.path.name}": edit.path for edit in edits if isinstance(edit, RuleFile)}
        for params in (*(step.params for step in steps), *(measure.params for measure in measures)):
            inputs |= {f"the file {path.name}": path for path in files_named(params).values()}
        new_rules = any(step.method.claims.removes & {"cells", "detail"} for step in steps)
        output = self.output(inputs, None if data is None else data.source, new_rules=new_rules)
        check_scratch(engine, self.section("execution"), None if data is None else data.path, output, self.problems)
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
        if levels is not None and levels.form == "nested" and output is not None and output.source.nested is None:
            place = (self.section("output").get("data") or self.section("output")).place
            message = f"output.data: {output.data.name} cannot hold records inside each other, as the data do"
            self.problems.append(Problem(message, place, "Name an XML file: masked.xml."))
        if self.problems or data is None or execution is None or plain is None or output is None or release is None:
            problems = reasons_once(in_order(self.problems, self.root.place.file or ""), self.registry.absent)
            raise UnfinishedPipelineError(
                problems, openable if self.check_data else None, edits, uses, levels if self.check_data else None
            )
        return Pipeline(
            path=self.path,
            folder=self.folder,
            text=self.text,
            settings=self.root.to_python(),
            data=data,
            levels=levels,
            checks=checks,
            sections=sections,
            after=after,
            edits=edits,
            on_input_violation=plain.on_input_violation,
            steps=steps,
            measures=measures,
            thresholds=thresholds,
            release=release,
            disclosure=disclosure,
            output=output,
            seed=plain.seed,
            execution=execution,
            engine=engine,
            waivers=waivers,
            uses=uses,
            file=self.root.place.file or "",
        )

    def output(self, inputs: Mapping[str, Path], original: Source | None, *, new_rules: bool) -> Output | None:
        if "output" not in self.root:
            return None
        return resolve_output(
            self.section("output"), self.folder, inputs, self.problems, new_rules=new_rules, levels=self.level_names(),
            across_levels="levels" in self.section("data"), original=original,
        )  # fmt: skip

    def level_names(self) -> tuple[str, ...]:
        """Names of the levels that have a file each; none where there is one file."""
        levels = self.section("data").get("levels")
        if levels is None or not levels.is_mapping or not all("source" in each for _, each in levels.entries):
            return ()
        return tuple(key.raw for key, _ in levels.entries)

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

    def data(self) -> FoundData:
        if "data" not in self.root:
            return FoundData(None, None)
        return resolve_data(self.section("data"), self.folder, self.problems, must_exist=self.check_data)


WHOLE = "the pipeline"


def resolve_mapping(settings: Mapping[str, object], overrides: Overrides = (), *, check_data: bool = True) -> Pipeline:
    """Read a pipeline given as a mapping; names of files are relative to the working directory."""
    from maskwright.pipeline.overrides import apply_overrides  # of settings given beside the file

    problems: list[Problem] = []
    root = apply_overrides(_placed(settings, "", problems), overrides)
    text = yaml.safe_dump(root.to_python(), sort_keys=False, allow_unicode=True)
    return resolve_pipeline(None, text, root, check_data=check_data, problems=problems)


def _placed(value: object, path: str, problems: list[Problem]) -> Node:
    """Node tree whose places say where in the mapping each value stands."""
    place = Place(SETTING + path if path else WHOLE)
    inner = f"{path}." if path else ""
    if isinstance(value, Mapping):
        entries = []
        for key, each in value.items():
            name = f"{inner}{key}"
            entries.append((Node("scalar", Place(SETTING + name), str(key), str(key)), _placed(each, name, problems)))
        return Node("mapping", place, entries=tuple(entries))
    if isinstance(value, (list, tuple)):
        elements = (_placed(each, f"{inner}{position}", problems) for position, each in enumerate(value))
        return Node("sequence", place, elements=tuple(elements))
    try:
        return from_python(value, place)
    except PipelineError as error:
        problems.extend(error.problems)
        return Node("scalar", place)


def read_pipeline(
    pipeline: str | Path | Mapping[str, object], overrides: Overrides = (), *, check_data: bool = True
) -> Pipeline:
    """Read a pipeline; where it is wrong, the rule files and the names in it are checked too."""
    try:
        if isinstance(pipeline, Mapping):
            return resolve_mapping(pipeline, overrides, check_data=check_data)
        return resolve_file(pipeline, overrides, check_data=check_data)
    except UnfinishedPipelineError as error:
        if error.levels is None:
            further = further_problems(names_in(error.data), error.edits, error.uses)
        else:
            further = further_level_problems(error.levels, error.edits, error.uses)
        file = "" if isinstance(pipeline, Mapping) else str(pipeline)
        raise PipelineError(in_order([*error.problems, *further], file)) from error


def read_settings(text: str, name: str = "pipeline.yaml") -> Any:
    r"""Plain values of a YAML text, by the rules of the pipeline file: ``no`` is text, ``012`` is the number 12.

    Nothing is looked up or checked: neither keys, nor names, nor files.

    Parameters
    ----------
    text : str
    name : str, default "pipeline.yaml"
        Name of the file, for error messages.

    Returns
    -------
    dict, list, str, int, float, bool or None
        Keys are text, in file order.

    Raises
    ------
    PipelineError
        With the line and column of each mistake: no YAML, a key twice, a tag, a merge key.

    Examples
    --------
    >>> import maskwright as mw
    >>> mw.read_settings("protect:\n  - method: noise   # a comment\n    params: {share: 0.1}")
    {'protect': [{'method': 'noise', 'params': {'share': 0.1}}]}
    """
    return load_yaml(text, name, PipelineError).to_python()


@pipelines_own_plugins()
def pipeline_problems(text: str, path: str | Path) -> tuple[Problem, ...]:
    r"""Mistakes in the text of a pipeline, as they would be found if it stood in a file; data are not read.

    Parameters
    ----------
    text : str
    path : str or Path
        The file that it would stand in: names of files in it are relative to its folder.

    Returns
    -------
    tuple of Problem
        In file order, with line and column; nothing where none is found.

    Examples
    --------
    >>> import maskwright as mw
    >>> text = "maskwright: 1\ndata: {source: people.csv}\nprotect: [{method: microagregation}]\noutput: {data: m.csv}"
    >>> [str(each.place) for each in mw.pipeline_problems(text, "pipeline.yaml")]
    ['pipeline.yaml:2:16', 'pipeline.yaml:3:20']
    """
    problems: list[Problem] = []
    file = Path(path)
    try:
        root = load_yaml(text, file.name, problems=problems)
        if not root.is_mapping:
            raise PipelineError([*problems, Problem("a pipeline is a mapping of keys", root.place, HELP)])
        resolve_pipeline(file.absolute(), text, root, problems=problems)
    except InputError as error:
        return tuple(in_order(error.problems, file.name))
    return ()
