"""Data and edits loaded: read, checked against each other, and found fit for a plan. Every run begins here."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from maskwright.commands.named_originals import named_originals
from maskwright.commands.reading import load, refuse_xpath_on_commas
from maskwright.data.dataset import Dataset
from maskwright.data.variable import Variable
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.languages.schematron.binding import bound_to
from maskwright.edits.normalisation import written_out
from maskwright.edits.type_resolution import with_category_equalities, with_dates, with_grids
from maskwright.foundation.counts import plural
from maskwright.foundation.doubts import Doubt
from maskwright.foundation.errors import EditError, InputError, Problem, refuse_problems
from maskwright.foundation.findings import Notice, notices_of
from maskwright.foundation.processes.resources import give_back_memory
from maskwright.foundation.progress import Reporter, stage
from maskwright.foundation.release_outcomes import EditViolation
from maskwright.pipeline.edits_section import read_edits_of
from maskwright.pipeline.resolved import DataInMemory, DataSource, Pipeline
from maskwright.pipeline.steps import declared_keys
from maskwright.pipeline.variable_names import (
    further_level_problems,
    further_problems,
    in_order,
    names_in,
    unknown_uses,
    unpublished_uses,
)
from maskwright.planning.applicable_edits import (
    applicable,
    declared_bounds,
    identifiers_of,
    refuse_contradictions,
    refuse_identifiers,
    without_violations,
)
from maskwright.planning.warnings.misspelt_categories import misspelt_category_doubts
from maskwright.planning.warnings.publication_warnings import (
    refuse_arithmetic_on_text,
    undecided_doubts,
)
from maskwright.planning.warnings.wrong_edits import wrong_edit_doubts
from maskwright.release.pseudonymisation import Keys, key_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from maskwright.edits.edit import Edit
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.edits.evaluation.outcomes import EditOutcome
    from maskwright.pipeline.resolved import MaskingRequest


@dataclass(eq=False)
class Clock:
    """Seconds spent in each stage."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Add the time that the work inside takes to the stage `name`."""
        start = time.perf_counter()
        try:
            yield
        finally:
            give_back_memory()
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - start, 4)


@dataclass(frozen=True, eq=False)
class CheckedInput:
    """Data and edits as they are before any step: several pipelines that differ in their steps share them.

    `edits`: that fire on these data. `arrival`: verdicts on the original, without records that were dropped, before
    fields were mended. `broken`: records that violate it, after what `on_input_violation` did. `identifiers`: declared,
    and not among the variables of `original`. `keys`: those of them, and the variable that names households, that are
    published with new values. `doubts`: what was not surely understood. `as_it_came`: verdicts on all records, those
    that were dropped among them; None: `arrival` has them. `left_out`: records that were dropped since they violate an
    edit. `localisation`: under ``on_input_violation: localize``: which fields of which records were adjusted;
    confidential.
    """

    original: Dataset
    edits: EditSet
    arrival: Outcome
    broken: Mapping[str, int]
    identifiers: tuple[Variable, ...] = ()
    notices: tuple[Notice, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    localisation: Mapping[str, Any] | None = None
    keys: Keys = field(default_factory=lambda: Keys(Dataset(())))
    as_it_came: Outcome | None = None
    left_out: int = 0


def load_input(
    request: MaskingRequest, reporter: Reporter, clock: Clock | None = None, *, thorough: bool = True
) -> CheckedInput:
    """Read data and edits, and check the original: all that does not depend on the steps."""
    timed = clock or Clock()
    original, rules, identifiers, keys, whole = _read(request, reporter, timed)
    came = len(original)
    checks = tuple(name for name in whole.names if name not in original)
    hidden = [variable.name for variable in identifiers]
    cluster = request.data.cluster
    known = [*original.names, *hidden, *([] if cluster is None else [cluster])]
    problems = [*unknown_uses(request.uses, known), *unpublished_uses(request.uses, known[len(original.names) :])]
    try:
        stated = written_out(bound_to(rules, original.layout), original.names, hidden)
        stated += declared_bounds(original.variables, stated)
        stated, checking = about_unpublished(stated, checks)
        refuse_identifiers(checking, (), keys.names)
        refuse_identifiers(stated, hidden, keys.names)
        with explained_by(whole.doubts):
            rows, unpublished, broken_there = check_unpublished(request, whole, checking, checks)
        if rows is not None:
            original, keys = left_of(original, rows), replace(keys, old=keys.old.taken(rows))
        with explained_by(original.doubts):
            stated = with_category_equalities(with_dates(stated, original.variables), original.variables)
            original = with_grids(original, stated)
        with timed("check"), stage(reporter, "Checking the original"):
            domain = Domain.from_dataset(original, domain_tuples(stated))
            arrival = check_dataset(original, stated, domain)
    except InputError as error:
        raise InputError(in_order([*problems, *error.problems], request.file)) from error
    if problems:
        raise InputError(in_order(problems, request.file))
    edits, silent_notices = applicable(stated, arrival, original)
    wrong = (*wrong_edit_doubts(arrival.edits, edits, original), *misspelt_category_doubts(edits, original))
    with timed("analyse"), stage(reporter, "Analysing the edits"), explained_by(original.doubts):
        rule_notices = refuse_contradictions(edits, original.variables, thorough=thorough)
        refuse_arithmetic_on_text(edits, original)
    located: dict[str, Any] | None = None
    left = arrival
    if request.on_input_violation == "localize":
        original, located, more = _with_errors_located(request, original, edits, domain, reporter, timed)
        broken = {each.name: each.violations for each in check_dataset(original, edits, domain).edits}
    else:
        kept, left, more = _on_violation(request, original, edits, arrival)
        if kept is not None:
            original, keys = kept[0], replace(keys, old=keys.old.taken(kept[1]))
        broken = {each.name: each.violations for each in left.edits}
    dropped = came - len(original)
    violated = (*broken_there, *violated_edits(arrival.edits))
    doubts = (
        *original.doubts, *wrong, *undecided_doubts(left), *dropped_doubts(dropped, came, "records", violated),
    )  # fmt: skip
    gone = identifier_notices(each.name for each in identifiers if not each.renewed)
    read = (*notices_of("reading", original.notes), *notices_of("rules", _notes_of_rules(request, rules, stated)))
    notices = (*gone, *unpublished, *read, *silent_notices, *more, *rule_notices)
    return CheckedInput(original, edits, left, broken, identifiers, notices, doubts, located, keys, arrival, dropped)


def _notes_of_rules(request: MaskingRequest, rules: EditSet, stated: EditSet) -> tuple[str, ...]:
    file = request.data.path if isinstance(request.data, DataSource) else None
    return (*stated.notes, *named_originals(rules, file))


def _with_errors_located(
    request: MaskingRequest, original: Dataset, edits: EditSet, domain: Domain, reporter: Reporter, timed: Clock
) -> tuple[Dataset, dict[str, Any], tuple[Notice, ...]]:
    """Original with the fewest fields adjusted, which they are, and notices."""
    from maskwright.masking.field_adjustment import with_errors_located  # with all that adjusts values

    trusted = {name: each.reliability for name, each in request.data.variables.items() if name in original}
    with timed("localize"), stage(reporter, "Locating errors") as progress:
        return with_errors_located(original, edits, trusted, domain, progress, request.execution.workers)


@contextmanager
def explained_by(doubts: Iterable[Doubt]) -> Iterator[None]:
    """Name with a mistake the columns not understood: a number that was read as text is often its real reason."""
    try:
        yield
    except InputError as error:
        reasons = [each.problem for each in doubts if each.kind == "column-not-understood"]
        if not reasons:
            raise
        kind = EditError if isinstance(error, EditError) else InputError
        raise kind([*error.problems, *reasons]) from error


@contextmanager
def with_further_mistakes(request: MaskingRequest) -> Iterator[None]:
    """Report with a mistake in data or rules what else is wrong: a misspelt declaration is often its reason."""
    try:
        yield
    except InputError as error:
        edits = () if isinstance(request.edits, EditSet) else request.edits
        if isinstance(request, Pipeline) and request.levels is not None:
            further = further_level_problems(request.levels, edits, request.uses)
        else:
            further = further_problems(names_in(request.data), edits, request.uses)
        raise InputError(in_order([*error.problems, *further], request.file)) from error


def read_rules(request: MaskingRequest) -> EditSet:
    """Edits of a request: rules and rule files, in order."""
    if isinstance(request.edits, EditSet):
        return request.edits
    levels = request.levels if isinstance(request, Pipeline) else None
    edits, problems = read_edits_of(request.edits, None if levels is None else levels.declared)
    refuse_problems(problems)
    sources = [request.data] if levels is None else levels.sources.values()
    refuse_xpath_on_commas(edits, (each for each in sources if isinstance(each, DataSource)))
    return edits


def _read(
    request: MaskingRequest, reporter: Reporter, timed: Clock
) -> tuple[Dataset, EditSet, tuple[Variable, ...], Keys, Dataset]:
    """Data without identifiers, edits, the identifiers, the keys, and the data with identifiers that edits read."""
    in_memory = isinstance(request.data, DataInMemory)
    with with_further_mistakes(request):
        rules = read_rules(request)
        with timed("read"), stage(reporter, f"Reading {request.data.name}") as progress:
            found = declared_keys(request.release, request.data.variables)
            declared = [name for name in identifiers_of(request.data.variables) if name not in found]
            wanted = in_memory or bool(read_by_rules(rules, declared))
            read = load(request.data, progress, identifiers=wanted, keys=found)
    names = key_names(request.release, read.variables, read.cluster)
    keys = Keys(read.without([name for name in read.names if name not in names]), read.names)
    original, identifiers = _without_identifiers(read, names)
    requested = read_by_rules(rules, [each.name for each in identifiers if each.name not in names])
    whole = read.without([each.name for each in identifiers if each.name not in requested])
    if isinstance(request.data, DataSource):
        declared = [name for name in identifiers_of(request.data.variables) if name not in read]
        own = identifiers_in_file(request.data, declared)
        identifiers += tuple(Variable(name, "nominal", "identifier") for name in own)
    return original, rules, identifiers, keys, whole


def _without_identifiers(read: Dataset, keys: Collection[str]) -> tuple[Dataset, tuple[Variable, ...]]:
    """Data without identifiers, in which a key that names households is only marked, and the identifiers."""
    marked = {name: replace(read[name].variable, renewed=True) for name in keys}
    if read.cluster in marked:
        # What households give away is looked for as long as a key tells them, whatever its values.
        marked[read.cluster] = replace(marked[read.cluster], role="other", inferred_role=False)
    read = read.with_columns({name: replace(read[name], variable=each) for name, each in marked.items()})
    identifiers = tuple(each for each in read.variables if each.role == "identifier")
    return read.without([each.name for each in identifiers]), identifiers


def identifiers_in_file(data: DataSource, identifiers: Sequence[str]) -> Sequence[str]:
    """Those of the declared identifiers that the file holds: a codebook may describe others."""
    if data.described_only.isdisjoint(identifiers):
        return identifiers
    there = names_in(data) or identifiers
    return [name for name in identifiers if name not in data.described_only or name in there]


def identifier_notices(dropped: Iterable[str]) -> tuple[Notice, ...]:
    """One line on all identifiers that are dropped."""
    names = tuple(dropped)
    what = "are identifiers: they are" if len(names) > 1 else "is an identifier: it is"
    notice = Notice("identifiers-not-published", "", f"{', '.join(names)} {what} not published", len(names))
    return (notice,) if names else ()


WAYS_OUT = (
    "on_input_violation is 'fail'; 'mask' masks and mends them, 'drop' leaves them out, 'localize' adjusts as few "
    "fields as possible first; or give the edit `severity: warning`"
)


def _on_violation(
    request: MaskingRequest, original: Dataset, edits: EditSet, arrival: Outcome
) -> tuple[tuple[Dataset, NDArray[np.int64]] | None, Outcome, tuple[Notice, ...]]:
    """Do what the pipeline says with records that violate an edit: those kept, and where they stood; None: all are."""
    broken = violated_edits(arrival.edits)
    if not broken or request.on_input_violation == "mask":
        return None, arrival, ()
    if request.on_input_violation == "fail":
        raise input_violation(broken, WAYS_OUT)
    shown = violation_counts(broken)
    kept, rows = without_violations(original, edits)
    if len(kept) == 0:
        raise InputError(f"every record violates an edit ({shown}), so on_input_violation: drop leaves none")
    outcome = check_dataset(kept, edits, Domain.from_dataset(kept, domain_tuples(edits)))
    dropped = len(original) - len(kept)
    message = f"dropped: {plural(dropped, 'record')} that violated an edit in the original data ({shown})"
    return (kept, rows), outcome, (Notice("records-dropped", "", message, dropped, len(original)),)


def read_by_rules(edits: EditSet, identifiers: Iterable[str]) -> tuple[str, ...]:
    """Those of these identifiers that edits read."""
    used = {name for edit in edits for name in edit.variables}
    return tuple(name for name in identifiers if name in used)


def about_unpublished(edits: EditSet, identifiers: Collection[str]) -> tuple[EditSet, EditSet]:
    """Edits that read none of these identifiers, and those that read one."""
    wanted = [not set(edit.variables).isdisjoint(identifiers) for edit in edits]
    kept, checking = (
        tuple(edit for edit, own in zip(edits, wanted, strict=True) if own is which) for which in (False, True)
    )
    return EditSet(kept, edits.notes), EditSet(checking)


def violated_edits(verdicts: Iterable[EditOutcome]) -> list[EditOutcome]:
    """Verdicts on edits of severity error that some record violates."""
    return [each for each in verdicts if each.violations and each.severity == "error"]


def violation_counts(broken: Iterable[EditOutcome]) -> str:
    """``edit-1: 3, edit-2: 5``."""
    return ", ".join(f"{each.name}: {each.violations}" for each in broken)


def input_violation(broken: Iterable[EditOutcome], hint: str) -> EditViolation:
    """Error for an original in which edits are violated, where the pipeline does not mask such records."""
    return EditViolation(Problem(f"records of the original violate edits ({violation_counts(broken)})", hint=hint))


def check_unpublished(
    request: MaskingRequest, whole: Dataset, edits: EditSet, identifiers: Collection[str]
) -> tuple[NDArray[np.int64] | None, tuple[Notice, ...], tuple[EditOutcome, ...]]:
    """Check the original against edits that read identifiers."""
    if not len(edits):
        return None, (), ()
    stated = with_dates(edits, whole.variables)
    outcome = check_dataset(whole, stated, Domain.from_dataset(whole, domain_tuples(stated)))
    broken = violated_edits(outcome.edits)
    if broken and request.on_input_violation == "fail":
        hint = "on_input_violation is 'fail'; these edits read identifiers, so they check the original only"
        raise input_violation(broken, hint)
    dropped = bool(broken) and request.on_input_violation == "drop"
    kept = without_violations(whole, stated)[1] if dropped else None
    if kept is not None and not len(kept):
        raise InputError("every record violates an edit about identifiers, so on_input_violation: drop leaves none")
    notices = tuple(
        _notice(edit, each.violations, len(whole), identifiers, dropped=dropped and each.severity == "error")
        for edit, each in zip(stated, outcome.edits, strict=True)
    )
    return kept, notices, tuple(broken)


def _notice(edit: Edit, violations: int, n: int, identifiers: Collection[str], *, dropped: bool) -> Notice:
    names = ", ".join(name for name in edit.variables if name in identifiers)
    found = "every record obeys it"
    if violations:
        left = "were dropped" if dropped else "are not mended"
        found = f"{violations} of {plural(n, 'record')} violate it and {left}"
    message = (
        f"edit {edit.name!r} reads {names}, which is not published: it checks the original only, where {found}; it is "
        "no rule of the release"
    )
    return Notice("checks-the-original-only", edit.name, message, violations, n, edit.place)


def left_of(data: Dataset, rows: NDArray[np.int64]) -> Dataset:
    """Original of the records that are left, as if the others had not been in the file."""
    return replace(data.taken(rows), origin=data.origin)


MANY = 0.1
"""Share of the records, or groups, of which the edits or the declaration are likelier to be wrong than the data."""

FEWEST = 10
"""Records, or groups, that are many in any file."""

MOST_NAMED = 3


def is_many(some: int, of: int) -> bool:
    """Whether some of these records, or groups, are too many to be mistakes.

    >>> is_many(9, 20), is_many(10, 101), is_many(10, 100)
    (False, False, True)
    """
    return some >= FEWEST and some >= MANY * of


def dropped_doubts(lost: int, of: int, what: str, broken: Iterable[EditOutcome]) -> Iterator[Doubt]:
    """A doubt where a large part of the file is left out."""
    if not is_many(lost, of):
        return
    worst = sorted(broken, key=lambda each: -each.violations)
    shown = ", ".join(f"{each.name}: {each.violations:,}" for each in worst[:MOST_NAMED])
    shown += f" and {len(worst) - MOST_NAMED} more" if len(worst) > MOST_NAMED else ""
    message = f"{lost:,} of {of:,} {what} ({lost / of:.0%}) violate an edit ({shown}) and would be dropped"
    yield Doubt("many-records-dropped", "", message, lost, of)
