"""Functions for notebooks and scripts: read, protect, validate, measure; a pandas DataFrame is as good as a Dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from maskwright.commands.requests import MeasureNames, measure_requests, step_request
from maskwright.data.dataset import Dataset
from maskwright.data.declaration import VariableDeclaration
from maskwright.data.frames import dataset_from_frame, frame_from_dataset
from maskwright.data.households import with_household_role, with_households
from maskwright.data.inference import read_dataset
from maskwright.data.pairing import paired
from maskwright.edits.edit import EditSet
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.languages.yaml.variable_ranges import written_out
from maskwright.edits.localisation import localize as localisation
from maskwright.edits.suggestions.suggest import suggest as suggest_rules
from maskwright.foundation.errors import EditViolation, InputError, Problem
from maskwright.foundation.progress import Quiet, Reporter, silent
from maskwright.foundation.randomness import fresh_seed
from maskwright.masking.context import Execution
from maskwright.masking.mask import mask
from maskwright.planning.applicable_edits import applicable, declared_bounds, refuse_contradictions, refuse_identifiers
from maskwright.planning.dropped_edits import dropped_edit_notices, without_dropped
from maskwright.planning.plan import make_plan
from maskwright.planning.publication_warnings import (
    publication_notices,
    refuse_arithmetic_on_text,
    suspicious_edit_notices,
)
from maskwright.plugins.parameters import checked_params
from maskwright.plugins.registry import find_edit_reader, find_source
from maskwright.plugins.source import batches_of
from maskwright.release.measuring import compute_measures

if TYPE_CHECKING:
    import pandas as pd

    from maskwright.edits.evaluation.check import Outcome
    from maskwright.edits.localisation.localize import Localisation
    from maskwright.edits.suggestions.model import Suggestions
    from maskwright.masking.masking_result import MaskingResult
    from maskwright.plugins.measure import Measurement

    Data = Dataset | pd.DataFrame
    AnyData = TypeVar("AnyData", Dataset, pd.DataFrame)

Declarations = Mapping[str, Mapping[str, object] | VariableDeclaration]


def read(
    path: str | Path,
    *,
    variables: Declarations | None = None,
    file_format: str | None = None,
    cluster: str | None = None,
    **options: object,
) -> Dataset:
    """Read a file of microdata.

    Parameters
    ----------
    path : str or Path
        XML, CSV or Parquet, told by its ending.
    variables : mapping of name to declaration, optional
        ``{"V1": {"role": "weight"}}``; the rest is inferred.
    file_format : str, optional
        Name of the source plugin, when the ending does not tell.
    cluster : str, optional
        Variable that identifies households: k and linkage then count households. Its role is
        `other` unless it is declared otherwise.
    **options
        Of the format: ``record="Record"`` (XML), ``delimiter=";"``, ``encoding="latin-1"`` (CSV).

    Raises
    ------
    DataError
        The file is missing, damaged or hostile, or a column is part numbers, part text.
    """
    source = find_source(file_format or Path(path))
    params = checked_params(source.params, options, f"options of {source.name}")
    reading = source.open(Path(path), params, silent)
    declared = _declared(variables)
    if cluster is not None:
        declared = with_household_role(declared, cluster)
    with batches_of(reading) as batches:
        data = read_dataset(batches, lambda: reading.layout, declared, file=str(path))
    return data if cluster is None else with_households(data, cluster)


def read_edits(path: str | Path, language: str | None = None, **options: object) -> EditSet:
    """Read edits from a rule file.

    Parameters
    ----------
    path : str or Path
    language : str, optional
        ``yaml``, ``schematron``, ``validate``, ``banff`` or that of a plugin; by default the file's ending tells.
    **options
        Of the rule language, for instance ``phase="release"`` of Schematron; ``maskwright explain schematron``.

    Raises
    ------
    EditError
        With every mistake: file, line, column, what was expected.
    """
    reader = find_edit_reader(language or Path(path))
    if not options:
        return reader.read(Path(path))
    if reader.params is None:
        raise InputError(f"rules in {reader.name} have no options, and these were given: {', '.join(options)}")
    return reader.read(Path(path), checked_params(reader.params, options, f"options of {reader.name}"))


def protect(
    data: AnyData,
    method: str,
    *,
    edits: EditSet | Sequence[object] | None = None,
    seed: int | None = None,
    params: Mapping[str, object] | None = None,
    variables: Sequence[str] | None = None,
    groups: Sequence[Sequence[str]] = (),
    declared: Declarations | None = None,
    workers: int = 1,
    block_size: int | None = None,
    reporter: Reporter | None = None,
) -> AnyData:
    """Mask data with one method so that every edit holds.

    Parameters
    ----------
    data : Dataset or pandas.DataFrame
        Left as it is.
    method : str
        Name of a method plugin.
    edits : EditSet or sequence of rules, optional
    seed : int, optional
        The same data, version and seed give the same values; a fresh one is drawn otherwise.
    params : mapping, optional
        Of the method (``k``) and of the planner (``group_size``, ``grouping``, ``k_guarantee``).
    variables : sequence of str, optional
        To mask; by default the numeric ones with role confidential or quasi_identifier.
    groups : sequence of sequences of str
        Variables to mask together.
    declared : mapping of name to declaration, optional
        For a DataFrame: types, roles, decimals.
    workers : int
    block_size : int, optional
        Largest block; by default all records at once.

    Returns
    -------
    Dataset or pandas.DataFrame
        The type that came in; identifiers are dropped.

    Raises
    ------
    InputError
        Bad parameters, edits that contradict each other or cannot be met on the grid.
    EditViolation
        When an edit of severity error does not hold in the result.
    """
    result = mask_data(
        data, method, edits=edits, seed=seed, params=params, variables=variables, groups=groups, declared=declared,
        workers=workers, block_size=block_size, reporter=reporter,
    )  # fmt: skip
    if isinstance(data, Dataset):
        return result.masked
    return frame_from_dataset(result.masked, data)


def mask_data(
    data: Data,
    method: str,
    *,
    edits: EditSet | Sequence[object] | None = None,
    seed: int | None = None,
    params: Mapping[str, object] | None = None,
    variables: Sequence[str] | None = None,
    groups: Sequence[Sequence[str]] = (),
    declared: Declarations | None = None,
    workers: int = 1,
    block_size: int | None = None,
    reporter: Reporter | None = None,
) -> MaskingResult:
    """Mask data as `protect` does, and return with them what was done: adjusted records, cost, k.

    Parameters and errors are those of `protect`.
    """
    reporter = reporter or Quiet()
    original = _dataset(data, declared)
    step = step_request(method, params or {}, variables, groups)
    if original.households is not None and step.promised is not None and not step.method.counts_households:
        raise InputError(f"{method} counts k in single records, and the data declare households")
    stated = written_out(_edits(edits), [column.name for column in original]) + declared_bounds(original.variables)
    refuse_identifiers(stated, [column.name for column in original if column.variable.role == "identifier"])
    domain = Domain.from_dataset(original, domain_tuples(stated))
    arrival = check_dataset(original, stated, domain)
    rules, _ = applicable(stated, arrival, original)
    fired, rules = rules, without_dropped(rules, [step], original.variables)
    refuse_contradictions(rules, original.variables, thorough=False)
    refuse_arithmetic_on_text(rules, original)
    broken = {each.name: each.violations for each in arrival.edits}
    plan = make_plan([step], original.variables, rules, original, broken)
    kept = {edit.name for edit in rules}
    for notice in dropped_edit_notices([edit for edit in fired if edit.name not in kept]):
        reporter.notice(notice)
    for warning in (*suspicious_edit_notices(arrival), *plan.warnings, *publication_notices(original, plan, broken)):
        reporter.notice(warning)
    result = mask(
        original, rules, plan, fresh_seed() if seed is None else seed, Execution(workers, block_size), reporter
    )
    for notice in result.notices:
        reporter.notice(notice)
    outcome = check_dataset(result.masked, result.edits, domain)
    failing = [each for each in outcome.edits if each.violations and each.severity == "error"]
    if failing:
        raise EditViolation(
            [
                Problem(f"edit {each.name!r} does not hold in {each.violations} of {outcome.records} masked records")
                for each in failing
            ]
        )
    return result


def validate(
    data: Data, edits: EditSet | Sequence[object], *, original: Data | None = None, declared: Declarations | None = None
) -> Outcome:
    """Verdict of every edit on every record.

    Parameters
    ----------
    data : Dataset or pandas.DataFrame
    edits : EditSet or sequence of rules
    original : Dataset or pandas.DataFrame, optional
        The original file, for values-exist-in-domain edits.
    declared : mapping of name to declaration, optional
        For DataFrames.

    Returns
    -------
    Outcome
        ``ok``, ``violations`` (DataFrame), ``counts`` (edit name to violations).
    """
    stated = _edits(edits)
    domain = None if original is None else Domain.from_dataset(_dataset(original, declared), domain_tuples(stated))
    return check_dataset(_dataset(data, declared), stated, domain)


def localize(
    data: Data,
    edits: EditSet | Sequence[object],
    *,
    weights: Mapping[str, float] | None = None,
    original: Data | None = None,
    declared: Declarations | None = None,
) -> Localisation:
    """Fields to change, for each record that violates edits: the smallest weighted set (Fellegi and Holt).

    Parameters
    ----------
    data : Dataset or pandas.DataFrame
    edits : EditSet or sequence of rules
    weights : mapping of name to float, optional
        How much each variable is trusted; 1 unless given. Positive.
    original : Dataset or pandas.DataFrame, optional
        The original file, for values-exist-in-domain edits.
    declared : mapping of name to declaration, optional
        For DataFrames.

    Returns
    -------
    Localisation
        ``fields`` (DataFrame of record and variable), ``counts`` (by variable), ``obstacles`` (records without a set).
        Confidential.
    """
    stated = _edits(edits)
    domain = None if original is None else Domain.from_dataset(_dataset(original, declared), domain_tuples(stated))
    return localisation.localize(_dataset(data, declared), stated, weights, domain)


def suggest(
    data: Data,
    edits: EditSet | Sequence[object] | None = None,
    *,
    share: float = 1.0,
    declared: Declarations | None = None,
) -> Suggestions:
    """Find rules that hold in data: sums, products, constants, proportions, orderings, ranges, listed values.

    They are suggestions, for a person to accept or reject, and they come from the data: publishing them discloses it.

    Parameters
    ----------
    data : Dataset or pandas.DataFrame
    edits : EditSet or sequence of rules, optional
        Rules that are known; what follows from them is not suggested.
    share : float, default 1
        Suggest what holds in at least this share of the records.
    declared : mapping of name to declaration, optional
        For a DataFrame.

    Returns
    -------
    Suggestions
        ``found`` (each with ``rule``, ``records``, ``of``), ``notes``.
    """
    return suggest_rules(_dataset(data, declared), _edits(edits), share)


def measure(
    original: Data,
    masked: Data,
    measures: MeasureNames | None = None,
    *,
    edits: EditSet | Sequence[object] | None = None,
    key: str | None = None,
    cluster: str | None = None,
    variables: Sequence[str] | None = None,
    declared: Declarations | None = None,
    seed: int = 0,
    reporter: Reporter | None = None,
) -> dict[str, Measurement]:
    """Information loss and disclosure risk of a masked file.

    Parameters
    ----------
    original, masked : Dataset or pandas.DataFrame
        Records are paired in order, or by `key`. Files of different length without a key are not paired: measures that
        compare files as files take them.
    measures : sequence of names or of {name: params}, optional
        By default ``pil`` and ``sse``; of these, what needs pairs of records is not computed where there are none, and
        a note says so.
    edits : EditSet or sequence of rules, optional
        For measures that use them.
    key : str, optional
        Variable that identifies a record in both files; it is not measured.
    cluster : str, optional
        Variable of the original that identifies households, when `read` was not told.
    variables : sequence of str, optional
        To compare; by default the numeric confidential and quasi-identifying ones of both files.
    seed : int
        For measures that sample.

    Returns
    -------
    dict of label to Measurement

    Raises
    ------
    InputError
        Unknown measures or variables; measures asked for that need pairs of records, where there are none.
    """
    before, after = _dataset(original, declared), _dataset(masked, declared)
    if cluster is not None:
        before = with_households(before, cluster).without([cluster])
    if key is not None:
        before, after = paired(before, after, key)
    requests = measure_requests(("pil", "sse") if measures is None else measures)
    return compute_measures(
        requests, before, after, _edits(edits), {}, seed, reporter or Quiet(), variables, asked=measures is not None
    )


def _dataset(data: Data, declared: Declarations | None = None) -> Dataset:
    return data if isinstance(data, Dataset) else dataset_from_frame(data, _declared(declared))


def _declared(variables: Declarations | None) -> dict[str, VariableDeclaration]:
    found: dict[str, VariableDeclaration] = {}
    for name, stated in (variables or {}).items():
        if isinstance(stated, VariableDeclaration):
            found[name] = stated
        else:
            found[name] = checked_params(VariableDeclaration, stated, f"declaration of {name}")  # type: ignore[assignment]
    return found


def _edits(edits: EditSet | Sequence[object] | None) -> EditSet:
    if edits is None:
        return EditSet()
    return edits if isinstance(edits, EditSet) else EditSet.parse(edits)
