"""No page names a command, an option, a key, a method, a measure or a doubt that there is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_names import names_unknown_in, unknown_names

ROOT = Path(__file__).parents[2]
MADE_BY_THE_BUILD = {"_build", "generated", "_extension", "_static"}
PAGES = [
    *sorted(
        path for path in (ROOT / "docs").rglob("*.md") if not MADE_BY_THE_BUILD & set(path.relative_to(ROOT).parts)
    ),
    ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "framework" / "README.md",
]  # fmt: skip


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_name_on_the_page_is_there(path: Path) -> None:
    assert unknown_names(path) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("`maskwright rum pipeline.yaml`", "there is no command 'rum'"),
        ("`maskwright run pipeline.yaml --quite`", "run has no option --quite"),
        ("Say `--quite`.", "no command has the option --quite"),
        ("`maskwright explain mdaf`", "there is nothing called 'mdaf'"),
        ("```console\n$ maskwright plan \\\n  --no-dota\n```", "plan has no option --no-dota"),
        ("W999 stops it.", "there is no doubt W999"),
        ("```yaml\nprotect: [{method: mikro}]\n```", "no method called 'mikro'"),
        ("```yaml\nmeasure: [pill]\n```", "no measure called 'pill'"),
        ("```yaml\nprotect: [{method: mondrian, params: {kk: 3}}]\n```", "called 'kk'"),
        ("```yaml\ndata: {source: a.csv, sorce: b.csv}\n```", "no key called 'sorce'"),
        ("```yaml\n- method: mikro\n```", "there is no method 'mikro'"),
        ("```yaml\ngrid: [{method: mikro}]\nmeasure: [pil]\n```", "there is no method 'mikro'"),
    ],
)
def test_a_name_that_is_not_there_is_found(text: str, said: str) -> None:
    (found,) = names_unknown_in(text)
    assert said in found


@pytest.mark.parametrize(
    "text",
    [
        "`maskwright COMMAND --help`, `maskwright explain NAME`, `maskwright run PIPELINE --set a.b=c`, `--json`",
        "`maskwright advise keys`; `maskwright studio FOLDER`; W402.",
        "```yaml\nmeasure: [pil]\n```",
        "```yaml\nedits: [a >= 0]\n```",
        "```yaml\nthresholds: {linkage7: 5}\n```",
        '```python\nmw.Command(name="mine")\n```\n`maskwright mine`, `maskwright explain mine`',
        "<!-- not run: needs docker -->\n```console\n$ docker run --rm maskwright\n```\n`--rm` removes it.",
        "```yaml\nplugins: [mine.py]\nprotect: [{method: mine}]\n```",
    ],
)
def test_names_that_are_there_are_not(text: str) -> None:
    assert names_unknown_in(text) == []
