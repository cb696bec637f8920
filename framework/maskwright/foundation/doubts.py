"""Doubts: what was not surely understood or protected. An open one stops a release; a pipeline waives it by name.

A mistake, which cannot be meant, is an `InputError`. A doubt may be meant: a column of free text that is dropped later,
a threshold on a measure that leaves something out. It has a stable id (``W101``), a name (``column-not-understood``),
what it is about (a variable, an edit, a step, a measure, or a file), and a remedy. Reading, planning, masking,
measuring and writing emit doubts where they know of them; `maskwright.release.release_decision` alone judges them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from maskwright.foundation.errors import Problem
from maskwright.foundation.findings import About, Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

Stage = Literal["reading", "planning", "masking", "measuring", "writing"]


@dataclass(frozen=True)
class DoubtKind:
    """One kind of doubt; `id` is stable, its first digit the stage, and `about` what a waiver has to name."""

    id: str
    name: str
    about: About
    meaning: str
    remedy: str

    @property
    def stage(self) -> Stage:
        """Where in a run it arises."""
        stages: tuple[Stage, ...] = ("reading", "planning", "masking", "measuring", "writing")
        return stages[int(self.id[1]) - 1]


@dataclass(frozen=True)
class Doubt(Finding):
    """A doubt about one variable, edit, step, measure or file.

    Attributes
    ----------
    kind : str
        Name in `DOUBT_KINDS`.
    subject : str
        Name of the variable, edit or measure, or the number of the step; empty for a file.
    message : str
        What was seen, as the rest of a sentence after the subject: names and counts, never a value of a record.
    count, total : int or None
        How many cells, records or values are concerned, and of how many.
    place : Place or None
        In the pipeline or a rule file.
    hint : str or None
        A remedy more precise than that of the kind.
    level : str or None
        Of data of several levels: the level of the records that it is about.
    step : int or None
        Number in the pipeline, also where the doubt is about a variable.
    variable, edit, measure : str or None
        What else it concerns; that which it is about is filled in.

    Raises
    ------
    KeyError
        For a kind that is not in the catalogue.

    Examples
    --------
    >>> from maskwright import Doubt
    >>> str(Doubt("column-not-understood", "income", "97 of 100 cells are numbers, and the others are not"))
    'W101 column-not-understood: income: 97 of 100 cells are numbers, and the others are not'
    """

    severity: ClassVar[Severity] = "doubt"

    @property
    def about(self) -> About:
        """What the subject is."""
        return DOUBT_KINDS[self.kind].about

    @property
    def said(self) -> str:
        """The message; of a measure, which may run on several levels, with the level."""
        return f"on the level {self.level} {self.message}" if self.level and self.about == "measure" else self.message

    @property
    def sentence(self) -> str:
        """What it is about, and the message."""
        named = f"step {self.subject}" if self.about == "step" else self.subject
        return f"{named}: {self.said}" if named else self.said

    def __str__(self) -> str:
        return f"{DOUBT_KINDS[self.kind].id} {self.kind}: {self.sentence}"

    @property
    def remedy(self) -> str:
        """What to do instead of waiving it."""
        return self.hint or DOUBT_KINDS[self.kind].remedy

    @property
    def problem(self) -> Problem:
        """The doubt as a reason not to go on."""
        return Problem(str(self), self.place, self.remedy, finding=self)


_CATALOGUE = (
    DoubtKind(
        "W101",
        "column-not-understood",
        "variable",
        "Many cells of a column that was read as text look like numbers. It is probably a number with missing codes, a "
        "decimal comma or thousands separators that are not declared, and as text it would be neither masked nor "
        "measured. Or the decimal mark of a number may be a mark between thousands.",
        'Declare its missing codes (`missing: [NA]`), how the file writes numbers (`decimal: ","`, `thousands: "."`), '
        "or its type.",
    ),
    DoubtKind(
        "W103",
        "header-may-be-a-record",
        "file",
        "Names of columns are numbers or dates: the first record of a file without names was perhaps taken for them, "
        "and its values would be published as names. A CSV file is not read until `header` says what the row is.",
        "Give the columns names.",
    ),
    DoubtKind(
        "W104",
        "may-be-a-missing-code",
        "variable",
        "A number stands apart from all others of its variable and looks like a code for 'no value' (-9, 999): masked "
        "like an amount it would become a believable one, and spoil the others. Or a sampling weight is below 0.",
        "Declare it, `missing: [-9]`; or give the variable a type, if it is a value.",
    ),
    DoubtKind(
        "W105",
        "may-be-dates",
        "variable",
        "All numbers of a variable look like dates without signs between their parts (20200131, 202001): masked like "
        "amounts they would become days that no calendar has.",
        'Declare how they are written, `type: date, format: "%Y%m%d"`; or `type: integer`, if they are numbers.',
    ),
    DoubtKind(
        "W106",
        "many-records-dropped",
        "file",
        "A tenth or more of the records, or of the households, violate an edit, and the pipeline drops them "
        "(`on_input_violation: drop`): the release would be about another population. An edit or a declaration that "
        "does not fit the data is a likelier reason than so many mistakes.",
        "Look at the edits that are named and correct them, or have the records adjusted (`on_input_violation: "
        "localize`) or masked and mended (`mask`).",
    ),
    DoubtKind(
        "W107",
        "varies-within-groups",
        "variable",
        "A variable is declared at the upper level (households, firms), and differs between the rows of a tenth or "
        "more of the households: all rows would get one value, or the households would be dropped. It is probably a "
        "variable of the members.",
        "Declare it at the members' level.",
    ),
    DoubtKind(
        "W108",
        "constant-within-groups",
        "variable",
        "In a flat file with levels, a variable that a step names is declared at the members' level, and is constant "
        "within nearly every household, more often than by chance. It was probably forgotten among the variables of "
        "the households: masked member by member it gets different values within a household, or what the step "
        "promises (k, suppression) cannot be kept.",
        "Declare it at the households' level: `levels: {household: {variables: [..., NAME]}}`.",
    ),
    DoubtKind(
        "W109",
        "edit-may-be-wrong",
        "edit",
        "An edit is violated by more of the original records to which it applies than data errors explain (5 %, or "
        "about the rate of the other edits in a file with many errors, and a margin for chance: 6.3 % of 1,000 "
        "records, 8 % of 200). Or a bound, in any part of the edit, is violated by more than 1 % of the records, and "
        "lies in the midst of the values, which go on beyond it. Or the edit names a category that no record has, one "
        "letter from one that some have. A mistake in the edit (a bound, a sign, a unit, a variable) is likelier, and "
        "masking would adjust the whole file to it. Or the edit causes most of the distortion by adjustment, and some "
        "records violate it.",
        "Correct the edit, or how the file is read (decimal sign, units, missing codes); give it `severity: warning` "
        "or leave it out, if good records may violate it.",
    ),
    DoubtKind(
        "W201",
        "not-masked",
        "variable",
        "The role of a variable says that it has to be protected (confidential, quasi_identifier), by declaration or "
        "because it is a number, and no step masks it. Or it is an identifier, and declared `release: as is`.",
        "Name it in a step, or declare `release: as is` or `role: other` if it may be published as it is.",
    ),
    DoubtKind(
        "W202",
        "published-undeclared",
        "variable",
        "A column is masked by no step, and nothing says that it may be published as it is: everything that leaves is "
        "masked or declared.",
        "Declare what it is: `role: identifier` drops it, `role: other` or `release: as is` publishes it as it is; or "
        "name it in a step.",
    ),
    DoubtKind(
        "W203",
        "promise-undone-by-a-later-step",
        "step",
        "A step promises something (k, top codes, suppressed cells) that a later step can undo.",
        "Change the order of the steps, or the variables of the later one.",
    ),
    DoubtKind(
        "W204",
        "constant-within-households",
        "variable",
        "A variable is the same for all members of each household, and a step masks members one by one: the masked "
        "values differ, or a value suppressed for one member stands in the row of another.",
        "Mask the variable in a file of households, or leave it out of the release.",
    ),
    DoubtKind(
        "W205",
        "edit-unknown",
        "edit",
        "In every record to which an edit applies it is unknown whether it holds: cells are missing, or are texts "
        "where the edit needs numbers.",
        "Declare how the file writes numbers and missing values, correct the edit, or leave it out.",
    ),
    DoubtKind(
        "W206",
        "follows-from-published",
        "variable",
        "The original values of a masked variable can be computed from, or seen in, what is published as it is: a "
        "label of the code, a total and its other parts or what members add up to, a date of birth, the number "
        "itself rounded or in other units, a tax or a rank in the same order, a price and an amount, a rate and what "
        "it is of, an amount in local currency and the country, a running total, a part of a code, the order of a "
        "file that is sorted by it, be it a number or a category, or in which members of households that have it in "
        "common stand together, or the order of a published number, as of one that counts through region by region. Or "
        "the household key is left out, and the weight shows who lives together.",
        "Mask the variables that give it away too, or leave them out (`role: identifier`); publish the records in "
        "random order.",
    ),
    DoubtKind(
        "W207",
        "missing-code-tells",
        "variable",
        "A declared missing code holds a number within a text, as 'about 12', and fewer than three records have it: "
        "missing codes are published as they stand, so that the value itself would go out.",
        "Empty these cells in the file, or write the number itself there, which is then masked.",
    ),
    DoubtKind(
        "W301",
        "step-changed-nothing",
        "variable",
        "A step returned a variable as it was, or nearly so.",
        "Look at the parameters of the step and at the type of the variable; remove the step if it is not needed.",
    ),
    DoubtKind(
        "W302",
        "suppressed-cells-follow",
        "variable",
        "Suppressed cells can be derived from what is published, by an edit, by a dependency in the data, or "
        "by one value that shows them, such as a missing code, by the pattern of empty cells, or by the order of the "
        "records: in a file sorted by region, in which members of households stand together, or that anybody can sort "
        "so by a published number, the neighbours show it.",
        "Suppress or leave out the variables that give them away; publish the records in random order; where an empty "
        "cell that looks as suppressed ones do gives them away, declare `suppressed_as`.",
    ),
    DoubtKind(
        "W303",
        "suppressed-cells-undecided",
        "variable",
        "It could not be decided whether suppressed cells can be derived from published ones through the edits: an "
        "edit can be evaluated but not solved for the cell, as one about several records; or the search reached its "
        "limit for a record, or for a household with its members.",
        "Simplify the edits that read the variable, or suppress the other variables of these edits too.",
    ),
    DoubtKind(
        "W304",
        "promise-not-kept",
        "step",
        "What a step promises (k, l-diversity, top codes, suppressed cells) does not hold in the masked file, or "
        "cannot hold.",
        "Change its parameters, or the edits that undo it.",
    ),
    DoubtKind(
        "W305",
        "method-warned",
        "step",
        "A method reports that it did not reach its aim in full, such as an iteration that did not converge.",
        "Change its parameters as its message says, or choose another method.",
    ),
    DoubtKind(
        "W306",
        "value-is-a-missing-code",
        "variable",
        "Masking made values that are declared missing codes of their variable: whoever reads the file takes them for "
        "cells without a value.",
        "Declare bounds that leave the codes outside: `income: {min: 0}`, `age: {max: 98}`.",
    ),
    DoubtKind(
        "W307",
        "weights-tell-categories",
        "variable",
        "Published sampling weights reveal the original category of cells that are published as a coarser or another "
        "category: records of one sampling stratum have the same weight, or the same sampling fraction, and hardly any "
        "record of another category has it. A weight that only one record has reveals nothing.",
        "Publish categories that the weights do not split (join and divide them along the strata), or leave the "
        "weights out (`role: identifier`); or publish rounded or calibrated weights, which do not show the strata.",
    ),
    DoubtKind(
        "W308",
        "spike-lost",
        "variable",
        "A value that at least a tenth of the original records have (a point mass: 0, or 40 hours) lost a quarter of "
        "its share or more, and by more than chance: whoever counts the firms without exports in the file gets a wrong "
        "number. In synthetic records any such value; where values are averaged or get noise one that stands out, as "
        "three times as many records have as the value next to it, and that the step does not mean to move, as "
        "rounding and top coding do. Or, in synthetic records, the share of such a value, or of 0, grew: a quarter or "
        "more of it is too much, or a quarter or more of all other values were lost to it.",
        "Of a value that was lost: if it is 0, name the variable in `structural_zeros` of the step; else use a method "
        "that keeps values, `rank_swapping` (under a total or another edit with masked variables adjusting moves some: "
        "`adjustment_weights` lets the others move first), or `cart_synthesis`, which draws them from donors. Of a "
        "value that grew: the edits may leave too many records no other one. Check those that read the variable; in an "
        "`order`, put what their conditions read first.",
    ),
    DoubtKind(
        "W309",
        "adjustment-distorts",
        "variable",
        "Keeping the edits (adjustment, derivation) and rounding moved the mean or the standard deviation of a "
        "variable farther than the method itself did (a limit such as a top code counts with what the edits then ask "
        "of totals), and by 0.05 standard deviations of the original or more: what is published is shaped by how the "
        "edits are kept rather than by the method. Or removing cells or records moved them, a random sample farther "
        "than by chance: by 0.2 or more, or by 0.05 where more than half of the cells went or another step masks the "
        "variable too. Removing that moves them less, from 0.05 on, is a caution. Or more than half of the cells of a"
        " variable that is no key were suppressed to protect keys.",
        "Check the edits that are named; mask their variables in one step by a method that keeps them; let another "
        "variable of a product be computed (`adjustment_weights`); recode keys of which many cells are suppressed; or "
        "declare how far its mean and its standard deviation may move, in standard deviations: `variables: {NAME: "
        "{distortion: 0.2}}`. Deciles are shown and have no bound.",
    ),
    DoubtKind(
        "W310",
        "zeros-not-kept",
        "variable",
        "In some records a structural zero became another value, or another value a zero, though `structural_zeros` "
        "promises that zeros stay: edits left no other value, or zeros that fewer than k records share became those "
        "of others in more records of a step than k - 1 and 5 %, than half of the zeros, or than have such zeros: k "
        "and the zeros cannot both be kept.",
        "State the rule that governs the zeros as an edit, or name fewer variables in `structural_zeros`.",
    ),
    DoubtKind(
        "W311",
        "multiples-not-kept",
        "variable",
        "Values that a step rounds are no multiples of its base in the masked file: keeping the edits moved them.",
        "Take a base that the numbers in the edits are multiples of, or give the variables of an equality one base.",
    ),
    DoubtKind(
        "W401",
        "risk-leaves-out-quasi-identifiers",
        "measure",
        "A measure of risk that has a threshold leaves out declared quasi-identifiers: what an intruder knows is not "
        "all counted.",
        "Set the threshold on a measure that uses them, or remove it.",
    ),
    DoubtKind(
        "W402",
        "values-unchanged",
        "variable",
        "A masked variable shows its original value in more records than expected: a confidential variable in more "
        "than half of them, beyond what equal values give by chance; a quasi-identifier, and a variable of steps that "
        "change few values by design, in all. Where a step promises k, a confidential one does where whoever knows "
        "the quasi-identifiers (or all other variables, if none are declared) finds records among fewer than k that "
        "show one value, and more than half of these are right. A number with at most 20 different values and no "
        "declared role may be a code: promising k does not excuse it. Over parts, what remains in all records is a "
        "doubt.",
        "Mask it more strongly, or declare the share that may stay, in percent: `variables: {NAME: {unchanged: 80}}`.",
    ),
    DoubtKind(
        "W403",
        "loss-leaves-out-masked-variables",
        "measure",
        "A measure of loss that has a threshold leaves out variables that are masked, and no other with a threshold "
        "uses them: what masking them cost is not counted.",
        "Set the threshold on a measure that uses them, or remove it.",
    ),
    DoubtKind(
        "W501",
        "written-file-not-read-twice",
        "file",
        "The masked file is of a format that only its plugin reads, so that no second, independent evaluation of the "
        "edits was made.",
        "Publish CSV, XML or Parquet.",
    ),
)

DOUBT_KINDS: Mapping[str, DoubtKind] = {kind.name: kind for kind in _CATALOGUE}
"""Every kind of doubt, by name, in the order of their ids."""
