"""The whole run over parts: scan, plan, shuffle, mask block by block, finish part by part, measure, publish."""

from __future__ import annotations

import functools
import hashlib
import json
import pickle
import shutil
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.commands.parted.classes import DISTINCT_AT_ONCE, count_classes
from maskwright.commands.parted.cuts import blocks_of, cut_of_group
from maskwright.commands.parted.finishing import Finish, finish
from maskwright.commands.parted.overlay import MaskedGroup
from maskwright.commands.parted.planning import arrived, merged_outcome, planned
from maskwright.commands.parted.protecting import BlockMasking, Masking, PartMasking, protect_block, protect_part
from maskwright.commands.parted.publishing import StagedParts, refuse_folder
from maskwright.commands.parted.refusing import refuse_plan, refuse_request
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
from maskwright.data.parts.finding import is_several
from maskwright.edits.edit_set import EditSet
from maskwright.foundation.progress import stage
from maskwright.foundation.randomness import fresh_seed
from maskwright.masking.context import WholeFile
from maskwright.planning.criteria import cut
from maskwright.planning.warnings.undecided_edits import undecided_doubts
from maskwright.plugins.engine import EngineTerms, Stage
from maskwright.plugins.parts_reading import scan_parts
from maskwright.plugins.registry import find_source, plugins
from maskwright.release.files import Release
from maskwright.release.gate import judge
from maskwright.release.last_look import unchanged_doubts
from maskwright.release.measures.usual_losses import with_usual_losses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from maskwright.commands.parted.planning import Arrived, PlannedRun
    from maskwright.commands.running.arrive import Clock
    from maskwright.data.parts.model import Parts
    from maskwright.foundation.progress import Reporter
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.planning.plan import Plan
    from maskwright.plugins.engine import Receipt, Workers
    from maskwright.release.record.run_record import RunRecord

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


def run_parted(described: Pipeline, reporter: Reporter, clock: Clock, private: frozenset[str]) -> RunRecord:
    """Run a pipeline over parts; the record of what was released.

    Parameters
    ----------
    described : Pipeline
        With an engine.
    reporter : Reporter
    clock : Clock
    private : frozenset of str
        Outputs for their owner only.

    Raises
    ------
    InputError
    EditViolation, ThresholdMissed, OpenDoubts
    """
    assert described.engine is not None
    refuse_request(described)
    several = is_several(str(described.data.path))
    if several:
        refuse_folder(described.output.data)
    with clock("find"), stage(reporter, "Finding the parts") as progress:
        parts = scan_parts(find_source(described.data.source.name), described.data.params, str(described.data.path), progress)
    seed = fresh_seed() if described.seed is None else described.seed
    paths = {key: path for key, path in described.output.paths.items() if key != "data"}
    within = described.engine.scratch or described.output.data.parent
    scratch = Path(tempfile.mkdtemp(prefix=".scratch-maskwright-", dir=within))
    staged = StagedParts(described.output.data, parts, is_folder=several)
    try:
        terms = EngineTerms(described.execution.workers, scratch, {})
        with (
            Release(paths, private) as release,
            described.engine.plugin.start(terms, described.engine.params) as workers,
        ):
            identity = _identity(described, parts, seed)
            run = PartedRun(described, parts, seed, scratch, workers, reporter, clock, identity)
            return _run(run, release, staged)
    finally:
        staged.remove()
        shutil.rmtree(scratch, ignore_errors=True)


def _identity(described: Pipeline, parts: Parts, seed: int) -> str:
    """What all results depend on."""
    files = [(part.name, part.bytes, part.stamp, part.records, part.fingerprint) for part in parts]
    said = json.dumps([described.text, files, seed], ensure_ascii=False)
    return hashlib.sha256(said.encode()).hexdigest()


def _run(run: PartedRun, release: Release, staged: StagedParts) -> RunRecord:
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
    measured: dict[str, Any] = {}
    record = run_record(
        MeasuredRun(described, ready, result, outcome, measured, unchanged, judgement, run.seed, run.clock.seconds)
    )
    record = record.model_copy(update={"mode": _mode(run)})
    refuse_release(described, result, outcome, record, judgement)
    with run.clock("publish"):
        staged.gather([Path(each) for each in _every_folder(run, "finish")])
        record = publish_record(release, described, record, data=staged)
    return record.model_copy(update={"seconds": dict(run.clock.seconds)})


def _for_tasks(described: Pipeline) -> Pipeline:
    """What tasks need of a pipeline: no engine, no reports; its source reads one part."""
    output = replace(described.output, reports=())
    data = replace(described.data, source=find_source(described.data.source.name))
    return replace(described, data=data, output=output, engine=None, checks=(), sections=(), after=(), measures=())


def _mode(run: PartedRun) -> str:
    return f"blocks of about {run.block_size} records, cut by a sample"


def _every_folder(run: PartedRun, name: str) -> list[str]:
    return [str(run.scratch / name / receipt.key) for receipt in run.done[name]]


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
    domain_rows = None
    about = run.store("finish", Finish(masking, groups, record_units, tuple(sets), tasks, domain_rows))
    receipts = run.run("finish", "Writing, reading back and validating", finish, run.part_keys, told, about)
    folders = run.folders("finish")
    keys = [f"{which}-{share}" for which in range(len(sets)) for share in range(tasks)]
    counted = run.run("classes", "Counting equal records", count_classes, keys, folders, tuple(least), tasks)
    counts = [_count([each.facts for each in counted[at * tasks : (at + 1) * tasks]], found.records) for at in range(len(sets))]
    finished, shares, facts = [], [], []
    for receipt, first, folder in zip(receipts, run.parts.offsets, folders, strict=False):
        if folder:
            with (Path(folder) / "finished").open("rb") as file:
                finished.append(pickle.load(file))  # noqa: S301 - a verified file of this run
            shares.append((first, finished[-1].outcome))
            facts.append(receipt.facts)
    of_groups = [
        [receipt.facts for receipt in run.done.get(f"mask-{at}", run.done.get(f"local-{at}", []))]
        for at in range(len(plan.groups))
    ]
    result = masking_result(
        Told(of_groups, facts, finished, together(counts), found.records), plan, masking.edits
    )
    return result, merged_outcome(shares), unchanged_of_parts(finished)


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
