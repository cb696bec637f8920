"""Data and edits loaded: read, checked against each other, and found fit for a plan. Every run begins here."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from maskwright.commands.named_originals import named_originals
from maskwright.commands.reading import load, refuse_xpath_on_commas
from maskwright.commands.running.input_violations import (
    about_unpublished,
    are_mendable,
    check_unpublished,
    dropped_doubts,
    left_of,
    on_violation,
    refuse_unmendable,
    violated_edits,
)
from maskwright.data.dataset import Dataset
from maskwright.data.variable import Variable
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.languages.schematron.binding import bound_to
from maskwright.edits.normalisation import written_out
from maskwright.edits.type_resolution import with_category_equalities, with_dates, with_grids
from maskwright.foundation.errors import EditError, InputError, refuse_problems
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

    from maskwright.edits.evaluation.check import Outcome
    from maskwright.foundation.doubts import Doubt
    from maskwright.pipeline.file_model import Waiver
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
    located, left = None, arrival
    with reasons_first(wrong, request.waivers):
        if request.on_input_violation == "localize":
            refuse_unmendable(arrival, edits)
            original, located, more = _with_errors_located(request, original, edits, domain, reporter, timed)
            broken = {each.name: each.violations for each in check_dataset(original, edits, domain).edits}
        else:
            kept, left, more = on_violation(request, original, edits, arrival)
            if kept is not None:
                original, keys = kept[0], replace(keys, old=keys.old.taken(kept[1]))
            broken = {each.name: each.violations for each in left.edits}
    dropped, violated = came - len(original), (*broken_there, *violated_edits(arrival.edits))
    doubts = (
        *original.doubts, *wrong, *undecided_doubts(left),
        *dropped_doubts(dropped, came, "records", violated, are_mendable(arrival, edits)),
    )  # fmt: skip
    read = (*notices_of("reading", original.notes), *notices_of("rules", _notes_of_rules(request, rules, stated)))
    unpublished_identifiers = identifier_notices(each.name for each in identifiers if not each.renewed)
    notices = (*unpublished_identifiers, *unpublished, *read, *silent_notices, *more, *rule_notices)
    return CheckedInput(original, edits, left, broken, identifiers, notices, doubts, located, keys, arrival, dropped)


def _notes_of_rules(request: MaskingRequest, rules: EditSet, stated: EditSet) -> tuple[str, ...]:
    file = request.data.path if isinstance(request.data, DataSource) else None
    return (*stated.notes, *named_originals(rules, file))


def _with_errors_located(
    request: MaskingRequest, original: Dataset, edits: EditSet, domain: Domain, reporter: Reporter, timed: Clock
) -> tuple[Dataset, dict[str, Any], tuple[Notice, ...]]:
    """Original with the fewest fields adjusted, which they are, and notices."""
    from maskwright.masking.field_adjustment import with_errors_located  # with all that adjusts values

    alone = EditSet(tuple(edit for edit in edits if not edit.looks_beyond), edits.notes)
    trusted = {name: each.reliability for name, each in request.data.variables.items() if name in original}
    with timed("localize"), stage(reporter, "Locating errors") as progress:
        return with_errors_located(original, alone, trusted, domain, progress, request.execution.workers)


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


REASONS = ("constant-within-groups", "edit-may-be-wrong")
"""Kinds of doubts that are often the real reason of a mistake in the plan, or of records that violate edits."""


@contextmanager
def reasons_first(doubts: Iterable[Doubt], waivers: Sequence[Waiver]) -> Iterator[None]:
    """Report before a mistake, or a refusal, the doubts that are often its real reason, unless they are waived.

    What else could be done with records that violate an edit is left out where the edit may be wrong.
    """
    try:
        yield
    except (InputError, EditViolation) as error:
        if type(error) not in (InputError, EditError, EditViolation):
            raise  # an engine that is out of memory, say
        found = [
            each for each in doubts if each.kind in REASONS and not any(waiver.covers(each) for waiver in waivers)
        ]  # fmt: skip
        reasons = [each.problem for each in found if each.problem not in error.problems]
        if not reasons:
            raise
        problems = error.problems
        if isinstance(error, EditViolation) and any(each.kind == "edit-may-be-wrong" for each in found):
            problems = tuple(replace(each, hint=None) for each in problems)
        raise type(error)([*reasons, *problems]) from error


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
    original, identifiers = _without_identifiers(read, names, {read.cluster, *read_by_rules(rules, names)})
    requested = read_by_rules(rules, [each.name for each in identifiers if each.name not in names])
    whole = read.without([each.name for each in identifiers if each.name not in requested])
    if isinstance(request.data, DataSource):
        declared = [name for name in identifiers_of(request.data.variables) if name not in read]
        own = identifiers_in_file(request.data, declared)
        identifiers += tuple(Variable(name, "nominal", "identifier") for name in own)
    return original, rules, identifiers, keys, whole


def _without_identifiers(
    read: Dataset, keys: Collection[str], used: Collection[str | None]
) -> tuple[Dataset, tuple[Variable, ...]]:
    """Data without identifiers, in which keys that are used are only marked, and the identifiers.

    `used`: the key that names households, and those that edits read.
    """
    marked = {name: replace(read[name].variable, renewed=True) for name in keys}
    for name in marked.keys() & used:
        # What households give away is looked for as long as a key tells them, whatever its values.
        marked[name] = replace(marked[name], role="other", inferred_role=False)
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


def read_by_rules(edits: EditSet, identifiers: Iterable[str]) -> tuple[str, ...]:
    """Those of these identifiers that edits read."""
    used = {name for edit in edits for name in edit.named}
    return tuple(name for name in identifiers if name in used)
