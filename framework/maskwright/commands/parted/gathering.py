"""The end of a run over parts: finished files become the masked data, and what was found of each one report."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from maskwright.commands.parted.finishing import SVRL
from maskwright.commands.parted.written_part import name_of
from maskwright.data.parts.manifest import write_manifest
from maskwright.edits.evaluation.check_data import record_path
from maskwright.edits.evaluation.svrl import SvrlWriter
from maskwright.foundation.errors import InputError
from maskwright.foundation.whole_files import PUBLIC, masked_mode
from maskwright.masking.suppressing.rule_file import rule_file
from maskwright.release.facts import file_facts
from maskwright.release.files import writing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright.commands.parted.task_run import PartedRun
    from maskwright.data.dataset import Layout
    from maskwright.data.variable import Variable
    from maskwright.edits.edit_set import EditSet
    from maskwright.masking.masking_result import MaskingResult
    from maskwright.release.files import Release


def write_svrl(run: PartedRun, release: Release, edits: EditSet, layout: Layout) -> None:
    """Put the report on violations together, where one is asked for. Confidential."""
    if run.pipeline.output.svrl is None:
        return
    target = release.temporary("svrl")
    with (
        writing(target),
        target.open("wb") as stream,
        SvrlWriter(stream, edits, record_path(layout)) as report,
    ):
        for share in run.files(run.published, SVRL):
            with share.open("rb") as found:
                report.add_share(found)


def write_rules(run: PartedRun, release: Release, result: MaskingResult, layout: Layout) -> None:
    """Write the rules that hold in the published data, where they are asked for."""
    target = run.pipeline.output.edits
    if target is None:
        return
    place = layout.details.get("record_path")
    text, notices = rule_file(target, result.edits, result.masked, place[-1] if place else None)
    for notice in notices:
        run.reporter.notice(notice)
    with writing(release.temporary("edits")):
        release.temporary("edits").write_text(text, encoding="utf-8")


def gather(run: PartedRun, release: Release, variables: Sequence[Variable]) -> None:
    """Move the finished files into the release, each as it was validated, and write the manifest of a folder.

    `variables`: columns of the masked data, in order.
    """
    output, target = run.pipeline.output, release.temporary("data")
    facts: list[dict[str, Any]] = []
    for receipt in run.done[run.published]:
        for written, records in receipt.facts["written"]:
            file = target / written if output.is_folder else target
            with writing(target):
                file.parent.mkdir(parents=True, exist_ok=True)
                place = run.scratch / run.published / receipt.key / name_of(run.pipeline, written)
                shutil.move(place, file)
                file.chmod(0o600 if file == target else masked_mode(PUBLIC))
            found = file_facts(file)
            if found["sha256"] != receipt.files[name_of(run.pipeline, written)]:
                message = (
                    f"{written or target.name}: the masked file was changed by another program; nothing was released"
                )
                raise InputError(message)
            facts.append({"name": written, "records": records, **found})
    if output.is_folder:
        write_manifest(target, facts, variables, output.source.name)
