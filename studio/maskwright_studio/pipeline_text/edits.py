"""Changes of settings in a YAML text, each proved by reading it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import yaml

from maskwright_studio.pipeline_text.layout import (
    EDITOR,
    Entry,
    Layout,
    find,
    in_place_of_block,
    indented,
    inserted_between,
    inserting,
    is_nothing,
    lines_behind,
    moving,
    removed,
    removing,
    same,
    setting,
    uncommented,
    unsafe,
)
from maskwright_studio.pipeline_text.proving import made, read, refuse_shared
from maskwright_studio.pipeline_text.written_values import element, in_one_line, pair, scalar
from maskwright_studio.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright_studio.pipeline_text.layout import Change, Path


def set_value(text: str, path: Path, value: object) -> str:
    r"""Set one setting; keys on the way to it that are not there are added.

    A mapping or list that is there already is changed key by key and element by element, so that what stays the same
    stays as it is written.

    Parameters
    ----------
    text : str
        Of the pipeline, as it is on disk: line ends, comments and byte order mark stay.
    path : sequence of str or int
        Keys, and positions in lists from 0: ``("protect", 0, "params", "k")``.
    value : None, bool, int, float, str, list or mapping

    Returns
    -------
    str
        The new text.

    Raises
    ------
    Refusal
        The place is written in a way that cannot be changed safely; or there is no such place.

    Examples
    --------
    >>> set_value("protect:\n  - params: {k: 3}   # at least\n", ("protect", 0, "params", "k"), 5)
    'protect:\n  - params: {k: 5}   # at least\n'
    """
    before = read(text)
    found, old = find(before, path)
    if found and same(old, value):
        return text
    if found and isinstance(old, Mapping) and old and isinstance(value, Mapping) and value:
        for key, each in value.items():
            text = set_value(text, (*path, key), each)
        for key in old:
            if key not in value:
                text = remove(text, (*path, key))
        return text
    if found and isinstance(old, list) and old and isinstance(value, (list, tuple)) and value:
        return _set_list(text, path, old, list(value))
    if found:
        return made(text, before, path, lambda layout: _replace(layout, path, value), setting(path, value))
    return _add(text, before, path, value)


def set_values(text: str, values: Sequence[tuple[Path, object]]) -> str:
    r"""Set several settings of mappings in one reading of the text; lists are changed as `set_value` does.

    Parameters
    ----------
    text : str
        As in `set_value`.
    values : sequence of (path, value)
        Paths end in a key.

    Raises
    ------
    Refusal
        As `set_value`.

    Examples
    --------
    >>> set_values("a: {k: 3}\nb: {}\n", [(("a", "k"), 5), (("b", "k"), 5)])
    'a: {k: 5}\nb: {k: 5}\n'
    """
    before = read(text)
    within: dict[tuple[str | int, ...], dict[str, object]] = {}
    later: list[tuple[Path, object]] = []
    for path, value in values:
        found, old = find(before, path)
        if found and isinstance(old, (Mapping, list)) and old:
            later.append((path, value))
        elif not (found and same(old, value)):
            _put(within, before, path, value)
    places = [each for parent, keys in within.items() for each in _places_within(before, parent, keys)]
    if places:

        def change(layout: Layout) -> list[Change]:
            for path, _, _ in places:
                refuse_shared(layout, path)
            return _joined([each for place in places for each in _change_at(layout, *place)])

        def meant(settings: Any) -> Any:
            for path, value, _ in places:
                settings = setting(path, value)(settings)
            return settings

        text = made(text, before, (), change, meant)
    for path, value in later:
        text = set_value(text, path, value)
    return text


def _put(within: dict[tuple[str | int, ...], dict[str, object]], before: Any, path: Path, value: object) -> None:
    """Note a value at the nearest mapping that is there, in mappings of its own where those between are not."""
    depth = len(path) - 1
    while depth > 1 and not find(before, path[:depth])[0] and isinstance(path[depth - 1], str):
        depth -= 1
    own = within.setdefault(tuple(path[:depth]), {})
    for key in path[depth:-1]:
        inner = own.setdefault(str(key), {})
        assert isinstance(inner, dict)
        own = inner
    own[str(path[-1])] = value


def _places_within(before: Any, parent: Path, keys: Mapping[str, object]) -> list[tuple[Path, object, bool]]:
    """Places to change so that a mapping has some keys, each with its value and whether it is there already."""
    found, old = find(before, parent)
    if isinstance(old, Mapping) and old:
        return [((*parent, key), value, key in old) for key, value in keys.items()]
    if not found and not find(before, parent[:-1])[1]:
        raise Refusal("there is no such place in the pipeline", EDITOR)
    return [(parent, dict(keys), found)]


def _change_at(layout: Layout, path: Path, value: object, is_there: bool) -> list[Change]:
    return _replace(layout, path, value) if is_there else _add_key(layout, path[:-1], str(path[-1]), value)


def _joined(changes: Sequence[Change]) -> list[Change]:
    """Changes of which those that insert at one place are one, in their order."""
    found: dict[tuple[int, int], str] = {}
    for start, end, written in changes:
        found[start, end] = found.get((start, end), "") + written if start == end else written
    return [(start, end, written) for (start, end), written in found.items()]


def remove(text: str, path: Path, *, comments: bool = False) -> str:
    r"""Remove a key of a mapping, or an element of a list.

    Parameters
    ----------
    text, path
        As in `set_value`.
    comments : bool
        Whether comments in what is removed may go with it; else they are a reason to refuse.

    Raises
    ------
    Refusal
        As `set_value`.

    Examples
    --------
    >>> remove("protect:   # steps\n  - method: noise   # a little\n", ("protect", 0), comments=True)
    'protect: []   # steps\n'
    """
    before = read(text)
    if not path or not find(before, path)[0]:
        raise Refusal("there is no such setting", "It may have been removed meanwhile.")
    return made(text, before, path, lambda layout: removed(layout, path, comments=comments), removing(path))


def uncomment(text: str, path: Path) -> str:
    r"""Remove the comments of an element of a list: those right above it, and those in its lines.

    An element between brackets shares its lines with others, and keeps them.

    Parameters
    ----------
    text, path
        As in `set_value`; the path of the element.

    Raises
    ------
    Refusal
        As `set_value`.

    Examples
    --------
    >>> uncomment("protect:   # steps\n  # at first\n  - method: noise   # a little\n", ("protect", 0))
    'protect:   # steps\n  - method: noise\n'
    """
    before = read(text)
    if not path or not find(before, path)[0]:
        raise Refusal("there is no such setting", "It may have been removed meanwhile.")
    return made(text, before, path, lambda layout: uncommented(layout, path), lambda settings: settings)


def insert(text: str, path: Path, at: int, value: object) -> str:
    """Insert an element into a list."""
    before = read(text)
    found, old = find(before, path)
    if not found or old is None or old == []:
        if at:
            raise Refusal("there is no such place in the list")
        return set_value(text, path, [value])
    if not isinstance(old, list) or not 0 <= at <= len(old):
        raise Refusal("there is no such place in the list")
    return made(text, before, path, lambda layout: _insert(layout, path, at, value), inserting(path, at, value))


def append(text: str, path: Path, value: object) -> str:
    """Add an element at the end of a list; a list that is not there yet is made."""
    old = find(read(text), path)[1]
    return insert(text, path, len(old) if isinstance(old, list) else 0, value)


def move(text: str, path: Path, at: int, to: int) -> str:
    """Move an element of a list, with its comments."""
    before = read(text)
    old = find(before, path)[1]
    if not isinstance(old, list) or not (0 <= at < len(old) and 0 <= to < len(old)):
        raise Refusal("there is no such place in the list")
    if at == to:
        return text
    return made(text, before, path, lambda layout: _move(layout, path, at, to), moving(path, at, to))


def _set_list(text: str, path: Path, old: list[Any], new: list[Any]) -> str:
    """Change what differs between the ends that are alike."""
    first = next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if not same(one, other)), None)
    first = min(len(old), len(new)) if first is None else first
    rest = min(len(old), len(new)) - first
    alike = next((at for at in range(rest) if not same(old[-1 - at], new[-1 - at])), rest)
    changed = min(len(old), len(new)) - first - alike
    for at in range(first, first + changed):
        text = set_value(text, (*path, at), new[at])
    for at in range(first + changed, len(new) - alike):
        text = insert(text, path, at, new[at])
    for _ in range(len(old) - max(len(new), first + changed + alike)):
        text = remove(text, (*path, first + changed))
    return text


def _add(text: str, before: Any, path: Path, value: object) -> str:
    """Add a key at the end of the innermost mapping that is there."""
    depth = next(depth for depth in range(len(path) - 1, -1, -1) if find(before, path[:depth])[0])
    within = find(before, path[:depth])[1]
    for step in reversed(path[depth + 1 :]):
        if isinstance(step, int):
            raise Refusal("there is no such place in the list")
        value = {step: value}
    key = path[depth]
    if isinstance(key, int) or not (isinstance(within, Mapping) or within is None):
        raise Refusal("there is no such place in the pipeline", EDITOR)
    if not within and depth:
        return set_value(text, path[:depth], {key: value})
    meant = setting((*path[:depth], key), value)
    return made(text, before, path[:depth], lambda layout: _add_key(layout, path[:depth], key, value), meant)


def _replace(layout: Layout, path: Path, value: object) -> list[Change]:
    node = layout.at(path)
    start, end = node.start_mark.index, layout.end(node)
    if is_nothing(node):
        # Behind the dash or colon; between brackets and behind a bare key there is none.
        return [(start, start, f" {in_one_line(value)}")]
    if isinstance(node, yaml.ScalarNode):
        if node.start_mark.line != node.end_mark.line or node.style in ("|", ">"):
            raise unsafe("its text goes over several lines")
        return [(start, end, in_one_line(value, node.style or "" if isinstance(value, str) else ""))]
    if layout.has_comment(start, end):
        raise unsafe("there are comments in it")
    if node.flow_style:
        return [(start, end, in_one_line(value))]
    return [in_place_of_block(layout, path, in_one_line(value))]


def _insert(layout: Layout, path: Path, at: int, value: object) -> list[Change]:
    node = layout.at(path)
    entries = layout.entries(node)
    if node.flow_style:
        return [inserted_between(entries, at, in_one_line(value))]
    if at == len(entries):
        return [lines_behind(layout, entries[-1], layout.column(entries[0].start), element(value))]
    if not layout.begins_line(entries[at].start):
        raise unsafe("it begins in the line of something else")
    start = layout.above(entries[at].start)
    return [(start, start, indented(element(value), layout.column(entries[at].start), layout.newline(start)))]


def _add_key(layout: Layout, path: Path, key: str, value: object) -> list[Change]:
    node = layout.at(path)
    if node is None or is_nothing(node):
        end = len(layout.text)
        return [lines_behind(layout, Entry(end, end), 0, pair(key, value))]
    entries = layout.entries(node)
    if node.flow_style:
        written = f"{scalar(key)}: {in_one_line(value)}"
        if not entries:
            return [(node.start_mark.index + 1, node.start_mark.index + 1, written)]
        return [inserted_between(entries, len(entries), written)]
    return [lines_behind(layout, entries[-1], layout.column(entries[0].start), pair(key, value))]


def _move(layout: Layout, path: Path, at: int, to: int) -> list[Change]:
    node = layout.at(path)
    entries = layout.entries(node)
    if node.flow_style:
        return _move_between(layout, entries, at, to)
    if not all(layout.begins_line(each.start) for each in entries):
        raise unsafe("it begins in the line of something else")
    spans = [(layout.above(each.start), layout.line_end(each.end)) for each in entries]
    if not layout.text[: spans[-1][1]].endswith("\n"):
        raise unsafe("the last line of the file has no end")
    start, end = spans[at]
    place = spans[to][0] if to < at else spans[to][1]
    return [(start, end, ""), (place, place, layout.text[start:end])]


def _move_between(layout: Layout, entries: list[Entry], at: int, to: int) -> list[Change]:
    """Give the places between brackets the elements in their new order; commas and comments stay."""
    texts = [layout.text[each.start : each.end] for each in entries]
    texts.insert(to, texts.pop(at))
    return [(each.start, each.end, text) for each, text in zip(entries, texts, strict=True)]
