"""The code blocks of a page, and what the comments above them say of how they are run.

A page is CommonMark with MyST's directives. What is run is told by the language of a block:

- ``console``: lines that begin with ``$ `` are run, the others are output that is shown;
- ``python``: run, in one namespace for the page;
- any language with ``:caption: NAME`` in ```` ```{code-block} ````: written to that file of the page's folder;
- data and settings without a caption: read by their parser, and no more;
- ``<!-- setup: ... -->`` on the page: Python that is run before all else.

Just above a block, ``<!-- exit: 1 -->`` says how its last command ends, and ``<!-- not run: REASON -->`` leaves it out.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from markdown_it.token import Token

CODE_DIRECTIVES = ("code-block", "code", "sourcecode")
NO_CODE_INSIDE = ("toctree", "maskwright-picture", "math", "image", "figure", "include", "literalinclude", "eval-rst")
_DIRECTIVE = re.compile(r"\{(?P<name>[\w:-]+)\}\s*(?P<argument>.*)")
_OPTION = re.compile(r":(?P<key>[\w-]+):[ ]?(?P<value>.*)")
_COMMENT = re.compile(r"<!--(?P<text>.*?)-->", re.DOTALL)
_WORD = re.compile(r"\s*(?P<word>setup|exit|not run)\b(?P<colon>:?)(?P<value>.*)", re.DOTALL)


class PageError(AssertionError):
    """A page says something that the conventions do not know; the message has its line."""


@dataclass(frozen=True)
class CodeBlock:
    """A block of code.

    Attributes
    ----------
    line : int
        Of its first line of code, counted from 1.
    language : str
        '' where none is said.
    code : str
    caption : str or None
        Name of the file that it is written to.
    exit_code : int
        How the last command of a console block ends.
    not_run : str or None
        Why it is left out.
    """

    line: int
    language: str
    code: str
    caption: str | None = None
    exit_code: int = 0
    not_run: str | None = None


@dataclass(frozen=True)
class Page:
    """What is run of a page, in order.

    Attributes
    ----------
    setup : tuple of CodeBlock
        Python of its comments, run first.
    blocks : tuple of CodeBlock
    """

    setup: tuple[CodeBlock, ...]
    blocks: tuple[CodeBlock, ...]


def read_page(path: Path) -> Page:
    """Read the blocks of a page.

    Raises
    ------
    PageError
        A comment that is none of the three, or stands above no block; an indented block.
    """
    return page_of(path.read_text(encoding="utf-8"))


def page_of(text: str) -> Page:
    """Read the blocks of the text of a page, as `read_page` does."""
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "code_block":
            line = (token.map or [0])[0] + 1
            raise PageError(f"line {line}: an indented block of code; write ```LANGUAGE, so that it is run")
    return fenced_blocks(text)


def fenced_blocks(text: str) -> Page:
    """The same of a page that may have indented blocks, which are passed over."""
    setup: list[CodeBlock] = []
    blocks: list[CodeBlock] = []
    for found, comment in _with_comments(text, 0):
        if isinstance(found, _Comment):
            setup.append(CodeBlock(found.line, "python", textwrap.dedent(found.value).strip("\n") + "\n"))
        else:
            blocks.append(_commented(found, comment))
    return Page(tuple(setup), tuple(blocks))


@dataclass(frozen=True)
class _Comment:
    line: int
    word: str
    value: str


def _commented(block: CodeBlock, comment: _Comment | None) -> CodeBlock:
    if comment is None:
        return block
    said = comment.value.strip()
    if comment.word == "exit":
        if not said.isdecimal() or block.language != "console":
            raise PageError(f"line {comment.line}: `exit: NUMBER` is said of a console block")
        return CodeBlock(block.line, block.language, block.code, block.caption, int(said))
    if not said:
        raise PageError(f"line {comment.line}: `not run:` says why, for instance `not run: needs Docker`")
    return CodeBlock(block.line, block.language, block.code, block.caption, not_run=said)


def _with_comments(text: str, offset: int) -> Iterator[tuple[CodeBlock | _Comment, _Comment | None]]:
    """Blocks, each with the comment just above it, and setups."""
    above: _Comment | None = None
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        first = offset + (token.map or [0])[0] + 1
        if token.type == "html_block":
            for comment in _comments(token, first):
                if comment.word == "setup":
                    yield comment, None
                else:
                    _is_used(above)
                    above = comment
        elif token.type == "fence":
            for block in _blocks(token, first):
                yield block, above
                above = None
        elif token.nesting >= 0 and token.type not in ("inline", "bullet_list_open", "list_item_open"):
            _is_used(above)
    _is_used(above)


def _is_used(above: _Comment | None) -> None:
    if above is not None:
        raise PageError(f"line {above.line}: `{above.word}:` stands just above a block of code")


def _comments(token: Token, first: int) -> Iterator[_Comment]:
    for found in _COMMENT.finditer(token.content):
        said = _WORD.fullmatch(found["text"])
        if said is None:
            continue
        line = first + token.content[: found.start()].count("\n")
        if not said["colon"]:
            raise PageError(f"line {line}: a colon is missing after `{said['word']}`")
        yield _Comment(line, said["word"], said["value"])


def _blocks(token: Token, first: int) -> Iterator[CodeBlock]:
    """The block of a fence; of a directive that holds text (a note), the blocks inside of it."""
    info = token.info.strip()
    directive = _DIRECTIVE.fullmatch(info)
    if directive is None:
        yield CodeBlock(first + 1, info.split()[0] if info else "", token.content)
        return
    if directive["name"] in CODE_DIRECTIVES:
        options, code, skipped = _options(token.content)
        language = directive["argument"].strip()
        yield CodeBlock(first + 1 + skipped, language, code, options.get("caption"))
    elif directive["name"] not in NO_CODE_INSIDE:
        for block, comment in _with_comments(token.content, first):
            if isinstance(block, CodeBlock):
                yield _commented(block, comment)


def _options(content: str) -> tuple[dict[str, str], str, int]:
    """Options of a directive, its code, and how many lines stand before the code."""
    options: dict[str, str] = {}
    lines = content.splitlines(keepends=True)
    at = 0
    while at < len(lines) and (option := _OPTION.fullmatch(lines[at].rstrip("\n"))):
        options[option["key"]] = option["value"].strip()
        at += 1
    if options and at < len(lines) and not lines[at].strip():
        at += 1
    return options, "".join(lines[at:]), at
