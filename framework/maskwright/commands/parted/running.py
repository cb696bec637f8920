"""The whole run over parts: scan, plan, shuffle, mask block by block, finish part by part, measure, publish."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import pickle
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.commands.parted.classes import DISTINCT_AT_ONCE, count_classes
from maskwright.commands.parted.cuts import blocks_of, cut_of_group
from maskwright.commands.parted.finishing import PUBLISHED, Finish, finish
from maskwright.commands.parted.measuring import MOST_ROUNDS, Round, measure_again, merged_measure
from maskwright.commands.parted.overlay import MaskedGroup
from maskwright.commands.parted.planning import arrived, merged_outcome, planned
from maskwright.commands.parted.protecting import BlockMasking, Masking, PartMasking, protect_block, protect_part
from maskwright.commands.parted.refusing import refuse_output, refuse_plan, refuse_request
from maskwright.commands.parted.results import Told, class_sets, masking_result, unchanged_of_parts
from maskwright.commands.parted.scanning import scan
from maskwright.commands.parted.sheet import Sheet, Stored
from maskwright.commands.parted.shuffling import Shuffle, shuffle
from maskwright.commands.parted.spilling import borders_of
from maskwright.commands.parted.strata import Combinations, Conditions, survey
from maskwright.commands.parted.whole_variables import empty
from maskwright.commands.running.plan_checks import heed_checks
from maskwright.commands.running.publish import publish_record, refuse_doubts, refuse_release
from maskwright.commands.running.ready import ReadyRun, doubts_of_measures
from maskwright.commands.running.recording import MeasuredRun, run_record
from maskwright.data.parts.manifest import write_manifest
from maskwright.data.dataset import Column, Dataset
from maskwright.edits.edit_set import EditSet
from maskwright.foundation.errors import InputError
from maskwright.foundation.progress import stage
from maskwright.foundation.randomness import fresh_seed
from maskwright.foundation.whole_files import PUBLIC, masked_mode
from maskwright.masking.adjusting.donors import Donors
from maskwright.masking.context import WholeFile
from maskwright.planning.criteria import cut
from maskwright.planning.warnings.undecided_edits import undecided_doubts
from maskwright.plugins.engine import EngineTerms, Stage
from maskwright.plugins.merging import Further
from maskwright.plugins.parts_reading import refuse_changed_parts, scan_parts
from maskwright.plugins.registry import find_source, plugins
from maskwright.release.facts import file_facts
from maskwright.release.files import Release, writing
from maskwright.release.gate import judge
from maskwright.release.last_look import unchanged_doubts
from maskwright.release.measures.usual_losses import with_usual_losses
from maskwright.release.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.commands.parted.finishing import FinishedPart
    from maskwright.commands.parted.planning import Arrived, PlannedRun
    from maskwright.commands.running.arrive import Clock
    from maskwright.data.parts.model import Parts
    from maskwright.data.variable import Variable
    from maskwright.edits.evaluation.domain import Combinations as CombinationsOfValues
    from maskwright.foundation.progress import Reporter
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.planning.plan import Plan
    from maskwright.plugins.engine import Receipt, Workers
    from maskwright.plugins.measurement import Measurement
    from maskwright.release.record.run_record import RunRecord

FINISHED = "finish"
"""Stage whose tasks write the masked parts."""

AGAIN = "finish-again"
"""The same, where rows of some parts need feasible ones of others."""

BLOCK_SIZE = 50_000
"""Records of a block where the pipeline does not say."""


@dataclass(eq=False)
class PartedRun:
    """A run over parts, with the workers that its tasks are given to."""

    pipeline: Pipeline
    parts: Parts
    seed: int
    scratch: Path
    workers: Workers
    reporter: Reporter
    clock: Clock
    identity: str
    done: dict[str, list[Receipt]] = field(default_factory=dict)
    finished: str = FINISHED

    @property
    def block_size(self) -> int:
        """Records of a block."""
        return self.pipeline.execution.block_size or BLOCK_SIZE

    @property
    def part_keys(self) -> list[str]:
        """Keys of tasks that read one part."""
        return [str(position) for position in range(len(self.parts))]

    def run(
        self, name: str, title: str, work: Callable[..., Mapping[str, object]], keys: Sequence[str], *told: object
    ) -> list[Receipt]:
        """Have the tasks of one stage done."""
        identity = hashlib.sha256(pickle.dumps((self.identity, told), protocol=5)).hexdigest()
        doing = Stage(name, functools.partial(work, *told), self.scratch, identity)
        receipts = []
        with self.clock(title.lower()), stage(self.reporter, title) as progress:
            for number, receipt in enumerate(self.workers.run(doing, keys), 1):
                receipts.append(receipt)
                progress(number / len(keys))
        self.done[name] = receipts
        return receipts

    def store(self, name: str, content: object) -> Stored:
        """Write something that tasks read."""
        return Stored.of(content, self.scratch / f"{name}.told")

    def folders(self, name: str) -> tuple[str, ...]:
        """Where the tasks of a stage put their files; "" for parts without records."""
        return tuple(
            "" if receipt.facts.get("records") == 0 else str(self.scratch / name / receipt.key)
            for receipt in self.done[name]
        )


def run_parted(
    described: Pipeline, reporter: Reporter, clock: Clock, private: frozenset[str], *, resume: bool = False
) -> RunRecord:
    """Run a pipeline over parts; the record of what was released.

    Parameters
    ----------
    described : Pipeline
        With an engine.
    reporter : Reporter
    clock : Clock
    private : frozenset of str
        Outputs for their owner only.
    resume : bool
        Whether to go on from what an earlier run of the same pipeline has finished.

    Raises
    ------
    InputError
    EditViolation, ThresholdMissed, OpenDoubts
    """
    chosen = described.engine
    assert chosen is not None
    refuse_request(described)
    with clock("find"), stage(reporter, "Finding the parts") as progress:
        source = find_source(described.data.source.name)
        parts = scan_parts(source, described.data.params, str(described.data.path), progress)
    refuse_output(described, parts)
    paths, output = described.output.paths, described.output.data
    within = chosen.scratch or output.parent
    folders = frozenset({"data"} if described.output.is_folder else ())
    identity = _identity(described, parts)
    with (
        Release(paths, private, folders) as release,
        scratch_folder(within, output, identity, resume=resume, reporter=reporter) as scratch,
        chosen.plugin.start(EngineTerms(described.execution.workers, scratch.path, {}), chosen.params) as workers,
    ):
        drawn = described.seed if described.seed is not None else scratch.remember("seed", fresh_seed)
        run = PartedRun(
            described, parts, int(drawn), scratch.path, workers, reporter, clock, f"{identity} {drawn}"
        )
        return _run(run, release)


def _identity(described: Pipeline, parts: Parts) -> str:
    """What all results depend on."""
    files = [(part.name, part.bytes, part.stamp, part.records, part.fingerprint) for part in parts]
    said = json.dumps([described.settings, files, described.seed], ensure_ascii=False, default=str)
    return hashlib.sha256(said.encode()).hexdigest()


def _run(run: PartedRun, release: Release) -> RunRecord:
    described = run.pipeline
    found = _arrived(run)
    plan = planned(described, found)
    described = with_usual_losses(described, plan.plan, plugins())
    described = refuse_plan(described, plan.plan)
    run.pipeline = described
    for notice in (*release.notices, *plan.notices):
        run.reporter.notice(notice)
    doubts = (*plan.doubts, *doubts_of_measures(described, plan.plan))
    if described.checks:
        heed_checks(described, plan.plan.to_json(), run.reporter)
    refuse_doubts(described, judge(doubts, described.waivers))
    told = run.store("sheet", Sheet(_for_tasks(described), run.parts, run.seed, found.variables))
    masking, groups = _masked(run, told, found, plan)
    result, outcome, unchanged = _finished(run, told, found, masking, groups)
    seen = tuple(unchanged_doubts(unchanged, plan.plan, result.doubts))
    left = undecided_doubts(outcome, found.outcome)
    judgement = judge((*doubts, *result.doubts, *left, *seen), described.waivers)
    for notice in (*result.notices, *judgement.notices):
        run.reporter.notice(notice)
    original = replace(empty(found.variables), layout=found.layout)
    ready = ReadyRun(described, original, plan.edits, found.outcome, masking.plan, plan.notices, doubts)
    measured = _measured(run, plan.plan, told)
    record = run_record(
        MeasuredRun(described, ready, result, outcome, measured, unchanged, judgement, run.seed, run.clock.seconds)
    )
    record = record.model_copy(update={"mode": _mode(run)})
    refuse_release(described, result, outcome, record, judgement)
    with run.clock("publish"):
        refuse_changed_parts(run.parts)
        _gather(run, release, [each.variable for each in found.variables.values()])
        record = publish_record(release, described, record)
    return record.model_copy(update={"seconds": dict(run.clock.seconds)})


def _for_tasks(described: Pipeline) -> Pipeline:
    """What tasks need of a pipeline: no engine, no reports; its source reads one part."""
    output = replace(described.output, reports=(), source=find_source(described.output.source.name))
    data = replace(described.data, source=find_source(described.data.source.name))
    return replace(described, data=data, output=output, engine=None, checks=(), sections=(), after=(), measures=())


def _measured(run: PartedRun, plan: Plan, told: Stored) -> dict[str, Measurement]:
    """What measures say of all parts, in as many rounds as they ask for."""
    asked: dict[str, Mapping[str, Any]] = {}
    waiting = list(run.pipeline.measures)
    facts = [receipt.facts["measures"] for receipt in run.done[run.finished] if "measures" in receipt.facts]
    found: dict[str, Measurement] = {}
    for number in range(1, MOST_ROUNDS + 1):
        further: dict[str, Mapping[str, Any]] = {}
        for request in waiting:
            own = [each[request.label] for each in facts]
            said = merged_measure(request, own, asked.get(request.label), plan)
            if isinstance(said, Further):
                further[request.label] = said.asked
            else:
                found[request.label] = said
        waiting, asked = [each for each in waiting if each.label in further], further
        if not waiting:
            break
        about = run.store(f"measure-{number}", Round(tuple(waiting), plan, asked, _published(run)))
        receipts = run.run(f"measure-{number}", "Measuring", measure_again, run.part_keys, told, about)
        facts = [receipt.facts["measures"] for receipt in receipts if "measures" in receipt.facts]
    if waiting:
        raise InputError(f"{waiting[0].label} did not end after {MOST_ROUNDS} rounds over the parts")
    return found


def _published(run: PartedRun) -> tuple[str, ...]:
    """The masked file of each part, where it was written."""
    files = []
    for folder in run.folders(run.finished):
        files.append(str(next((Path(folder) / PUBLISHED).iterdir())) if folder else "")
    return tuple(files)


def _mode(run: PartedRun) -> str:
    return f"blocks of about {run.block_size} records, cut by a sample"


def _gather(run: PartedRun, release: Release, variables: Sequence[Variable]) -> None:
    """Move the finished parts into the release, each as it was validated."""
    target, facts = release.temporary("data"), []
    for part, receipt in zip(run.parts, run.done[run.finished], strict=True):
        ((name, sha256),) = [each for each in receipt.files.items() if each[0].startswith(f"{PUBLISHED}/")]
        file = target / part.name if run.pipeline.output.is_folder else target
        with writing(target):
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(run.scratch / run.finished / receipt.key / name, file)
            file.chmod(0o600 if file == target else masked_mode(PUBLIC))
        found = file_facts(file)
        if found["sha256"] != sha256:
            raise InputError(f"{part.name}: the masked file was changed by another program; nothing was released")
        facts.append({"name": part.name, "records": part.records, **found})
    if run.pipeline.output.is_folder:
        write_manifest(target, facts, variables, run.pipeline.output.source.name)


def _arrived(run: PartedRun) -> Arrived:
    """Look at all parts for the first time."""
    told = run.store("parts", Sheet(_for_tasks(run.pipeline), run.parts, run.seed, {}))
    run.run("scan", "Reading the parts", scan, run.part_keys, told)
    shares = []
    for part, first, folder in zip(run.parts, run.parts.offsets, run.folders("scan"), strict=False):
        if folder:
            with (Path(folder) / "scanned").open("rb") as file:
                shares.append((part.name, first, pickle.load(file)))  # noqa: S301 - a verified file of this run
    return arrived(shares)


def _masked(
    run: PartedRun, told: Stored, found: Arrived, plan: PlannedRun
) -> tuple[Masking, tuple[MaskedGroup, ...]]:
    """Mask every group of every step."""
    conditions = [
        Conditions(group.variables, group.cut_by, EditSet(tuple(plan.edits))) for group in plan.plan.groups
    ]
    strata = _strata(run, told, found, plan.plan, conditions, plan)
    groups = tuple(replace(group, strata=each[0]) for group, each in zip(plan.plan.groups, strata, strict=True))
    whole_plan = replace(plan.plan, groups=groups)
    present = {name: each.present for name, each in found.variables.items()}
    numeric = [name for name in plan.plan.masked if plan.plan.variables[name].is_numeric]
    whole = WholeFile(found.records, present, sum(present[name] > 0 for name in numeric), found.domain)
    edits = plan.edits + plan.plan.limits
    masking = Masking(whole_plan, edits, plan.standardisation, whole, run.seed, run.block_size)
    done: list[MaskedGroup] = []
    for number, step in enumerate(plan.plan.steps, 1):
        own = [at for at, group in enumerate(groups) if group.step == number]
        if step.method.cut == "any":
            done += [_by_part(run, told, masking, at, conditions[at], strata[at][1], tuple(done)) for at in own]
        else:
            done += _by_block(run, told, found, masking, own, conditions, strata, tuple(done))
    return masking, tuple(done)


def _strata(
    run: PartedRun, told: Stored, found: Arrived, plan: Plan, conditions: Sequence[Conditions], planned_run: PlannedRun
) -> list[tuple[Any, dict[tuple[int, ...], int], list[int]]]:
    """Strata of each group, the stratum of each combination of conditions, and the records of each stratum."""
    counts = [Combinations() for _ in conditions]
    asked = [at for at, each in enumerate(conditions) if each.criteria]
    if asked:
        chosen = tuple(conditions[at] for at in asked)
        for receipt in run.run("strata", "Counting strata", survey, run.part_keys, told, chosen):
            for at, rows in zip(asked, receipt.facts["groups"], strict=True):
                counts[at].add(rows)
    result = []
    for at, group in enumerate(plan.groups):
        if at not in asked:
            zeros = [["0x0"] * len(group.variables), [0] * len(group.variables)]
            counts[at].add([[[], found.records, *zeros]])
        scale = [planned_run.standardisation.scale[name] for name in group.variables]
        step = plan.steps[group.step - 1]
        cuts = cut(found.sample, group.cut_by, conditions[at].edits)
        least = step.smallest_stratum(found.records, len(group.variables))
        result.append(counts[at].strata(group, cuts, scale, least))
    return result


def _by_part(
    run: PartedRun, told: Stored, masking: Masking, at: int, conditions: Conditions,
    stratum_of: Mapping[tuple[int, ...], int], before: tuple[MaskedGroup, ...],
) -> MaskedGroup:  # fmt: skip
    """Mask a group whose method changes each record by itself."""
    group = masking.plan.groups[at]
    about = run.store(f"local-{at}", PartMasking(masking, at, conditions, stratum_of, before))
    name = f"local-{at}"
    run.run(name, f"Masking, step {group.step}, part by part", protect_part, run.part_keys, told, about)
    return MaskedGroup(at, group.variables, (), run.folders(name), by_part=True)


def _by_block(
    run: PartedRun, told: Stored, found: Arrived, masking: Masking, own: Sequence[int],
    conditions: Sequence[Conditions], strata: Sequence[tuple[Any, dict[tuple[int, ...], int], list[int]]],
    before: tuple[MaskedGroup, ...],
) -> list[MaskedGroup]:  # fmt: skip
    """Shuffle the records of a step to blocks, and mask these."""
    plan, standardisation = masking.plan, masking.standardisation
    number = plan.groups[own[0]].step
    cuts, columns, units = [], [], []
    for at in own:
        group = plan.groups[at]
        center = np.array([standardisation.center[name] for name in group.variables])
        scale = np.array([standardisation.scale[name] for name in group.variables])
        _, stratum_of, records = strata[at]
        cuts.append(
            cut_of_group(
                at, conditions[at], stratum_of, records, found.sample, found.hashes, center, scale, run.block_size
            )
        )
        units.append(tuple(n for n, unit in enumerate(plan.units) if unit.group == at))
        columns.append(_needed(masking, at, units[-1], found))
    about = run.store(f"shuffle-{number}", Shuffle(tuple(cuts), tuple(columns), before))
    name = f"shuffle-{number}"
    run.run(name, f"Shuffling, step {number}", shuffle, run.part_keys, told, about)
    shuffled = run.folders(name)
    done = []
    for at, each, names, adjusted in zip(own, cuts, columns, units, strict=True):
        group = plan.groups[at]
        step = plan.steps[group.step - 1]
        sizes = np.zeros(each.leaves, dtype=np.int64)
        for folder in shuffled:
            if folder:
                sizes += np.diff(borders_of(Path(folder) / f"g{at}"))
        least = max(step.smallest_stratum(found.records, len(group.variables)), 2 * (step.k or 1))
        blocks = blocks_of(sizes, each.stratum_of_leaf, least)
        about = run.store(f"mask-{at}", BlockMasking(masking, each, names, adjusted, shuffled, tuple(blocks)))
        keys = [str(position) for position in range(len(blocks))]
        title = f"Masking, step {group.step}: {step.method.name}"
        run.run(f"mask-{at}", title, protect_block, keys, told, about)
        own_names = {variable for unit in adjusted for variable in plan.units[unit].variables}
        with_units = tuple(variable for variable in group.variables if variable in own_names)
        done.append(MaskedGroup(at, group.variables, with_units, run.folders(f"mask-{at}"), by_part=False))
    return done


def _needed(masking: Masking, at: int, units: Sequence[int], found: Arrived) -> tuple[str, ...]:
    """Variables that masking a group looks at: its own, companions, weights, and what the edits of its units read."""
    plan = masking.plan
    group = plan.groups[at]
    step = plan.steps[group.step - 1]
    read = [name for unit in units for edit in plan.units[unit].edits for name in masking.edits[edit].variables]
    tied = [name for edit in group.edits for name in plan.edits[edit].variables]
    weights = [name for name, each in found.variables.items() if each.variable.role == "weight"]
    wanted = {*group.variables, *step.companions, *read, *weights}
    wanted |= set(tied) if step.method.companions_of_edits else set()
    return tuple(name for name in found.variables if name in wanted)


def _finished(
    run: PartedRun, told: Stored, found: Arrived, masking: Masking, groups: tuple[MaskedGroup, ...]
) -> tuple[Any, Any, Any]:
    """Finish every part, and count what they have in common."""
    plan = masking.plan
    record_units = tuple(number for number, unit in enumerate(plan.units) if unit.group is None or not _is_homed(masking, unit.group))
    masked = empty(found.variables).without(plan.dropped)
    sets, least, together = class_sets(plan, masked, found.records)
    tasks = max(1, -(-found.records // DISTINCT_AT_ONCE))
    task = Finish(
        masking, groups, record_units, tuple(sets), tasks, _domain_rows(found), tuple(run.pipeline.measures)
    )
    receipts = run.run(FINISHED, "Writing, reading back and validating", finish, run.part_keys, told, run.store(FINISHED, task))
    if any(unit["infeasible"] for receipt in receipts for unit in receipt.facts.get("units", ())):
        # Rows for which nothing was found take the place of feasible ones of the whole file.
        donors = _donors(run, record_units)
        about = run.store(AGAIN, replace(task, donors=donors))
        run.finished = AGAIN
        receipts = run.run(AGAIN, "Writing, reading back and validating again", finish, run.part_keys, told, about)
    folders = run.folders(run.finished)
    keys = [f"{which}-{share}" for which in range(len(sets)) for share in range(tasks)]
    counted = run.run("classes", "Counting equal records", count_classes, keys, folders, tuple(least), tasks)
    counts = [
        _count([each.facts for each in counted[at * tasks : (at + 1) * tasks]], found.records)
        for at in range(len(sets))
    ]
    finished = _read_finished(folders)
    shares = [(first, each.outcome) for first, each in zip(_firsts(run, folders), finished, strict=True)]
    facts = [receipt.facts for receipt, folder in zip(receipts, folders, strict=True) if folder]
    of_groups = [
        [receipt.facts for receipt in run.done.get(f"mask-{at}", run.done.get(f"local-{at}", []))]
        for at in range(len(plan.groups))
    ]
    result = masking_result(
        Told(of_groups, facts, finished, together(counts), found.records), plan, masking.edits
    )
    return result, merged_outcome(shares), unchanged_of_parts(finished)


def _read_finished(folders: Sequence[str]) -> list[FinishedPart]:
    finished = []
    for folder in folders:
        if folder:
            with (Path(folder) / "finished").open("rb") as file:
                finished.append(pickle.load(file))  # noqa: S301 - a verified file of this run
    return finished


def _firsts(run: PartedRun, folders: Sequence[str]) -> list[int]:
    return [first for first, folder in zip(run.parts.offsets, folders, strict=False) if folder]


def _donors(run: PartedRun, units: Sequence[int]) -> dict[int, Donors]:
    """Feasible rows of the whole file, for each unit that acts on records."""
    finished = _read_finished(run.folders(FINISHED))
    return {number: Donors.merged([each.donors[number] for each in finished]) for number in units}


def _domain_rows(found: Arrived) -> Dataset | None:
    """Records that hold each combination that domain edits ask for: of one tuple of variables after the other."""
    names_of = found.domain.tuples
    if not names_of:
        return None
    pieces = [found.domain.combinations(names) for names in names_of]
    n = sum(map(len, pieces))
    columns = []
    for name, whole in found.variables.items():
        numeric = whole.variable.is_numeric
        values = np.full(n, np.nan) if numeric else np.full(n, -1, dtype=np.int32)
        start = 0
        for names, each in zip(names_of, pieces, strict=True):
            if name in names:
                at = names.index(name)
                values[start : start + len(each)] = (
                    each.numbers[:, at] if numeric else _codes(whole.variable, each, at)
                )
            start += len(each)
        columns.append(Column(whole.variable, values, np.isnan(values) if numeric else values == -1))
    return Dataset(tuple(columns))


def _codes(variable: Variable, found: CombinationsOfValues, at: int) -> NDArray[np.int32]:
    """Category of each combination: categories that are numbers are compared as such."""
    as_text = {text: code for code, text in enumerate(variable.categories)}
    as_number: dict[float, int] = {}
    for text, code in as_text.items():
        with contextlib.suppress(ValueError):
            as_number[float(text)] = code
    texts, numbers = found.texts[at].to_pylist(), found.numbers[:, at].tolist()
    return np.array(
        [
            as_number.get(number, -1) if text is None else as_text[text]
            for text, number in zip(texts, numbers, strict=True)
        ],
        dtype=np.int32,
    )


def _is_homed(masking: Masking, group: int) -> bool:
    """Whether the clusters of a group were adjusted where they were made."""
    step = masking.plan.steps[masking.plan.groups[group].step - 1]
    return step.method.cut != "any"


def _count(facts: Iterable[Mapping[str, Any]], records: int) -> dict[str, int]:
    smallest, below = records, 0
    for each in facts:
        below += each["below"]
        smallest = smallest if each["smallest"] is None else min(smallest, each["smallest"])
    return {"smallest": smallest, "below": below}
