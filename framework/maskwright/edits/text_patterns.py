"""Patterns of whole texts, ``[A-Z]{2}[0-9]+``: the part of regular expressions that means one thing in all languages.

Read into a tree that is written again for the engines that match it: RE2 (linear in the text, whatever the pattern),
XPath 2. Character classes are those that are written out, ``.`` is any one character, and a pattern is about the whole
text.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

LONGEST_PATTERN = 500
MOST_REPEATS = 1_000
"""How often a character may be repeated, loops within loops multiplied."""
DEEPEST_GROUPS = 20
_SPECIAL = frozenset("\\^$.|?*+()[]{}")
_NAMED = {"d": (("0", "9"),), "s": ((" ", " "), ("\t", "\t"), ("\n", "\n"), ("\r", "\r"))}
_CONTROL = {"t": "\t", "n": "\n", "r": "\r"}
_WRITTEN_CONTROL = {sign: letter for letter, sign in _CONTROL.items()}
_UNKNOWN_ESCAPE = "Write the characters out: [A-Za-z0-9_] for \\w."

Ranges = tuple[tuple[str, str], ...]


class WrongPattern(Exception):  # noqa: N818 - becomes the mistake of a rule
    """A pattern that is not read; `start`: 0-based offset in it."""

    def __init__(self, start: int, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.start, self.message, self.hint = start, message, hint


@dataclass(frozen=True, slots=True)
class Characters:
    """One character within ranges, or outside of them."""

    ranges: Ranges
    outside: bool = False

    def holds(self, character: str) -> bool:
        """Whether a character is meant."""
        return any(first <= character <= last for first, last in self.ranges) != self.outside


@dataclass(frozen=True, slots=True)
class Repeated:
    """A pattern `fewest` to `most` times; without bound where `most` is None."""

    what: Pattern
    fewest: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Sequence:
    """Patterns one after the other."""

    patterns: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    """One of several patterns."""

    patterns: tuple[Pattern, ...]


Pattern = Characters | Repeated | Sequence | Alternatives
ANY = Characters((), outside=True)


@functools.lru_cache(maxsize=256)
def pattern_of(text: str) -> Pattern:
    """Read a pattern of a whole text; `WrongPattern` says where it cannot be read."""
    if len(text) > LONGEST_PATTERN:
        raise WrongPattern(0, f"the pattern has {len(text)} characters; at most {LONGEST_PATTERN} are read")
    reader = _Reader(text)
    found = reader.alternatives(0)
    if reader.at < len(text):
        raise WrongPattern(reader.at, "')' without '('", "A bracket itself is written \\).")
    if repeats_of(found) > MOST_REPEATS:
        raise WrongPattern(0, f"the pattern repeats a character more than {MOST_REPEATS} times")
    return found


def repeats_of(pattern: Pattern) -> int:
    """Number of characters that the pattern stands for when its repetitions are written out."""
    match pattern:
        case Characters():
            return 1
        case Repeated(what, fewest, most):
            return repeats_of(what) * max(fewest + 1 if most is None else most, 1)
        case Sequence(patterns) | Alternatives(patterns):
            return sum(map(repeats_of, patterns))


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def alternatives(self, depth: int) -> Pattern:
        if depth > DEEPEST_GROUPS:
            raise WrongPattern(self.at, f"groups are nested more than {DEEPEST_GROUPS} deep")
        found = [self._sequence(depth)]
        while self._next() == "|":
            self.at += 1
            found.append(self._sequence(depth))
        return found[0] if len(found) == 1 else Alternatives(tuple(found))

    def _next(self) -> str:
        return self.text[self.at : self.at + 1]

    def _sequence(self, depth: int) -> Pattern:
        found: list[Pattern] = []
        while self._next() not in ("", "|", ")"):
            found.append(self._repeated(depth))
        return found[0] if len(found) == 1 else Sequence(tuple(found))

    def _repeated(self, depth: int) -> Pattern:
        what = self._one(depth)
        bounds = self._bounds()
        if bounds is None:
            return what
        if self._next() in ("?", "+", "*", "{"):
            raise WrongPattern(self.at, f"{self._next()!r} follows another repetition", "Put what is repeated in ( ).")
        return Repeated(what, *bounds)

    def _bounds(self) -> tuple[int, int | None] | None:
        simple: dict[str, tuple[int, int | None]] = {"?": (0, 1), "*": (0, None), "+": (1, None)}
        sign = self._next()
        if sign in simple:
            self.at += 1
            return simple[sign]
        if sign != "{":
            return None
        start = self.at
        end = self.text.find("}", start)
        written = self.text[start + 1 : end] if end > 0 else ""
        low, comma, high = written.partition(",")
        if not (low.isascii() and low.isdigit()) or (high and not (high.isascii() and high.isdigit())):
            raise WrongPattern(start, "a repetition is {3}, {2,} or {2,5}", "A brace itself is written \\{.")
        fewest = int(low)
        most = fewest if not comma else int(high) if high else None
        if max(fewest, most or 0) > MOST_REPEATS or (most is not None and most < fewest):
            raise WrongPattern(start, f"a repetition goes up, to at most {MOST_REPEATS}")
        self.at = end + 1
        return fewest, most

    def _one(self, depth: int) -> Pattern:
        start, sign = self.at, self._next()
        if sign == "(":
            self.at += 3 if self.text.startswith("(?:", start) else 1
            if self._next() == "?":
                raise WrongPattern(start, "'(?' looks around or sets options", "A group is written ( ).")
            found = self.alternatives(depth + 1)
            if self._next() != ")":
                raise WrongPattern(start, "'(' is not closed", "A bracket itself is written \\(.")
            self.at += 1
            return found
        if sign == "[":
            return self._class()
        if sign in ("^", "$"):
            raise WrongPattern(
                start, f"{sign!r} is not needed: a pattern is about the whole text",
                f"Leave it out, or write .* where anything may stand; the sign itself is written \\{sign}.",
            )  # fmt: skip
        if sign == ".":
            self.at += 1
            return ANY
        if sign == "\\":
            return Characters(self._escaped())
        if sign in _SPECIAL:
            raise WrongPattern(start, f"{sign!r} has nothing before it to repeat", f"The sign itself is \\{sign}.")
        self.at += 1
        return Characters(((sign, sign),))

    def _escaped(self) -> Ranges:
        start, sign = self.at, self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if sign in _NAMED:
            return _NAMED[sign]
        if sign in _CONTROL:
            return ((_CONTROL[sign], _CONTROL[sign]),)
        if not sign or sign.isalnum():
            raise WrongPattern(start, f"'\\{sign}' is not read in a pattern", _UNKNOWN_ESCAPE)
        return ((sign, sign),)

    def _class(self) -> Pattern:
        start = self.at
        self.at += 1
        outside = self._next() == "^"
        self.at += outside
        ranges: list[tuple[str, str]] = []
        while self._next() != "]":
            if not self._next():
                raise WrongPattern(start, "'[' is not closed", "A bracket itself is written \\[.")
            if self._next() == "[":
                raise WrongPattern(self.at, "a class within a class", "Write the characters out; '[' itself is \\[.")
            ranges += self._range()
        if not ranges:
            raise WrongPattern(start, "a class without characters", "']' itself is written \\].")
        self.at += 1
        return Characters(tuple(ranges), outside)

    def _range(self) -> Ranges:
        start = self.at
        first = self._member()
        if self._next() != "-" or self.text[self.at + 1 : self.at + 2] in ("]", ""):
            return first
        self.at += 1
        last = self._member()
        ends = (first[0][0], last[-1][1])
        if any(low != high for low, high in (*first, *last)) or len(first) + len(last) > 2:
            raise WrongPattern(start, "a range goes from one character to another")
        if ends[0] > ends[1]:
            raise WrongPattern(start, f"the range {ends[0]}-{ends[1]} goes backwards")
        return (ends,)

    def _member(self) -> Ranges:
        sign = self._next()
        if sign == "\\":
            return self._escaped()
        self.at += 1
        return ((sign, sign),)


def pattern_text(pattern: Pattern) -> str:
    """Pattern in the signs that RE2 and XPath 2 share, for a text as a whole where it stands between ^ and $."""
    match pattern:
        case Characters((), True):
            return "."
        case Characters(ranges, outside):
            return f"[{'^' * outside}{''.join(map(_range_text, ranges))}]"
        case Repeated(what, fewest, most):
            inner = pattern_text(what) if isinstance(what, Characters) else f"({pattern_text(what)})"
            return f"{inner}{{{fewest},{'' if most is None else most}}}"
        case Sequence(patterns):
            return "".join(f"({text})" if isinstance(each, Alternatives) else text for each, text in _written(patterns))
        case Alternatives(patterns):
            return "|".join(text for _, text in _written(patterns))


def _written(patterns: tuple[Pattern, ...]) -> list[tuple[Pattern, str]]:
    return [(each, pattern_text(each)) for each in patterns]


def _range_text(ends: tuple[str, str]) -> str:
    first, last = (f"\\{_WRITTEN_CONTROL.get(each, each)}" if each in "\\^-[]\t\n\r" else each for each in ends)
    return first if first == last else f"{first}-{last}"


def matches_whole(pattern: Pattern, text: str) -> bool:
    """Whether a pattern matches a text from end to end: a slow second answer, without any engine."""
    return len(text) in _ends(pattern, text, frozenset((0,)))


def _ends(pattern: Pattern, text: str, starts: frozenset[int]) -> frozenset[int]:
    """Where matches end that begin at one of the `starts`."""
    match pattern:
        case Characters():
            return frozenset(at + 1 for at in starts if at < len(text) and pattern.holds(text[at]))
        case Sequence(patterns):
            for each in patterns:
                starts = _ends(each, text, starts)
            return starts
        case Alternatives(patterns):
            return frozenset().union(*(_ends(each, text, starts) for each in patterns))
        case Repeated(what, fewest, most):
            for _ in range(fewest):
                starts = _ends(what, text, starts)
            found, fresh, more = starts, starts, 0
            while fresh and (most is None or fewest + more < most):
                fresh = _ends(what, text, fresh) - found
                found, more = found | fresh, more + 1
            return found
