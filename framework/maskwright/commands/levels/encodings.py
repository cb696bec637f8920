"""Linked files that are not all in the encoding that the pipeline names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from maskwright.data.dataset import Dataset
    from maskwright.pipeline.resolved import LevelSources


def encoding_notices(levels: LevelSources, files: Mapping[str, Dataset]) -> Iterator[str]:
    """Files whose letters beyond ASCII are all UTF-8, and that are read in another encoding, which takes any bytes."""
    for name, data in files.items():
        encoding = getattr(levels.sources[name].params, "encoding", None)
        if not isinstance(encoding, str) or encoding.lower().replace("_", "-") in ("utf-8", "utf8", "auto"):
            continue
        texts = {text for each in data.variables for text in each.categories if not text.isascii()}
        if texts and all(_is_utf8(text, encoding) for text in texts):
            yield (
                f"{levels.sources[name].name} is read as {encoding}, and its letters beyond ASCII are UTF-8: they are "
                f"taken for others (an umlaut for two signs). One `encoding` holds for the files of all levels: save "
                f"this one as {encoding}, or all as UTF-8"
            )


def _is_utf8(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding).decode("utf-8")
    except (UnicodeError, LookupError):
        return False
    return True
