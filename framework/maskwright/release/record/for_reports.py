"""The record of a run as reports get it: without the seed and hashes of the input, and nothing in it can be changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maskwright.plugins.guarding.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.release.record.run_record import RunRecord


def record_for_reports(record: RunRecord) -> Mapping[str, Any]:
    """Plain data of a record, read-only, in which null stands for the seed and for hashes of what was read.

    The text of the pipeline, which may say the seed, is empty.
    """
    plain = record.to_json()
    settings = {name: each for name, each in plain["pipeline"]["settings"].items() if name != "seed"}
    plain["pipeline"] = plain["pipeline"] | {"text": "", "settings": settings}
    plain["inputs"] = [each | {"sha256": None} for each in plain["inputs"]]
    plain["seed"] = None
    return frozen(plain)
