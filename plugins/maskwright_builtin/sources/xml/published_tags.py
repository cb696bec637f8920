"""Start tags of the elements around the records as they may be published: without what nobody declared."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

ATTRIBUTE = re.compile(r"""\s+([^\s=]+)\s*=\s*(?:"[^"]*"|'[^']*')""")


def published_tags(
    start_tags: Sequence[str], names: Sequence[str], keep: Collection[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Start tags with the namespaces that names need, and with the attributes that are declared to be kept.

    `start_tags`: as the file writes them, outermost first. `names`: of all elements that are written, with their
    prefixes. `keep`: names of attributes, with their prefixes. Returns names of attributes, each once.
    """
    prefixes = {name.partition(":")[0] for name in (*names, *keep) if ":" in name}
    default = {"xmlns"} if any(":" not in name for name in names) else set()
    wanted = {*default, *(f"xmlns:{prefix}" for prefix in prefixes), *keep}
    tags: list[str] = []
    left_out: dict[str, None] = {}
    for tag in start_tags:
        attributes = list(ATTRIBUTE.finditer(tag))
        kept = "".join(each.group() for each in attributes if each[1] in wanted)
        left_out |= dict.fromkeys(each[1] for each in attributes if each[1] not in wanted)
        name = re.match(r"<[^\s/>]+", tag)
        tags.append(f"{name.group() if name else '<'}{kept}>")
    return tuple(tags), tuple(left_out)
