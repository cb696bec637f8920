"""Cutting of a block of plain XML into what is of the upper level, and what is of its members.

Either part is a block of flat records then, which the template of its level accounts for byte by byte. What could be
taken for another structure on the way is a `Deviation`: the streaming parser reads such a file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from maskwright_builtin.sources.xml.sparse import Deviation

if TYPE_CHECKING:
    from collections.abc import Sequence

WHITE_SPACE = b" \t\r\n"


class _Tags:
    """Start and end tags of one element; in any other form it is a deviation."""

    def __init__(self, tag: str) -> None:
        self.start, self.stop = b"<%b>" % tag.encode(), b"</%b>" % tag.encode()
        # Looked for one by one: a search for bytes is some ten times faster than an alternation of patterns.
        blanks = [bytes([blank]) for blank in WHITE_SPACE]
        self._otherwise = [self.start[:-1] + after for after in (b"/", *blanks)]
        self._otherwise += [self.stop[:-1] + after for after in blanks]

    def check(self, block: bytes) -> None:
        """Refuse other forms of the tags, and what may hide some."""
        if b"<!" in block or b"<?" in block or any(other in block for other in self._otherwise):
            raise Deviation


class GroupsPart:
    """Records of the upper level without their members.

    `members`: tags of the elements in them that are records of another level.
    """

    def __init__(self, group: str, members: Sequence[str]) -> None:
        self._group = _Tags(group)
        self._members = [_Tags(each) for each in members]
        self.block_end = self._group.stop
        self.foreign = frozenset(members)

    def __call__(self, block: bytes) -> bytes:
        """Block without members."""
        self._group.check(block)
        for tags in self._members:
            tags.check(block)
            head, *found = block.split(tags.start)
            last = head.rstrip(WHITE_SPACE)
            kept = [last]
            for each in found:
                self._check_place(last)
                _, stop, after = each.partition(tags.stop)
                if not stop:
                    raise Deviation
                if after := after.strip(WHITE_SPACE):
                    kept.append(last := after)
            block = b"".join(kept)
        return block

    def _check_place(self, before: bytes) -> None:
        """Refuse a member anywhere but straight in its group: before it ends a cell, or its group begins."""
        tag = before[before.rfind(b"<") :]
        if not tag.endswith(b">") or not (tag.startswith(b"</") or tag == self._group.start) or tag == self._group.stop:
            raise Deviation


class MembersPart:
    """Members, each with the key of its group before its own cells.

    `group`: tag of the records of the upper level. `key`: tag of the element in them that tells them apart.
    """

    def __init__(self, group: str, key: str, member: str) -> None:
        self._group, self._member = _Tags(group), _Tags(member)
        self._key = re.compile(rb"<%b>([^<]*)</%b>" % ((re.escape(key.encode()),) * 2))
        self._key_tag = key.encode()
        self.block_end = self._group.stop
        self.foreign: frozenset[str] = frozenset()

    def __call__(self, block: bytes) -> bytes:
        """Block of members."""
        self._group.check(block)
        self._member.check(block)
        before, *groups = block.replace(b"<%b/>" % self._key_tag, b"<%b></%b>" % ((self._key_tag,) * 2)).split(
            self._group.start
        )
        if before.strip(WHITE_SPACE):
            raise Deviation
        found: list[bytes] = []
        stop = self._member.stop
        for group in groups:
            inside, end, after = group.partition(self._group.stop)
            head, *members = inside.split(self._member.start)
            if not end or after.strip(WHITE_SPACE) or inside.count(stop) != len(members):
                raise Deviation
            around, cells = [head], []
            for member in members:
                own, end, rest = member.partition(stop)
                if not end:
                    raise Deviation
                cells.append(own)
                around.append(rest)
            keys = self._key.findall(b"".join(around))
            if len(keys) != 1:
                raise Deviation
            start = b"%b<%b>%b</%b>" % (self._member.start, self._key_tag, keys[0], self._key_tag)
            for own in cells:
                found += (start, own, stop)
        return b"".join(found)
