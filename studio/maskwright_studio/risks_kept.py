"""Whether a run of a pipeline will keep the risk of single records, which the page Risk shows."""

from __future__ import annotations

import maskwright as mw
from maskwright_studio.proposals import MARK, value_at


def risks_not_kept(text: str) -> list[str]:
    """Measures of risk of a pipeline, where none of them keeps the risk of single records.

    Returns Labels; none where one of them keeps it, where there is none, and where the text cannot be read.
    """
    try:
        entries = value_at(mw.read_settings(text.removeprefix(MARK)), ("measure",))
    except mw.InputError:
        return []
    found = []
    for entry in entries if isinstance(entries, list) else ():
        name = entry if isinstance(entry, str) else next(iter(entry), "") if isinstance(entry, dict) else ""
        params = entry.get(name) if isinstance(entry, dict) else None
        stated = params if isinstance(params, dict) else {}
        if stated.get("per_record") is True:
            return []
        if _is_of_risk(str(name)):
            found.append(str(stated.get("as", name)))
    return found


def _is_of_risk(name: str) -> bool:
    try:
        return mw.find_measure(name).kind == "risk"
    except mw.InputError:
        return False
