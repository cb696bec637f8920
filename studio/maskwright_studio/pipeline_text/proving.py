"""Changes of a YAML text, made and proved: what is read again has to be what was meant."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import yaml

import maskwright as mw
from maskwright_studio.pipeline_text.layout import EDITOR, MARK, Layout, same, settings_of, unsafe
from maskwright_studio.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from maskwright_studio.pipeline_text.layout import Change, ExpectedChange, Path


def made(text: str, before: Any, path: Path, change: Callable[[Layout], list[Change]], meant: ExpectedChange) -> str:
    """Make a change and prove it, or refuse."""
    mark = MARK if text.startswith(MARK) else ""
    layout = Layout(text.removeprefix(MARK))
    refuse_shared(layout, path)
    new = layout.text
    for start, end, written in sorted(change(layout), reverse=True):
        new = new[:start] + written + new[end:]
    try:
        after = settings_of(new)
    except mw.InputError:
        raise unsafe("the text would no longer be a pipeline") from None
    if not same(after, meant(copy.deepcopy(before))):
        raise unsafe("more than this setting would change")
    return mark + new


def refuse_shared(layout: Layout, path: Path) -> None:
    """Refuse a place that an anchor shares with another one."""
    node = layout.at(path) if path else None
    shared = (each for each in layout.tokens if isinstance(each, (yaml.AnchorToken, yaml.AliasToken)))
    if node is not None and any(each.start_mark.index == node.start_mark.index for each in shared):
        raise unsafe("an anchor or alias (& or *) shares it with another place")


def read(text: str) -> Any:
    """Plain settings of a text, or a refusal that names its mistake."""
    try:
        return settings_of(text)
    except mw.InputError as error:
        place = error.problems[0].place
        where = f" (line {place.line}, column {place.column})" if place is not None and place.line else ""
        raise Refusal(f"the pipeline is no YAML as it stands{where}: {error.problems[0].message}", EDITOR) from None
