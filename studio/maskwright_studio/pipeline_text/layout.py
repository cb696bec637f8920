"""Positions in a YAML text, plain values after a change, and removal of settings and comments."""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

import maskwright as mw
from maskwright_studio.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    Path = Sequence[str | int]


EDITOR = "Change it in the text of the pipeline."

STRANGE_BREAKS = re.compile("\r(?!\n)|[\x85\u2028\u2029]")
"""Line ends that YAML knows and editors do not show as such."""


def unsafe(reason: str) -> Refusal:
    """Refusal of a layout: the page offers the text instead."""
    return Refusal(f"this cannot be changed safely by a form: {reason}", EDITOR)


MARK = "\ufeff"


@functools.lru_cache(maxsize=16)
def settings_of(text: str) -> Any:
    """Plain settings of a text, with or without its mark; whoever changes them changes a copy."""
    return mw.read_settings(text.removeprefix(MARK))


Change = tuple[int, int, str]
"""Where it begins and ends in the text, and what stands there then."""


@dataclass(frozen=True)
class Entry:
    """One element of a list, or one key of a mapping with its value.

    `start`: where its dash or its key begins. `end`: behind the last character of its value.
    """

    start: int
    end: int


class Layout:
    """Nodes of a text, found by paths."""

    def __init__(self, text: str) -> None:
        if STRANGE_BREAKS.search(text):
            raise unsafe("the file has line ends of an unusual kind")
        loader: Any = yaml.SafeLoader
        try:
            self.tokens = list(yaml.scan(text, Loader=loader))
            self.root: Any = yaml.compose(text, Loader=loader)
        except (yaml.YAMLError, RecursionError):
            raise Refusal("the pipeline is no YAML as it stands", "Mend its text first.") from None
        self.text = text
        self.dashes = self._ends(yaml.BlockEntryToken)
        self.colons = self._ends(yaml.ValueToken)
        self.comments = self._comments()

    def _ends(self, kind: type) -> list[int]:
        return [token.end_mark.index for token in self.tokens if isinstance(token, kind)]

    def _comments(self) -> list[int]:
        found, behind = [], 0
        for token in self.tokens:
            gap = self.text[behind : token.start_mark.index]
            if "#" in gap:
                found += [behind + match.start() for match in re.finditer(r"#[^\n]*", gap)]
            behind = max(behind, token.end_mark.index)
        return found

    def has_comment(self, start: int, end: int) -> bool:
        """Whether a comment begins between two places."""
        at = bisect.bisect_left(self.comments, start)
        return at < len(self.comments) and self.comments[at] < end

    def at(self, path: Path) -> Any:
        """Node at the end of a path; None where there is none."""
        node = self.root
        for step in path:
            if isinstance(node, yaml.MappingNode):
                node = next((value for key, value in node.value if key.value == step), None)
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
                node = node.value[step]
            else:
                return None
        return node

    def end(self, node: Any) -> int:
        """Behind the last character of a value: the mark of a block says where the next thing begins."""
        if isinstance(node, yaml.CollectionNode) and not node.flow_style:
            last = node.value[-1]
            return max(self.end(each) for each in last) if isinstance(last, tuple) else self.end(last)
        end: int = node.end_mark.index
        if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
            end = node.start_mark.index + len(self.text[node.start_mark.index : end].rstrip())
        elif is_nothing(node):
            return int(node.start_mark.index)
        return end

    def entries(self, node: Any) -> list[Entry]:
        """Entries of a list or mapping."""
        if isinstance(node, yaml.MappingNode):
            return [Entry(key.start_mark.index, max(self.end(key), self.end(value))) for key, value in node.value]
        if node.flow_style:
            return [Entry(each.start_mark.index, self.end(each)) for each in node.value]
        return [Entry(self.indicator(self.dashes, each) - 1, self._end_of_element(each)) for each in node.value]

    def _end_of_element(self, node: Any) -> int:
        return max(self.indicator(self.dashes, node), self.end(node))

    def indicator(self, ends: list[int], node: Any) -> int:
        """End of the dash or colon that a value stands behind."""
        at = bisect.bisect_right(ends, node.start_mark.index)
        if not at:
            raise unsafe("it has no indicator of its own")
        return ends[at - 1]

    def position(self, path: Path) -> int:
        """Position of an entry in its list or mapping."""
        if isinstance(path[-1], int):
            return path[-1]
        return next(at for at, (key, _) in enumerate(self.at(path[:-1]).value) if key.value == path[-1])

    def line_start(self, index: int) -> int:
        """Where the line of a place begins."""
        return self.text.rfind("\n", 0, index) + 1

    def line_end(self, index: int) -> int:
        """Where the line after that of a place begins: the length of the text for the last line."""
        found = self.text.find("\n", index)
        return len(self.text) if found < 0 else found + 1

    def column(self, index: int) -> int:
        """Characters before a place in its line."""
        before = self.text[self.line_start(index) : index]
        if "\t" in before:
            raise unsafe("its line is indented by a tab")
        return len(before)

    def begins_line(self, index: int) -> bool:
        """Whether nothing but blanks is before a place in its line."""
        return not self.text[self.line_start(index) : index].strip()

    def above(self, index: int) -> int:
        """Where the line of a place begins, or the first of the comment lines right above it in the same column."""
        start, column = self.line_start(index), self.column(index)
        while start:
            before = self.line_start(start - 1)
            line = self.text[before:start]
            if not (line.lstrip(" ").startswith("#") and len(line) - len(line.lstrip(" ")) == column):
                break
            start = before
        return start

    def newline(self, index: int) -> str:
        """Line end of the line of a place, or of the line before it at the end of the text."""
        end = self.text.find("\n", index)
        end = self.text.rfind("\n") if end < 0 else end
        return "\r\n" if end > 0 and self.text[end - 1] == "\r" else "\n"


def comments_of(text: str) -> list[str]:
    """Comments of a YAML text, each from its sign to the end of its line."""
    layout = Layout(text.removeprefix(MARK))
    return [layout.text[at : layout.line_end(at)].rstrip() for at in layout.comments]


def is_nothing(node: Any) -> bool:
    """Whether nothing is written where a value could be."""
    return isinstance(node, yaml.ScalarNode) and node.style is None and node.start_mark.index == node.end_mark.index


ExpectedChange = Callable[[Any], Any]


def same(one: object, other: object) -> bool:
    """Whether two plain values are the same: types, and the order of keys, count."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return [*one] == [*other] and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


def find(value: Any, path: Path) -> tuple[bool, Any]:
    """Whether there is such a place in a plain value, and what is there."""
    found: Any = value
    for step in path:
        if isinstance(found, list):
            is_there = isinstance(step, int) and 0 <= step < len(found)
        else:
            is_there = isinstance(found, Mapping) and step in found
        if not is_there:
            return False, None
        held: Any = found
        found = held[step]
    return True, found


def setting(path: Path, value: object) -> ExpectedChange:
    """What a value becomes by setting one place of it."""

    def meant(settings: Any) -> Any:
        if not path:
            return value
        settings = {} if settings is None else settings
        find(settings, path[:-1])[1][path[-1]] = value
        return settings

    return meant


def removing(path: Path) -> ExpectedChange:
    """What a value becomes by removing one place of it."""

    def meant(settings: Any) -> Any:
        del find(settings, path[:-1])[1][path[-1]]
        return settings

    return meant


def inserting(path: Path, at: int, value: object) -> ExpectedChange:
    """What a value becomes by an element more in one of its lists."""

    def meant(settings: Any) -> Any:
        find(settings, path)[1].insert(at, value)
        return settings

    return meant


def moving(path: Path, at: int, to: int) -> ExpectedChange:
    """What a value becomes by moving an element of one of its lists."""

    def meant(settings: Any) -> Any:
        elements = find(settings, path)[1]
        elements.insert(to, elements.pop(at))
        return settings

    return meant


def removed(layout: Layout, path: Path, *, comments: bool) -> list[Change]:
    """Changes that take out a key of a mapping, or an element of a list."""
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


def inserted_between(entries: list[Entry], at: int, written: str) -> Change:
    """Put an element between others of a list or mapping in brackets, with its comma."""
    if at < len(entries):
        return entries[at].start, entries[at].start, f"{written}, "
    return entries[-1].end, entries[-1].end, f", {written}"


def lines_behind(layout: Layout, last: Entry, column: int, lines: list[str]) -> Change:
    """Put lines behind those of an entry."""
    end, newline = layout.line_end(last.end), layout.newline(last.end)
    written = indented(lines, column, newline)
    if end and not layout.text[:end].endswith("\n"):
        return end, end, newline + written.removesuffix(newline)
    return end, end, written


def indented(lines: list[str], column: int, newline: str) -> str:
    """Lines at a column, with their ends."""
    return "".join(" " * column + line + newline for line in lines)
