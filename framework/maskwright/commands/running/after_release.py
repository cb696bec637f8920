"""What a pipeline has done once everything is released."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.foundation.errors import MaskwrightError
from maskwright.foundation.progress import stage
from maskwright.plugins.guarding.frozen import frozen

if TYPE_CHECKING:
    from maskwright.foundation.progress import Reporter
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.release.record.run_record import RunRecord

CONFIDENTIAL = frozenset({"record", "svrl", "key_map"})
"""Outputs that no action gets to know of."""


def act_after_release(described: Pipeline, record: RunRecord, reporter: Reporter) -> None:
    """Do what the pipeline lists under ``after:``, in order.

    Parameters
    ----------
    described : Pipeline
    record : RunRecord
        Actions get what may be published of it.
    reporter : Reporter

    Raises
    ------
    MaskwrightError
        An action failed: the release stands all the same.
    """
    outputs = {key: path for key, path in described.output.paths.items() if key not in CONFIDENTIAL}
    shown = frozen(record.public_json())
    for each in described.after:
        try:
            with stage(reporter, f"After the release: {each.plugin.name}"):
                said = each.plugin.act(frozen(outputs), shown, each.params)
        except MaskwrightError:
            reporter.notice(f"everything is released and stays so; what comes after ended with {each.plugin.name}")
            raise
        if said:
            reporter.notice(f"{each.plugin.name}: {said}")
