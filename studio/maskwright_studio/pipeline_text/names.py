"""Lists of names in a YAML text: many are added or taken out by one change, and each list stays in one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import yaml

from maskwright_studio.pipeline_text.edits import remove, set_value
from maskwright_studio.pipeline_text.layout import (
    Layout,
    find,
    inserted_between,
    is_nothing,
    lines_behind,
    removed,
    setting,
    unsafe,
)
from maskwright_studio.pipeline_text.proving import made, read
from maskwright_studio.pipeline_text.written_values import element, in_one_line, scalar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright_studio.pipeline_text.layout import Change, Path


def set_names(text: str, path: Path, names: Sequence[str]) -> str:
    r"""Set a list of names below a key; those that stay are as they are written, others are added at the end.

    Parameters
    ----------
    text : str
        Of the pipeline, as `maskwright_studio.pipeline_text.set_value` takes it.
    path : sequence of str
        ``("data", "roles", "other")``: the mapping that the list is in need not be there yet, that around it must be.
    names : sequence of str
        None: the key is removed.

    Raises
    ------
    Refusal
        As `set_value`.

    Examples
    --------
    >>> set_names("data:\n  source: a.csv\n", ("data", "roles", "other"), ["q1", "q*"])
    'data:\n  source: a.csv\n  roles:\n    other: [q1, q*]\n'
    >>> set_names("data: {roles: {other: [q1, q2, q3]}}\n", ("data", "roles", "other"), ["q1", "q3", "q4"])
    'data: {roles: {other: [q1, q3, q4]}}\n'
    """
    before = read(text)
    found, old = find(before, path)
    if not names:
        above = find(before, path[:-1])[1]
        return remove(text, path[:-1] if isinstance(above, Mapping) and len(above) == 1 else path) if found else text
    if not found:
        return _added(text, before, path, list(names))
    if not isinstance(old, list) or not old:
        return set_value(text, path, list(names))
    kept = [at for at, each in enumerate(old) if each in names]
    added = [name for name in names if name not in old]
    meant = setting(path, [*(old[at] for at in kept), *added])
    return made(text, before, path, lambda layout: _changes(layout, path, kept, added), meant)


def _changes(layout: Layout, path: Path, kept: Sequence[int], added: Sequence[str]) -> list[Change]:
    node = layout.at(path)
    entries = layout.entries(node)
    left = [at for at in range(len(entries)) if at not in set(kept)]
    if not node.flow_style:
        lines = [line for name in added for line in element(name)]
        behind = [lines_behind(layout, entries[-1], layout.column(entries[0].start), lines)] if added else []
        if not kept:
            raise unsafe("no name of the list stays")
        return [*behind, *(change for at in left for change in removed(layout, (*path, at), comments=False))]
    if left and layout.has_comment(node.start_mark.index, layout.end(node)):
        raise unsafe("there are comments in it")
    written = ", ".join(map(scalar, added))
    if not kept:
        return [(entries[0].start, entries[-1].end, written)]
    last = kept[-1]
    end = (entries[last].end, entries[-1].end, f", {written}" if written else "")
    return [end, *((entries[at].start, entries[at + 1].start, "") for at in left if at < last)]


def _added(text: str, before: Any, path: Path, names: list[str]) -> str:
    """Add a key with its list at the end of a mapping, which is made where it is not there."""
    parent = path[:-1]
    is_there = bool(find(before, parent)[1])
    within = parent if is_there else path[:-2]
    value: object = names if is_there else {str(path[-1]): names}
    key = str(path[len(within)])
    if not isinstance(find(before, within)[1], Mapping) or find(before, within)[1] == {}:
        return set_value(text, path, names)

    def change(layout: Layout) -> list[Change]:
        node = layout.at(within)
        if not isinstance(node, yaml.MappingNode) or is_nothing(node):
            raise unsafe("it is no mapping")
        entries = layout.entries(node)
        if node.flow_style:
            return [inserted_between(entries, len(entries), f"{scalar(key)}: {in_one_line(value)}")]
        own = f"{scalar(path[-1])}: {in_one_line(names)}"
        lines = [own] if is_there else [f"{scalar(key)}:", f"  {own}"]
        return [lines_behind(layout, entries[-1], layout.column(entries[0].start), lines)]

    return made(text, before, within, change, setting((*within, key), value))
