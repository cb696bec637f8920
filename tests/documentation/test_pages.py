"""Every page under ``docs/`` does what it shows: its blocks of code are run, page by page, in order.

`page_blocks` says how a page tells what is run.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from page_blocks import PageError, page_of, read_page
from page_runner import PageRun

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(
    path for path in DOCS.rglob("*.md")
    if not {"_build", "generated", "_extension", "_static"} & set(path.relative_to(DOCS).parts)
)  # fmt: skip


def name_of(path: Path) -> str:
    return path.relative_to(DOCS.parent).as_posix()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_the_page_does_what_it_shows(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    said = mistake_on(path)
    if said is not None:
        pytest.fail(said if said.startswith("docs/") else f"{name_of(path)}: {said}", pytrace=False)


def mistake_on(path: Path) -> str | None:
    """What the first mistake on a page is; None where there is none."""
    try:
        PageRun(read_page(path), name_of(path)).run()
    except PageError as mistake:
        return str(mistake)
    return None


# What the tests of pages themselves do, on pages of their own.


def run(text: str) -> None:
    PageRun(page_of(text), "page.md").run()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


GOOD = """\
# Title

<!-- setup:
from pathlib import Path
Path("people.csv").write_text("age,income\\n" + "".join(f"{20 + n},{100 * n}\\n" for n in range(40)))
-->

```{code-block} yaml
:caption: rules/edits.yaml

edits: [age <= 30]
```

1. In a list:

   <!-- exit: 1 -->
   ```console
   $ cat rules/edits.yaml
   edits:   [age <= 30]
   $ maskwright validate people.csv \\
       --edits rules/edits.yaml
   29 ...
   ```

````{note}
```python
seen = 1
```
````

```python
assert seen == 1
```

<!-- not run: needs another machine -->
```console
$ docker run maskwright
```
"""


def test_a_good_page_runs(folder: Path) -> None:
    run(GOOD)
    assert (folder / "rules" / "edits.yaml").read_text() == "edits: [age <= 30]\n"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("```console\n$ maskwright explain pil\nRange: 0 to 10\n```", "page.md:2: .* does not show 'Range: 0 to 10'"),
        ("```console\n$ maskwright explain nothing_of_the_kind\n```", "page.md:2: .* ended with 2, not 0"),
        ("<!-- exit: 2 -->\n```console\n$ maskwright explain pil\n```", "page.md:3: .* ended with 0, not 2"),
        ("```console\n$ rm -r people\n```", "page.md:2: .* is not run by the tests"),
        ("```console\nmaskwright demo\n```", "page.md:2: no line of the console block"),
        ("```python\nx = 1\nassert x == 2\n```", "page.md:3: AssertionError"),
        ("```python\nx = (\n```", "page.md:2: SyntaxError"),
        ("```yaml\na: [1\n```", "page.md:2: this is no yaml"),
        ("```xml\n<a><b></a>\n```", "page.md:2: this is no xml"),
        ("```\nsomething\n```", "page.md:2: the language of the block is not said"),
        ("```pyton\n1\n```", "page.md:2: the language of the block is pyton"),
        ("```{code-block} csv\n:caption: ../a.csv\n\na\n```", "page.md:4: ../a.csv lies outside"),
        ("```console\n$ cat nothing.csv\n```", "page.md:2: no file nothing.csv"),
        ("<!-- exit: 1 -->\n\nText.\n\n```console\n$ maskwright plugins\n```", "line 1: `exit:` stands just above"),
        ("<!-- exit 1 -->\n```console\n$ maskwright plugins\n```", "line 1: a colon is missing"),
        ("<!-- not run: -->\n```console\n$ docker\n```", "line 1: `not run:` says why"),
        ("Text\n\n    indented = 1\n", "line 3: an indented block"),
    ],
)
def test_a_page_that_does_not_do_what_it_shows_fails(text: str, said: str) -> None:
    with pytest.raises(PageError, match=said):
        run(text)
