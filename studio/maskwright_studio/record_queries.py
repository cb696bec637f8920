"""Queries on single records of the original and of the masked file: how many there are to show, and those of a page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

import maskwright as mw
from maskwright_studio.data_queries import DataQueries
from maskwright_studio.disclosure_risk import CLASSES, INDIVIDUAL, measured_risk
from maskwright_studio.record_rows import NO_ROWS, Pairs, RecordTable, mapped_records, paired
from maskwright_studio.rule_verdicts import stands_alone

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright import Dataset, EditSet, LinkedData
    from maskwright_studio.disclosure_risk import FoundRisk

MOST_LISTED = 10_000
"""Records that the verdict on a rule lists by number."""

MOST_COLUMNS = 8
"""Variables that are shown where none are chosen."""


class RecordQueries(DataQueries):
    """Answers about single records.

    What pages send of a release is a mapping. ``files``: masked files, of levels the top first. ``stamps``: what
    distinguishes the versions of each. ``run``: what is known of the run that wrote them; None: nothing, for the reason
    ``why``. ``key_map``: the map of keys that it wrote; '': none.
    """

    _stamp: Sequence[Any] = ()
    _masked: Dataset | None = None
    _masked_levels: tuple[object, LinkedData | None] = (None, None)
    _record_risks: tuple[object, FoundRisk] | None = None
    _tables: tuple[object, dict[str, RecordTable]] = (None, {})

    def _released(self, masked: str, stamp: Sequence[Any]) -> Dataset:
        if self._masked is None or self._stamp != stamp:
            self._masked = mw.pipeline_data(self._pipeline, self._reporter, masked=masked)
            self._stamp = stamp
        return self._masked

    def _released_levels(self, release: Mapping[str, Any]) -> LinkedData | None:
        """Masked data of several levels; None where there are none, or they are of another form."""
        if self._masked_levels[0] != release["stamps"]:
            linked = mw.pipeline_linked_data(self._pipeline, self._reporter, masked=release["files"])
            self._masked_levels = release["stamps"], linked
        return self._masked_levels[1]

    def record_counts(self, release: Mapping[str, Any], level: str, k: int) -> dict[str, Any]:
        """How many records of a level each choice shows, and how rows are paired; nothing of a single record."""
        name = self._level(level)
        table = self._table(release, name)
        return {
            "levels": [(each, len(data)) for each, data in self._levels.items() if each], "level": name,
            "keys": [each.name for each in table.before.variables if _is_key(each)],
            "identifiers": [each.name for each in table.before.variables if each.role == "identifier"],
            **table.counts(k),
        }  # fmt: skip

    def records(
        self, release: Mapping[str, Any], level: str, k: int, show: str, edit: str, variable: str, columns: str,
        start: int, most: int, record: int, masked_alone: bool,
    ) -> dict[str, Any]:  # fmt: skip
        """Rows of a page: original and masked cells of some variables, which a click has requested.

        `columns`: names and patterns, with commas. `record`: number to be on the page; 0 for `start`. `masked_alone`:
        the records of the masked file in their own order, and `record` is one of them; where rows are paired, that one
        next to its original.
        """
        table = self._table(release, self._level(level))
        place = table.pairs.place
        if masked_alone and place is not None:
            at = np.flatnonzero(place == record - 1)
            masked_alone, record = False, int(at[0]) + 1 if record and len(at) else 0
        if masked_alone:
            if table.after is None:
                raise mw.InputError("there is no masked file yet")
            table = RecordTable(table.after, None, Pairs(), {}, {}, table.sizes_after)
        rows = table.chosen(show, k, edit, variable)
        if record:
            at = np.flatnonzero(rows == record - 1)
            if not len(at):
                raise mw.InputError(f"there is no record {record:,} among the {len(rows):,} that are shown")
            start = int(at[0]) // most * most
        start = max(0, min(start, (max(len(rows), 1) - 1) // most * most))
        stated = next((each.variables for each in mw.pipeline_edits(self._pipeline) if each.name == edit), ())
        names, unknown = _columns(table.before, columns, (variable, *stated))
        shown = table.rows(rows[start : start + most], names)
        return {
            "start": start, "found": len(rows), "unknown": unknown, "variables": len(table.before.names),
            "marked": record, "is_alone": masked_alone, **shown,
        }  # fmt: skip

    def _level(self, level: str) -> str:
        levels = self._levels
        if level and level not in levels:
            raise mw.InputError(f"there is no level {level}")
        return level or next(iter(levels))

    def _table(self, release: Mapping[str, Any], level: str) -> RecordTable:
        """Records of a level with all that is known of them, kept while neither data, release nor rules change."""
        edits = mw.pipeline_edits(self._pipeline)
        known = (release["stamps"], release["run"], release["why"], release["key_map"])
        key = (known, tuple((each.name, each.text) for each in edits))
        if self._tables[0] != key:
            self._tables = key, {}
        if level not in self._tables[1]:
            self._tables[1][level] = self._made(release, level, edits)
        return self._tables[1][level]

    def _made(self, release: Mapping[str, Any], level: str, edits: EditSet) -> RecordTable:
        before = self._levels[level]
        after, whole, unread = self._after(release, level)
        violated, unlisted = self._listed(self._outcomes(edits), edits, level, before)
        self._reporter.stage("Pairing the records")
        pairs = Pairs(why=unread) if unread else self._pairs(release, level, before, after)
        violated_after, others = self._violated_after(release, edits, level, after, whole, pairs)
        risks = self._risks(release, whole)
        sizes, single = _of_records(risks, level, masked=False, records=len(before))
        sizes_after = None if after is None else _of_records(risks, level, masked=True, records=len(after))[0]
        return RecordTable(
            before, after, pairs, violated, violated_after, sizes, single, sizes_after,
            self._renewed(release, level), tuple(dict.fromkeys([*unlisted, *others])),
        )  # fmt: skip

    def _renewed(self, release: Mapping[str, Any], level: str) -> frozenset[str]:
        """Keys of records that are published with new values."""
        linked, run = self.linked, release["run"]
        return frozenset([*(linked[level].key_columns if linked else ()), *(run["new_keys"] if run else ())])

    def _after(self, release: Mapping[str, Any], level: str) -> tuple[Dataset | None, Dataset | LinkedData | None, str]:
        """The masked records of a level, the whole masked file or levels, and why they cannot be read."""
        if not release["files"]:
            return None, None, ""
        try:
            if self.linked is None:
                (file,) = release["files"]
                found = self._released(file, release["stamps"][0])
                return found, found, ""
            linked = self._released_levels(release)
        except mw.MaskwrightError as error:
            return None, None, f"the masked file cannot be read ({error.problems[0].sentence})"
        return (None, None, "") if linked is None else (linked[level].data, linked, "")

    def _pairs(self, release: Mapping[str, Any], level: str, before: Dataset, after: Dataset | None) -> Pairs:
        run = release["run"]
        if after is None:
            return Pairs()
        if run is None:
            return Pairs(why=release["why"])
        linked = self.linked
        if linked is None:
            origin = mapped_records(release["key_map"], "original_record") if release["key_map"] else None
            return paired(before, after, run, origin)
        origin = self._origin_of_level(release, level, len(after))
        own = linked[level]
        untouched = [name for name in run["untouched"] if name not in own.key_columns]
        return paired(before, after, {**run, "untouched": untouched}, origin)

    def _origin_of_level(self, release: Mapping[str, Any], level: str, records: int) -> NDArray[np.int64] | None:
        """Original record of each masked one of a level, as the map has it: a line for each of the lowest level."""
        linked = self.linked
        if linked is None or not release["key_map"]:
            return None
        named = mapped_records(release["key_map"], f"original_{level}")
        masked = self._released_levels(release)
        if named is None or masked is None:
            return None
        lines = masked.groups_in(masked.names[-1], level)
        if len(lines) != len(named) or (len(named) and named.max() >= len(linked[level])):
            return NO_ROWS
        # The map counts records as they stand in their file, and groups of one file by their first rows.
        origin = np.full(records, -1, dtype=np.int64)
        origin[lines] = np.argsort(linked[level].rows, kind="stable")[named]
        return origin

    def _listed(
        self, outcomes: Sequence[Any], edits: EditSet, level: str, data: Dataset
    ) -> tuple[dict[str, NDArray[np.int64]], list[str]]:
        """Records of a level, from 0, that violate each edit; and edits of which not all of these are known."""
        found, unlisted = {}, []
        for each in outcomes:
            if each.level != level or not each.violations:
                continue
            alone = mw.EditSet(tuple(one for one in edits if one.name == each.name and stands_alone(one)))
            is_cut = len(each.listed) < each.violations
            listed = self._all_violating(data, alone) if is_cut and len(alone) and not level else each.listed - 1
            found[each.name] = listed.astype(np.int64)
            if len(listed) < each.violations:
                unlisted.append(each.name)
        return found, unlisted

    def _all_violating(self, data: Dataset, edits: EditSet) -> NDArray[np.int64]:
        """All records that violate a rule, however many: of each part of the file no more are counted than listed."""
        found = []
        for start in range(0, len(data), MOST_LISTED):
            part = data.taken(np.arange(start, min(start + MOST_LISTED, len(data)), dtype=np.int64))
            (outcome,) = mw.validate(part, edits, original=self.data).edits
            found.append(outcome.listed - 1 + start)
        return np.concatenate(found)

    def _violated_after(
        self, release: Mapping[str, Any], edits: EditSet, level: str, after: Dataset | None,
        whole: Dataset | LinkedData | None, pairs: Pairs,
    ) -> tuple[dict[str, NDArray[np.int64]], list[str]]:  # fmt: skip
        """The same of masked records: only of edits of which the run says that there are some."""
        names = () if release["run"] is None else release["run"]["violating"]
        left = mw.EditSet(tuple(each for each in edits if each.name in names))
        if whole is None or after is None or pairs.place is None or not left:
            return {}, []
        outcomes = mw.validate(whole, left, original=self.linked or self.data).edits
        return self._listed([each for each in outcomes if each.name in names], left, level, after)

    def _risks(self, release: Mapping[str, Any], whole: Dataset | LinkedData | None) -> FoundRisk:
        """Class and individual risk of each record, without what takes long and is said of the file."""
        if self._record_risks is None or self._record_risks[0] != release["stamps"]:
            after = whole if isinstance(whole, mw.Dataset) else None
            found = measured_risk(self.linked or self.data, after, self._reporter, (CLASSES, INDIVIDUAL))
            self._record_risks = release["stamps"], found
        return self._record_risks[1]


def _is_key(variable: mw.Variable) -> bool:
    return variable.role == "quasi_identifier" and not variable.inferred_role


def _of_records(
    risk: FoundRisk, level: str, *, masked: bool, records: int
) -> tuple[NDArray[np.int64] | None, NDArray[np.float64] | None]:
    """Class size and individual risk of each record; None where they could not be computed."""
    columns = {}
    for label, (each, _) in risk.found.items():
        found = risk.both(label)[masked]
        if label.rpartition(".")[0] == level and found is not None and found.per_record is not None:
            columns[each.name] = np.asarray(found.per_record)
    shares, risks = columns.get("k_anonymity"), columns.get("individual_risk")
    if shares is None or len(shares) != records:
        return None, None
    return np.rint(100.0 / shares).astype(np.int64), risks


def _columns(data: Dataset, wanted: str, first: Sequence[str]) -> tuple[list[str], list[str]]:
    """Variables that are shown, and words that name none; without a word the first, identifiers apart."""
    words = [each.strip() for each in wanted.split(",") if each.strip()]
    if not words:
        plain = [each for each in data.variables if each.role != "identifier"]
        keys = [each.name for each in plain if _is_key(each)]
        listed = dict.fromkeys([*(name for name in first if name in data), *keys, *(each.name for each in plain)])
        most = max(MOST_COLUMNS, sum(name in data for name in first))
        return [*listed][:most], []
    found: dict[str, None] = {}
    unknown = []
    for word in words:
        signs = {"*": ".*", "?": "."}
        pattern = re.compile("".join(signs.get(sign) or re.escape(sign) for sign in word), re.DOTALL)
        own = [word] if word in data else [name for name in data.names if pattern.fullmatch(name)]
        found |= dict.fromkeys(own)
        unknown += [] if own else [word]
    return [*found], unknown
