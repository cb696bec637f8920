"""Verdict of every rule on every record of data or a file, and on any XML document as a whole."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import IO, TYPE_CHECKING

from maskwright.commands.declared_variables import naming_recoded
from maskwright.commands.named_originals import named_originals
from maskwright.commands.options import (
    NO_OPTIONS,
    ReadingOptions,
    data_files,
    pipeline_levels,
    read_rule_files,
    uses_of_declared,
)
from maskwright.commands.reading import dataset_of, domain_of, load, refuse_xpath_on_commas
from maskwright.commands.requests import DeclaredVariables, Rules, edits_of
from maskwright.data.declaration import VariableDeclaration, declared_together, with_missing_codes
from maskwright.data.levels.linked_data import LinkedData
from maskwright.data.variable import Variable, VariableType
from maskwright.edits.edit_set import WrongRulesError
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.evaluation.edit_names import unknown_variables
from maskwright.edits.languages.schematron.binding import bound_to
from maskwright.edits.type_resolution import with_dates
from maskwright.foundation.errors import DataError, EditError, InputError, Problem, refuse_problems
from maskwright.foundation.files import reads_noted, refuse_to_overwrite
from maskwright.foundation.progress import Reporter, notify, stage
from maskwright.pipeline.variable_names import names_in, unknown_uses
from maskwright.plugins.registry import find_rule_language
from maskwright.plugins.source import column_names
from maskwright.release.file_validation import check_file
from maskwright.release.files import Release, output_stream

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from maskwright.commands.levels.input_files import FileOfLevels
    from maskwright.data.frame_libraries import Data
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.edits.evaluation.check_data import Fired
    from maskwright.pipeline.resolved import DataSource


@contextlib.contextmanager
def svrl_report(path: Path | None, reporter: Reporter) -> Iterator[IO[bytes] | None]:
    """Stream for a report, which is put in place where the body ends without an error; None where none is wanted."""
    if path is None:
        yield None
        return
    with Release({"svrl": path}, frozenset({"svrl"})) as release:
        with output_stream(release, "svrl", is_wanted=True) as stream:
            yield stream
        release.publish()
        notify(reporter, release.notices)


@contextlib.contextmanager
def suggesting_a_whole_document(document: Path, rules: Sequence[Path]) -> Iterator[None]:
    """Add to what is wrong with rules or data as records that they can be checked as a whole, where they can."""
    try:
        yield
    except InputError as error:
        # A mistake in a rule that was read, such as a variable's name, is one of a file of records.
        of_records = isinstance(error, EditError) or len(rules) != 1 or document.suffix.lower() != ".xml"
        if of_records:
            raise
        from maskwright.commands.validate_document import is_whole  # of documents

        if not is_whole(document, rules[0]):
            raise
        kind = DataError if isinstance(error, DataError) else InputError
        way = f"maskwright validate {document} --edits {rules[0]} --document"
        whole = Problem("an XML document that is no file of records is checked as a whole", hint=way)
        raise kind([*error.problems, whole]) from error


def validate(
    data: Data | LinkedData,
    edits: Rules,
    *,
    original: Data | LinkedData | None = None,
    declared: DeclaredVariables | None = None,
    allow_unknown: bool = False,
) -> Outcome:
    """Verdict of every edit on every record.

    Parameters
    ----------
    data : Dataset or data frame, or LinkedData
        Of several levels, each edit is checked on the records of its level, and so is what linking rests on.
    edits : EditSet or sequence of rules
    original : Dataset or data frame, or LinkedData, optional
        The original file, for values-exist-in-domain edits.
    declared : mapping of name to declaration, optional
        For data frames.
    allow_unknown : bool, default False
        Whether the data are ``ok`` though the verdict of an edit is unknown in every record.

    Returns
    -------
    Outcome
        ``ok``, ``violations`` (DataFrame), ``counts`` (edit name to violations), ``undecided`` (edits that are unknown
        in every record, and why).

    Raises
    ------
    InputError
        Wrong rules or declarations; edits on variables that the data do not have.

    Examples
    --------
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> data = pd.DataFrame({"wages": [5, 7], "pensions": [2, 1], "income": [7, 9]})
    >>> mw.validate(data, ["wages + pensions == income"]).counts
    {'edit-1': 1}
    """
    stated = edits_of(edits)
    if isinstance(data, LinkedData):
        if original is not None and not isinstance(original, LinkedData):
            hint = "Link it as the data were linked: mw.linked_data(...)."
            raise InputError(Problem("the data are of several levels, the original is not", hint=hint))
        from maskwright.planning.levels.bound_edits import check_linked, edits_of_levels

        return replace(check_linked(data, edits_of_levels(stated, data), original), allow_unknown=allow_unknown)
    if isinstance(original, LinkedData):
        hint = "Link them as the original was linked: mw.linked_data(...)."
        raise InputError(Problem("the original is of several levels, the data are not", hint=hint))
    domain = domain_of(original, declared, stated)
    checked = dataset_of(data, declared)
    outcome = check_dataset(checked, with_dates(bound_to(stated, checked.layout), checked.variables), domain)
    return replace(outcome, allow_unknown=allow_unknown)


@reads_noted()
def validate_file(
    data: Path,
    edits: Sequence[Path],
    *,
    original: Path | None = None,
    svrl: Path | None = None,
    reporter: Reporter,
    fired: Fired = "summary",
    options: ReadingOptions = NO_OPTIONS,
    allow_unknown: bool = False,
    others_of_levels: Sequence[Path] = (),
) -> Outcome:
    """Check a data file against rule files, as a stream."""
    inputs = {
        "the data": data,
        **{f"the data {path.name}": path for path in others_of_levels},
        **{f"the rules {path.name}:": path for path in edits},
    }
    if original is not None:
        inputs["the original"] = original
    if options.pipeline is not None:
        inputs["the pipeline"] = options.pipeline
    refuse_to_overwrite({} if svrl is None else {"--svrl": svrl}, inputs)
    leveled = _file_of_levels((data, *others_of_levels), edits, options, original, reporter)
    checked, *others = data_files((data, *([] if original is None else [original])), options, edits)
    with suggesting_a_whole_document(data, edits):
        rules = _rules_of_flat(edits, options, checked) if leveled is None else leveled.rules
    refuse_xpath_on_commas(rules, (checked,))
    notify(reporter, rules.notes)
    if original is not None:
        notify(reporter, tuple(named_originals(rules, original)))
    domain = _domain(others, rules, reporter)

    def described(of_file: Mapping[str, VariableDeclaration]) -> dict[str, Variable]:
        together = declared_together(of_file, checked.variables)
        coded = with_missing_codes(together, checked.missing, together)
        return {name: _known(name, each) for name, each in coded.items()}

    with svrl_report(svrl, reporter) as stream:
        with (
            stage(reporter, f"Validating {data.name}") as progress,
            suggesting_a_whole_document(data, edits),
            naming_recoded(options.pipeline),
        ):
            if leveled is not None:
                outcome = leveled.check(stream, fired, progress)
            else:
                outcome = check_file(
                    data, checked.source, checked.params, rules, domain=domain,
                    described=described,
                    others=_known("", VariableDeclaration(missing=checked.missing)),
                    svrl=stream, fired=fired, progress=progress, notice=reporter.notice,
                )  # fmt: skip
        if not any(edit.fired for edit in outcome.edits):
            with suggesting_a_whole_document(data, edits):
                raise InputError(
                    Problem(
                        f"no edit ever fired on the {outcome.records} records of {data.name}",
                        hint="Schematron: are the rules about another element than the records of this file (see "
                        "--record and their context)? Rules with 'when' or 'if': it is true of no record",
                    )
                )
    return replace(outcome, allow_unknown=allow_unknown)


def _file_of_levels(
    files: Sequence[Path], rules: Sequence[Path], options: ReadingOptions, original: Path | None, reporter: Reporter
) -> FileOfLevels | None:
    """A file as one of several levels; None: it is flat, as any file is that no pipeline and no Schematron is about."""
    if pipeline_levels(options, files) is None and any(find_rule_language(path).name != "schematron" for path in rules):
        return None
    from maskwright.commands.levels.input_files import file_of_levels  # of several levels

    return file_of_levels(files, rules, options, original, reporter)


def _refuse_unknown_names(options: ReadingOptions, data: DataSource) -> None:
    """Refuse to declare, on the command line, a variable that the file does not have."""
    uses = uses_of_declared(options)
    names = names_in(data) if uses else None
    unknown = [] if names is None else unknown_uses(uses, names)
    refuse_problems(unknown)


def _domain(originals: Sequence[DataSource], rules: EditSet, reporter: Reporter) -> Domain | None:
    """What occurs in the original file; None where none is named."""
    for file in originals:
        with stage(reporter, f"Reading {file.name}"):
            return Domain.from_dataset(load(file, identifiers=True), domain_tuples(rules))
    return None


def _rules_of_flat(edits: Sequence[Path], options: ReadingOptions, data: DataSource) -> EditSet:
    """Rules of files; where one has a mistake, those about names that the data do not have are reported with it."""
    _refuse_unknown_names(options, data)
    try:
        return read_rule_files(edits, options)
    except WrongRulesError as error:
        names = column_names(data.source, data.path, data.params)
        exact = [edit for edit in error.edits if edit.binding == "exact"]
        raise InputError([*error.problems, *([] if names is None else unknown_variables(exact, names))]) from error


def _known(name: str, declared: VariableDeclaration) -> Variable:
    """A variable as far as its declaration tells, for checking a file as a stream: missing codes, decimals, dates."""
    dated: VariableType = "datetime" if declared.is_datetime else "date"
    return Variable(
        name,
        type=dated if declared.is_date else declared.type or ("nominal" if declared.categories else "continuous"),
        decimals=declared.decimals,
        date_format=declared.date_format if declared.is_date else None,
        missing_codes=declared.missing_codes,
        missing_meanings=declared.missing_meanings,
        suppressed_as=declared.suppressed_as,
    )
