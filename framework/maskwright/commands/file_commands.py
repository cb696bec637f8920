"""What the commands on single files do: validate, measure, describe edits, start a pipeline."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from maskwright.commands.options import check_options, params_of
from maskwright.data.declaration import VariableDeclaration
from maskwright.data.households import with_households
from maskwright.data.inference import read_dataset
from maskwright.edits.edit_set import EditSet, WrongRulesError
from maskwright.edits.evaluation.check import unknown_variables
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.variable_ranges import written_out
from maskwright.foundation.errors import InputError, Problem, unknown_name
from maskwright.foundation.progress import Reporter, stage
from maskwright.plugins.registry import find_edit_reader, find_measure, find_source
from maskwright.plugins.source import batches_of, column_names
from maskwright.release.check_file import check_file
from maskwright.release.files import Release, writing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from maskwright.data.dataset import Dataset
    from maskwright.data.variable import Variable
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.edits.evaluation.check_data import Fired
    from maskwright.edits.languages.conversion.convert import Target
    from maskwright.plugins.source import Source


def validate_file(
    data: Path,
    edits: Sequence[Path],
    *,
    record: str | None,
    original: Path | None,
    svrl: Path | None,
    reporter: Reporter,
    fired: Fired = "summary",
    options: Mapping[str, object] | None = None,
) -> Outcome:
    """Check a data file against rule files, as a stream.

    Parameters
    ----------
    data, edits, original, svrl : Path
    record : str or None
        XML element that holds one record.
    reporter : Reporter
    fired : {"summary", "all"}
        Whether the SVRL report says once of each rule that it fired, or once for each record.
    options : mapping of name to value, optional
        Options of the data format (``max_text``) and of the rule language (``phase``, ``max_nesting``), by name.

    Raises
    ------
    InputError
        Bad input; a rule set in which nothing ever fired; zero records.
    """
    chosen = dict(options or {})
    check_options(chosen, (data, *([original] if original is not None else ())), edits)
    source, params = _source(data, record, chosen)
    try:
        rules = read_rule_files(edits, chosen)
    except WrongRulesError as error:
        names = column_names(source, data, params)
        exact = [edit for edit in error.edits if edit.binding == "exact"]
        raise InputError([*error.problems, *([] if names is None else unknown_variables(exact, names))]) from error
    for note in rules.notes:
        reporter.notice(note)
    domain: Domain | None = None
    if original is not None:
        with stage(reporter, f"Reading {original.name}"):
            domain = Domain.from_dataset(load_file(original, record, options=chosen), domain_tuples(rules))
    with contextlib.ExitStack() as stack:
        stream = None
        release = None
        if svrl is not None:
            release = stack.enter_context(Release({"svrl": svrl}, frozenset({"svrl"})))
            stack.enter_context(writing(release.temporary("svrl")))
            stream = stack.enter_context(release.temporary("svrl").open("wb"))
        with stage(reporter, f"Validating {data.name}") as progress:
            outcome = check_file(
                data, source, params, rules, domain=domain, svrl=stream, fired=fired, progress=progress
            )
        if not any(edit.fired for edit in outcome.edits):
            raise InputError(
                Problem(
                    f"no edit ever fired on the {outcome.records} records of {data.name}",
                    hint="Schematron: are the rules about another element than the records of this file (see --record "
                    "and their context)? Rules with 'when' or 'if': it is true of no record",
                )
            )
        if release is not None and stream is not None:
            stream.close()
            release.publish()
    return outcome


def measure_files(
    original: Path,
    masked: Path,
    measures: Sequence[str],
    overrides: Sequence[str],
    *,
    record: str | None,
    edits: Sequence[Path],
    key: str | None,
    weight: str | None = None,
    cluster: str | None = None,
    reporter: Reporter,
) -> dict[str, dict[str, Any]]:
    """Measure a masked file against its original; returns label to plain measurement."""
    from maskwright.commands.requests import measure_requests
    from maskwright.data.pairing import paired
    from maskwright.release.measuring import compute_measures, measurement_json

    wanted: dict[str, dict[str, object]] = {
        name: {} for name in (measures or ("pil", "sse", "distance_record_linkage"))
    }
    for name, parameter, value in (_override(text) for text in overrides):
        if name not in wanted:
            raise InputError(f"--set {name}.{parameter}: {unknown_name('chosen measure', name, wanted)}")
        wanted[name][parameter] = value
    try:
        requests = measure_requests([{name: params} for name, params in wanted.items()])
    except InputError as error:
        raise InputError([replace(each, hint=each.hint or _list_form(wanted)) for each in error.problems]) from None
    with stage(reporter, "Reading"):
        declared = {} if weight is None else {weight: VariableDeclaration(role="weight")}
        before, after = load_file(original, record, declared), load_file(masked, record)
    if cluster is not None:
        before = with_households(before, cluster).without([cluster])
    if key is not None:
        before, after = paired(before, after, key)
    missing = [
        column.name
        for column in before
        if column.variable.is_numeric and column.variable.role == "confidential" and column.name not in after
    ]
    for name in missing:
        reporter.notice(f"{name} is not in the masked file and is not measured")
    found = compute_measures(requests, before, after, read_rule_files(edits), {}, 0, reporter, asked=bool(measures))
    return {request.label: measurement_json(request, found[request.label]) for request in requests}


def describe_edits(
    files: Sequence[Path], *, data: Path | None, record: str | None, reporter: Reporter, language: str | None = None
) -> dict[str, Any]:
    """List edits with kind and text, and analyse them; with data, how many records satisfy each.

    With data, published decimals are those of its cells, and the analysis says whether they can be met.
    """
    from maskwright.edits.analysis.analyse import analyse

    rules = read_rule_files(files, language=language)
    counts: Mapping[str, Any] = {}
    records = None
    variables: tuple[Variable, ...] = ()
    if data is not None:
        with stage(reporter, f"Reading {data.name}"):
            dataset = load_file(data, record)
        variables = dataset.variables
        rules = written_out(rules, dataset.names)
        with stage(reporter, f"Checking {data.name}"):
            outcome = check_dataset(dataset, rules, Domain.from_dataset(dataset, domain_tuples(rules)))
        counts = {edit.name: edit for edit in outcome.edits}
        records = outcome.records
    with stage(reporter, "Analysing the edits"):
        analysis = analyse(rules, variables)
    # Warnings stop nothing, so neither do contradictions with them.
    warnings = {edit.name for edit in rules if edit.severity != "error"}
    blocked = any(warnings.isdisjoint(finding.edits) for finding in analysis.blocking)

    def satisfied(name: str) -> dict[str, int | None]:
        if name not in counts:
            return {"satisfied": None, "violations": None, "unknown": None, "fired": None}
        found = counts[name]
        return {
            "satisfied": found.fired - found.violations - found.unknown,
            "violations": found.violations,
            "unknown": found.unknown,
            "fired": found.fired,
        }

    return {
        "records": records,
        "edits": [
            {
                "name": edit.name,
                "kind": edit.kind,
                "severity": edit.severity,
                "text": edit.text,
                "variables": list(edit.variables),
                "place": None if edit.place is None else str(edit.place),
                **satisfied(edit.name),
            }
            for edit in rules
        ],
        "analysis": {"blocked": blocked, **analysis.to_json()},
        "notes": list(rules.notes),
    }


def convert_rules(
    files: Sequence[Path],
    target: Target,
    *,
    language: str | None,
    data: Path | None,
    record: str | None,
    decimals: int | None,
    reporter: Reporter,
) -> str:
    """Rules of some files in another language; what differs is said as notices.

    Parameters
    ----------
    files : sequence of Path
    target : {"yaml", "schematron"}
    language : str, optional
        Edit reader; by default the file names' endings tell.
    data : Path, optional
        Gives the decimals, and the order of variables.
    record : str, optional
        Element of one record, for Schematron.
    decimals : int, optional
        Most decimals of the variables; what the data say otherwise, else 4.

    Raises
    ------
    EditError
        Edits that the other language cannot say, by name.
    """
    rules = read_rule_files(files, language=language)
    grids: int | dict[str, int | None] = 4 if decimals is None else decimals
    if data is not None:
        with stage(reporter, f"Reading {data.name}"):
            original = load_file(data, record)
        rules = written_out(rules, [column.name for column in original])
        if decimals is None:
            grids = {column.name: column.variable.decimals for column in original if column.variable.is_numeric}
    from maskwright.edits.languages.conversion.convert import convert_edits  # heavy: validate does without

    found = convert_edits(rules, target, record=record or "Record", decimals=grids)
    for note in (*rules.notes, *found.notes):
        reporter.notice(note)
    return found.text


def read_rule_files(
    files: Sequence[Path], options: Mapping[str, object] | None = None, language: str | None = None
) -> EditSet:
    """Edits of several files, in order; edits without a name of their own are numbered through.

    Parameters
    ----------
    files : sequence of Path
    options : mapping, optional
        By name; each rule language takes those it knows.
    language : str, optional
        Of all files; by default their endings tell.

    Raises
    ------
    WrongRulesError
        With the mistakes of every file, and the rules that were understood.
    """
    edits = EditSet()
    problems: list[Problem] = []
    for path in files:
        try:
            reader = find_edit_reader(language or path)
            edits = edits.joined(reader.read_with(path, params_of(reader.params, options or {}, reader.name)))
        except InputError as error:
            problems.extend(error.problems)
            edits = edits.joined(error.edits) if isinstance(error, WrongRulesError) else edits
    if problems:
        raise WrongRulesError(problems, edits)
    return edits


def _source(path: Path, record: str | None, options: Mapping[str, object] | None = None) -> tuple[Source, Any]:
    source = find_source(path)
    stated = dict(options or {}) | ({"record": record} if record is not None else {})
    return source, params_of(source.params, stated, source.name) or source.params()


def load_file(
    path: Path,
    record: str | None,
    declared: Mapping[str, VariableDeclaration] | None = None,
    options: Mapping[str, object] | None = None,
) -> Dataset:
    """Read a data file, with what is declared of its variables."""
    source, params = _source(path, record, options)
    reading = source.open(path, params, lambda _: None)
    with batches_of(reading) as batches:
        return read_dataset(batches, lambda: reading.layout, declared, file=path.name)


def _list_form(measures: Iterable[str]) -> str | None:
    """How the command line gives a list to the first of the measures that takes one."""
    for name in measures:
        for parameter, field in find_measure(name).params.model_fields.items():
            if "list[" in str(field.annotation) or "tuple[" in str(field.annotation):
                return f"a list is given in brackets and quotes: --set '{name}.{parameter}=[region,sex,age]'"
    return None


def _override(text: str) -> tuple[str, str, object]:
    from maskwright.foundation.errors import Place
    from maskwright.pipeline.overrides import value_of

    target, equals, value = text.partition("=")
    name, dot, parameter = target.partition(".")
    if not (equals and dot and name and parameter):
        raise InputError(f"--set {text}: expected name.parameter=value, for instance pil.bandwidth=last-column")
    return name, parameter, value_of(value, Place(f"--set {target}")).to_python()


STARTING_PIPELINE = """\
# A Maskwright pipeline: which data, which edits, how to protect, what to measure, what to write.
# Every path is relative to this file. See what it would do:  maskwright plan pipeline.yaml
maskwright: 1

data:
  source: microdata.csv        # .xml, .csv or .parquet
  # record: Record             # XML only: the element that holds one record
  # variables:                 # only what differs: numbers are confidential and masked, text is left alone
  #   id: {role: identifier}   # never released
  #   weight: {role: weight}   # kept as it is
  #   age: {role: quasi_identifier}

edits:                         # what must hold in every released record
  # - schematron: rules.sch
  # - gross = net + tax
  # - 0 <= age <= 120
  # - if age < 16 then wages = 0

protect:
  - method: microaggregation
    params: {k: 5}

measure: [pil, distance_record_linkage, score]
# thresholds: {score: 40}      # nothing is released on the wrong side

output:
  data: masked.csv
  report: report.html
  record: run.json             # holds the seed: confidential
  public_record: about.json    # may be published with the data
"""


def write_starting_pipeline(folder: Path) -> Path:
    """Write a commented ``pipeline.yaml``; an existing one is left alone.

    Raises
    ------
    InputError
        When the file exists or cannot be written.
    """
    path = folder / "pipeline.yaml"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as stream:
            stream.write(STARTING_PIPELINE)
    except FileExistsError:
        raise InputError(f"{path} exists; it was left alone") from None
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error
    return path
