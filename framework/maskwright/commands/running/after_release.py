"""What a pipeline has done once everything is released."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.foundation.errors import MaskwrightError
from maskwright.foundation.progress import stage
from maskwright.plugins.guarding.call import broke_contract
from maskwright.plugins.guarding.frozen import frozen
from maskwright.plugins.guarding.origin import origin_of
from maskwright.release.facts import file_facts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from maskwright.foundation.progress import Reporter
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.plugins.action import Action
    from maskwright.release.facts import FileFacts
    from maskwright.release.record.run_record import RunRecord

CONFIDENTIAL = frozenset({"record", "svrl", "key_map"})
"""Outputs that no action gets to know of."""


def act_after_release(described: Pipeline, record: RunRecord, reporter: Reporter) -> None:
    """Do what the pipeline lists under ``after:``, in order.

    `record`: actions get what may be published of it.
    """
    outputs = {key: path for key, path in described.output.paths.items() if key not in CONFIDENTIAL}
    shown = frozen(record.public_json())
    released = _facts(described) if described.after else {}
    for each in described.after:
        failed: MaskwrightError | None = None
        said = None
        try:
            with stage(reporter, f"After the release: {each.plugin.name}"):
                said = each.plugin.act(frozen(outputs), shown, each.params)
        except MaskwrightError as error:
            failed = error
        _refuse_changed(each.plugin, released, _facts(described))
        if failed is not None:
            reporter.notice(f"everything is released and stays so; what comes after ended with {each.plugin.name}")
            raise failed
        if said:
            reporter.notice(f"{each.plugin.name}: {said}")


def _facts(described: Pipeline) -> dict[Path, FileFacts]:
    """What tells the released files from others; an action may have moved some away."""
    return {path: file_facts(path) for path in described.output.paths.values() if path.is_file()}


def _refuse_changed(action: Action, released: Mapping[Path, FileFacts], found: Mapping[Path, FileFacts]) -> None:
    """Take away files that are not what was released any more: what is passed on is what was checked."""
    changed = [path for path, facts in found.items() if released.get(path) != facts]
    for path in changed:
        path.unlink(missing_ok=True)
    if changed:
        names = ", ".join(path.name for path in changed)
        origin = origin_of(action.act, "action", action.name)
        raise broke_contract(origin, f"changed what was released ({names}), which was taken away: run again without it")
