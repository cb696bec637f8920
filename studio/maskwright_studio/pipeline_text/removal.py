"""What is taken out of a YAML text: settings with their lines, and comments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from maskwright_studio.pipeline_text.layout import unsafe

if TYPE_CHECKING:
    from maskwright_studio.pipeline_text.layout import Change, Entry, Layout, Path


def removed(layout: Layout, path: Path, *, comments: bool) -> list[Change]:
    """Changes that take out a key of a mapping, or an element of a list.

    `comments`: whether comments in it may go with it.
    """
    parent, at = layout.at(path[:-1]), layout.position(path)
    entries = layout.entries(parent)
    entry = entries[at]
    if parent.flow_style:
        return [_remove_between(layout, parent, entries, at, comments=comments)]
    if len(entries) == 1:
        empty = "[]" if isinstance(parent, yaml.SequenceNode) else "{}"
        if comments and len(path) > 1 and layout.begins_line(entry.start):
            indicators = layout.dashes if isinstance(path[-2], int) else layout.colons
            behind = layout.indicator(indicators, parent)
            return [(behind, behind, f" {empty}"), _lines(layout, entry)]
        return [in_place_of_block(layout, path[:-1], empty)]
    if layout.begins_line(entry.start):
        return [_lines(layout, entry)]
    following = entries[at + 1].start
    if at or (not comments and layout.has_comment(layout.line_end(entry.start), following)):
        raise unsafe("it begins in the line of something else")
    return [(entry.start, following, "")]


def uncommented(layout: Layout, path: Path) -> list[Change]:
    """Changes that take the comments right above an element of a list and in its lines."""
    parent = layout.at(path[:-1])
    entry = layout.entries(parent)[layout.position(path)]
    if parent.flow_style or not layout.begins_line(entry.start):
        return []
    start, end = layout.above(entry.start), layout.line_end(entry.end)
    changes = []
    for at in layout.comments:
        if not start <= at < end:
            continue
        line, after = layout.line_start(at), layout.line_end(at)
        before, comment = layout.text[line:at].rstrip(), layout.text[at:after].rstrip("\r\n")
        changes.append((line + len(before), at + len(comment), "") if before else (line, after, ""))
    return changes


def _remove_between(layout: Layout, node: Any, entries: list[Entry], at: int, *, comments: bool) -> Change:
    """Remove an entry between brackets, with one comma."""
    if at + 1 < len(entries):
        start, end = entries[at].start, entries[at + 1].start
    elif at:
        start, end = entries[at - 1].end, entries[at].end
    else:
        start, end = node.start_mark.index + 1, node.end_mark.index - 1
    if not comments and layout.has_comment(start, end):
        raise unsafe("there are comments in it")
    return start, end, ""


def _lines(layout: Layout, entry: Entry) -> Change:
    """Remove the lines of an entry whole."""
    end = layout.line_end(entry.end)
    start = layout.line_start(entry.start)
    if end == len(layout.text) and not layout.text.endswith("\n") and start:
        start -= len(layout.newline(start - 1))
    return start, end, ""


def in_place_of_block(layout: Layout, path: Path, written: str) -> Change:
    """Change that puts something in one line behind the dash or colon of a block."""
    node = layout.at(path)
    if not path:
        raise unsafe("it is the whole file")
    behind = layout.indicator(layout.dashes if isinstance(path[-1], int) else layout.colons, node)
    end = layout.end(node)
    if layout.has_comment(behind, end) or layout.text[behind : node.start_mark.index].strip():
        raise unsafe("there are comments in it")
    return behind, end, f" {written}"
