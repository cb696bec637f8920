"""Random layouts and random changes: what is applied is what was meant, in the lines concerned; the rest is refused."""

import copy
from collections import Counter

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright_studio.pipeline_text import insert, move, remove, set_value
from maskwright_studio.refusal import Refusal

COUNTED = Counter()
"""Changes by what became of them."""

LEAST = {"set": 350, "add": 60, "remove": 120, "insert": 100, "move": 9}
"""Applied changes of each kind, at least, in a run that counts as a thousand."""

texts = st.sampled_from(
    ["sse", "gross == net + tax", "no", "012x", "2020-01-01", "a: b", "a # b", "it's", 'say "x"', "", "é ñ", "- x", "[",
     "x,y", "region in original", "~", "1e5", "a\tb", "50 %", "*x", "&y", "!t", "%z", "@w", "`v", "|", ">", "null",
     "yes", "#"]
)  # fmt: skip
scalars = st.one_of(
    texts, st.integers(-9, 10**12), st.booleans(), st.none(),
    st.floats(allow_nan=False, allow_infinity=False), st.text(alphabet=st.characters(codec="utf-8"), max_size=6),
)  # fmt: skip
keys = st.sampled_from(["k", "method", "params", "variables", "age", "no", "1", "a b", "role", "x:y", "seed", "data"])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
roots = st.dictionaries(keys, values, min_size=1, max_size=5)


class Writer:
    """Writes a value in some layout."""

    def __init__(self, draw):
        self.draw = draw

    def pick(self, *choices):
        return self.draw(st.sampled_from(choices))

    def scalar(self, value, flow):
        if isinstance(value, str):
            if self.pick(*"pppppppb") == "b" and not flow and value.isascii() and value.isalnum():
                return None  # over several lines
            quoted = yaml.safe_dump(value, default_style='"', width=10**9, allow_unicode=True).strip()
            single = "'" + value.replace("'", "''") + "'"
            options = [quoted]
            if value.isprintable():
                options.append(single)
            for each in (value, single):
                try:
                    if mw.read_settings(f"[{each}, z]") == [value, "z"] and mw.read_settings(f"z: {each}") == {
                        "z": value
                    }:
                        options.append(each)
                except mw.InputError:
                    pass
            return self.draw(st.sampled_from(options))
        if value is None:
            return self.pick("null", "~", "Null") if flow else self.pick("null", "~", "")
        if value is True or value is False:
            return self.pick(str(value), str(value).lower())
        return repr(value) if self.pick(0, 1) or value < 0 or isinstance(value, float) else f"0{value}"

    def key(self, key):
        return self.pick(key, f'"{key}"', f"'{key}'") if key not in ("x:y",) else self.pick('"x:y"', "'x:y'", key)

    def flow(self, value, indent):
        if isinstance(value, (list, dict)):
            space = self.pick("", "", " ")
            wide = self.pick(0, 0, 0, 1)
            comma = f",\n{' ' * (indent + 3)}" if wide else self.pick(", ", ",  ")
            if wide and self.pick(0, 0, 1):
                comma = f",   # in between\n{' ' * (indent + 3)}"
            if isinstance(value, list):
                inside = comma.join(self.flow(each, indent) for each in value)
                ends = "[]"
            else:
                inside = comma.join(f"{self.key(key)}: {self.flow(each, indent)}" for key, each in value.items())
                ends = "{}"
            last = self.pick("", "", "", ",") if value else ""
            return ends[0] + space + inside + last + space + ends[1]
        return self.scalar(value, flow=True)

    def comment(self):
        return self.pick("", "", "", "   # why: {not, yaml}", " # x")

    def between(self, indent):
        return self.pick("", "", "", "", "\n", " " * indent + "# above\n", "# far left\n", "  \n")

    def behind(self, value, indent, lists_deeper):
        """What stands behind a dash or a colon, to the end of the line or of the block."""
        if isinstance(value, (list, dict)):
            if not value or self.pick(0, 0, 1):
                return f" {self.flow(value, indent)}{self.comment()}\n"
            deeper = indent + self.pick(1, 2, 2, 4) if isinstance(value, dict) or lists_deeper else indent
            return f"{self.comment()}\n" + self.block(value, deeper)
        text = self.scalar(value, flow=False)
        if text is None:
            kind = self.pick("|-", ">-", "double")
            deep = " " * (indent + 2)
            if kind == "double":
                return f' "{value}\\\n{deep}"\n'
            return f" {kind}\n{deep}{value}\n"
        if text and self.pick(*[0] * 30, 1):
            return f" &mark{self.draw(st.integers(0, 10**6))} {text}\n"
        return f"{self.pick(' ', ' ', '   ') if text else ''}{text}{self.comment()}\n"

    def block(self, value, indent, first=False):
        lines = []
        for at, each in enumerate(value):
            start = "" if first and not at else self.between(indent) + " " * indent
            if isinstance(value, list):
                inner = each
                if isinstance(inner, (list, dict)) and inner and self.pick(0, 1, 1):
                    gap = self.pick(1, 1, 3)
                    lines.append(start + "-" + " " * gap + self.block(inner, indent + 1 + gap, first=True))
                else:
                    lines.append(start + "-" + self.behind(inner, indent, lists_deeper=True))
            else:
                deeper = not isinstance(value[each], list) or self.pick(0, 1)
                lines.append(start + self.key(each) + ":" + self.behind(value[each], indent, bool(deeper)))
        return "".join(lines)


@st.composite
def written(draw):
    """A value and a text that says it."""
    value = draw(roots)
    writer = Writer(draw)
    text = (
        writer.pick("", "# head\n", "---\n", "\n") + writer.block(value, 0) + writer.pick("", "# tail\n", "\n", "...\n")
    )
    if writer.pick(0, 0, 1):
        text = text.removesuffix("\n")
    text = text.replace("\n", writer.pick("\n", "\n", "\r\n"))
    return value, writer.pick("", "", "\ufeff") + text


def places(value, path=()):
    yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from places(each, (*path, key))


def alike(one, other):
    """Equal with types and the order of keys."""
    if isinstance(one, dict):
        return isinstance(other, dict) and [*one] == [*other] and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(alike, one, other))
    return type(one) is type(other) and one == other


def at(value, path):
    for step in path:
        value = value[step]
    return value


@st.composite
def changes(draw, value):
    """Name of a change, the change of a text, and of a value."""
    path, old = draw(st.sampled_from(list(places(value))[1:]))
    lists = [each for each, found in places(value) if isinstance(found, list)]
    mappings = [each for each, found in places(value) if isinstance(found, dict)]
    kind = draw(
        st.sampled_from(["set", "set", "remove", "remove", "add", *(["insert", "insert", "move"] if lists else [])])
    )
    new = draw(scalars) if draw(st.integers(0, 3)) else draw(values)
    meant = copy.deepcopy(value)
    if kind == "set":
        if isinstance(old, (dict, list)):
            new = draw(scalars)
        at(meant, path[:-1])[path[-1]] = new
        return kind, path, lambda text: set_value(text, path, new), meant
    if kind == "remove":
        del at(meant, path[:-1])[path[-1]]
        return kind, path, lambda text: remove(text, path), meant
    if kind == "add":
        path = (*draw(st.sampled_from(mappings)), "added")
        at(meant, path[:-1])[path[-1]] = new
        return kind, path, lambda text: set_value(text, path, new), meant
    path = draw(st.sampled_from(lists))
    found = at(meant, path)
    to = draw(st.integers(0, len(found)))
    if kind == "insert" or not found:
        found.insert(to, new)
        return "insert", path, lambda text: insert(text, path, to, new), meant
    source, to = draw(st.integers(0, len(found) - 1)), min(to, len(found) - 1)
    found.insert(to, found.pop(source))
    return "move", path, lambda text: move(text, path, source, to), meant


def lines_changed(old, new):
    """Lines of the old text that are gone, and of the new one that came, between the first and the last difference."""
    one, other = (text.removeprefix("\ufeff").splitlines(keepends=True) for text in (old, new))
    before = alike_at_the_start(one, other)
    after = alike_at_the_start(one[before:][::-1], other[before:][::-1])
    return len(one) - before - after, len(other) - before - after


def alike_at_the_start(one, other):
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (line, its) in pairs if line != its), min(len(one), len(other)))


def comments_of(text):
    return Counter(mark for mark in ("# above", "# far left", "# head", "# tail") for _ in range(text.count(mark)))


@given(data=st.data())
def check_changes(data):
    value, text = data.draw(written())
    assert alike(mw.read_settings(text), value)
    kind, path, change, meant = data.draw(changes(value))
    try:
        new = change(text)
    except Refusal:
        COUNTED[f"{kind} refused"] += 1
        return
    COUNTED[kind] += 1
    assert alike(mw.read_settings(new), meant)
    assert new.startswith("\ufeff") == text.startswith("\ufeff")
    if "\r\n" in text:
        assert "\n" not in new.replace("\r\n", "")
    else:
        assert "\r" not in new.replace("\\r", "")
    gone, came = lines_changed(text, new)
    if kind == "set" and not isinstance(at(value, path), (list, dict)):
        assert gone <= 1
        assert came == gone
    if kind in ("add", "insert"):
        assert gone <= 1
    if kind == "remove":
        assert came <= 1
    if kind in ("set", "add", "insert", "move"):
        assert comments_of(text) <= comments_of(new)


# How often each kind is drawn varies with what else is imported: of more examples, as many as of 100 are wanted.
@pytest.mark.parametrize(("examples", "counts_as"), [(250, 100), pytest.param(2000, 2000, marks=pytest.mark.slow)])
def test_random_changes(examples, counts_as):
    COUNTED.clear()
    settings(
        max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None
    )(check_changes)()
    for kind, least in LEAST.items():
        assert COUNTED[kind] >= least * counts_as / 1000, COUNTED
