"""Checks of what a rule language writes: each edit is written or refused by name, and none is left out in silence."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from maskwright.edits.edit_set import EditSet
from maskwright.foundation.errors import EditError
from maskwright.plugins.guarding.returned_values import checked_rules
from maskwright.plugins.rules import RulesFor
from maskwright.testing.checks import Check, as_the_engine_takes_it, require
from maskwright.testing.conduct import check_calls, prints_nothing, without_network

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright.edits.edit import Edit
    from maskwright.edits.languages.conversion.converted import Converted
    from maskwright.plugins.rules import RuleLanguage


RULES = (
    {"rule": "wages + pensions == income", "name": "balance", "message": "income is not the sum of its parts"},
    {"rule": "wages <= income", "name": "part"},
    {"rule": "tax >= 0.25 * income - 12.5", "name": "least-tax"},
    {"rule": "price * amount == turnover", "name": "turnover"},
    {"rule": "age in [0, 120]", "name": "ages"},
    {"rule": "children in {0, 1, 2, 3}", "name": "counts"},
    {"rule": 'region in {north, "south & east", "O\'Hara <1>"}', "name": "regions"},
    {"rule": "if sex = M then pregnancies = 0", "name": "no.pregnancies", "severity": "warning"},
    {"rule": "if age < 16 then wages = 0", "name": "young", "message": "\"young\" ones: no 'wages' ü & <none>"},
)
"""Edits of every kind that a rule is read as, with texts that languages have to quote."""

ABOUT = {
    "nothing_known": RulesFor(),
    "all_known": RulesFor(
        record="Person", decimals={"wages": 2, "pensions": 2, "income": 2, "age": 0, "tax": None},
        empty={"wages": ("-9",), "region": ("", "none")},
    ),
}  # fmt: skip


def checks_of_writing(writer: RuleLanguage) -> Iterator[tuple[str, Check]]:
    """Checks of a language that is written, by name."""
    edits = EditSet.parse(list(RULES))
    for name, about in ABOUT.items():
        yield f"each_edit_alone_{name}", partial(_each_alone, writer, edits, about)
    yield "says_something", partial(_has_content, writer, edits)
    yield "nothing_is_left_out", partial(_nothing_left_out, writer, edits)
    yield "refuses_all_at_once", partial(_refuses_all, writer, edits)
    yield "no_edits", partial(_written_or_refused, writer, EditSet(), RulesFor())
    yield "written_alike", partial(_alike, writer, edits)
    yield "concurrent_calls", partial(_concurrent, writer, edits)
    yield "prints_nothing", partial(_silent, writer, edits)


def _written(writer: RuleLanguage, edits: EditSet, about: RulesFor) -> Converted:
    assert writer.write is not None
    with without_network():
        found = writer.write(edits, about)
    return as_the_engine_takes_it("rule_language", writer, checked_rules, found)


def _written_or_refused(writer: RuleLanguage, edits: EditSet, about: RulesFor) -> Converted | None:
    """What is written; None: it is refused, and every edit that it is for is named."""
    try:
        return _written(writer, edits, about)
    except EditError as error:
        said = " ".join(problem.sentence for problem in error.problems)
        require(bool(said.strip()), "a refusal must say why")
        if len(edits) == 1:
            name = edits.edits[0].name
            require(name in said, f"the edit {name!r} is refused, and the refusal does not name it")
        return None


def _each_alone(writer: RuleLanguage, edits: EditSet, about: RulesFor) -> None:
    for edit in edits:
        _written_or_refused(writer, EditSet((edit,)), about)


def _expressible(writer: RuleLanguage, edits: EditSet) -> tuple[Edit, ...]:
    return tuple(edit for edit in edits if _written_or_refused(writer, EditSet((edit,)), RulesFor()) is not None)


def _has_content(writer: RuleLanguage, edits: EditSet) -> None:
    require(
        bool(_expressible(writer, edits)), "it refuses edits of every kind: an equality, a bound, a set of categories"
    )


def _nothing_left_out(writer: RuleLanguage, edits: EditSet) -> None:
    """Require that every edit that it can say makes a difference to the file."""
    sayable = _expressible(writer, edits)
    whole = _written(writer, EditSet(sayable), RulesFor()).text
    for edit in sayable:
        others = EditSet(tuple(each for each in sayable if each is not edit))
        require(
            _written(writer, others, RulesFor()).text != whole,
            f"the file is the same with the edit {edit.name!r} and without it: write it, or refuse it with EditError",
        )


def _refuses_all(writer: RuleLanguage, edits: EditSet) -> None:
    """Require that a set with edits that it cannot say is refused, each of them by name."""
    sayable = {edit.name for edit in _expressible(writer, edits)}
    unsaid = [edit.name for edit in edits if edit.name not in sayable]
    if not unsaid:
        return
    try:
        _written(writer, edits, RulesFor())
    except EditError as error:
        said = " ".join(problem.sentence for problem in error.problems)
        silent = [name for name in unsaid if name not in said]
        require(not silent, f"the refusal does not name every edit that cannot be said: {', '.join(silent)}")
        return
    raise AssertionError(f"alone these edits are refused, and among others they are not: {', '.join(unsaid)}")


def _alike(writer: RuleLanguage, edits: EditSet) -> None:
    chosen = EditSet(_expressible(writer, edits))
    one, other = (_written(writer, chosen, RulesFor()).text for _ in range(2))
    require(one == other, "the same edits, written twice, give different files: no time, no random names")


def _concurrent(writer: RuleLanguage, edits: EditSet) -> None:
    pieces = [EditSet((edit,)) for edit in _expressible(writer, edits)[:4]]
    write = writer.write
    assert write is not None
    check_calls(write, lambda piece: write(piece, RulesFor()), pieces)


def _silent(writer: RuleLanguage, edits: EditSet) -> None:
    prints_nothing(lambda: [_written_or_refused(writer, EditSet((edit,)), RulesFor()) for edit in edits])
