"""Checks of actions: what is released stays as it is, and what an action says holds no value of a record."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.foundation.errors import MaskwrightError
from maskwright.plugins.guarding.frozen import frozen
from maskwright.plugins.guarding.further_kinds import checked_text
from maskwright.release.record.run_record import RunRecord
from maskwright.testing.checks import (
    Check,
    ChecksOf,
    Params,
    as_the_engine_takes_it,
    check_described,
    params_of,
    require,
)
from maskwright.testing.conduct import prints_nothing, tells_no_values
from maskwright.testing.run_records import maximal_record, minimal_record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from maskwright.plugins.action import Action


TELLING = tuple(str(71_000_000 + 13_577 * place) for place in range(30))
"""Values of a released file that do not occur in texts by chance."""
ONE_FILE = {"data": "masked.csv"}
FILES = {**ONE_FILE, "report": "report.html", "public_record": "public.json", "edits": "rules.yaml"}


def _checks(action: Action, given: Params) -> Iterator[tuple[str, Check]]:
    yield "parameters", partial(params_of, action, given)
    yield "documented", partial(check_described, action.name, action.summary, action.params)
    yield "one_file", partial(_acts, action, given, ONE_FILE, maximal=False)
    yield "all_files", partial(_acts, action, given, FILES, maximal=True)
    yield "release_unchanged", partial(_unchanged, action, given)
    yield "twice", partial(_twice, action, given)
    yield "no_values_in_what_it_says", partial(_tells_no_values, action, given)
    yield "prints_nothing", partial(_silent, action, given)


action_checks = ChecksOf("action", _checks)
"""Actions are called as after a release, with files in a temporary folder.

One that sends files somewhere sends these: give the kit `params` that name a place for tests.
"""


@contextmanager
def _released(files: Mapping[str, str]) -> Iterator[dict[str, Path]]:
    """Files of a release, by their keys."""
    with tempfile.TemporaryDirectory(prefix="maskwright-") as folder:
        outputs = {key: Path(folder) / name for key, name in files.items()}
        for key, path in outputs.items():
            rows = "".join(f"{value},north\n" for value in TELLING)
            path.write_text(f"wages,region\n{rows}" if key == "data" else f"<p>{key}</p>\n", encoding="utf-8")
        yield outputs


def _act(action: Action, given: Params, outputs: Mapping[str, Path], *, maximal: bool = True) -> str:
    record = RunRecord.model_validate(maximal_record() if maximal else minimal_record()).public_json()
    found = action.act(frozen(outputs), frozen(record), params_of(action, given))
    return as_the_engine_takes_it("action", action, checked_text, found)


def _acts(action: Action, given: Params, files: Mapping[str, str], *, maximal: bool) -> None:
    with _released(files) as outputs:
        _act(action, given, outputs, maximal=maximal)


def _unchanged(action: Action, given: Params) -> None:
    with _released(FILES) as outputs:
        before = {key: path.read_bytes() for key, path in outputs.items()}
        _act(action, given, outputs)
        changed = [key for key, path in outputs.items() if path.exists() and path.read_bytes() != before[key]]
    require(
        not changed,
        f"act changed files of the release ({', '.join(changed)}): what was checked is what is passed on; "
        "write other files beside them",
    )


def _twice(action: Action, given: Params) -> None:
    """A release that is made again has the same names."""
    with _released(FILES) as outputs:
        before = {path: path.read_bytes() for path in outputs.values()}
        for _ in range(2):
            for path, content in before.items():
                path.write_bytes(content)
            _act(action, given, outputs)


def _tells_no_values(action: Action, given: Params) -> None:
    with _released(FILES) as outputs:
        try:
            said = _act(action, given, outputs)
        except MaskwrightError as error:
            said = str(error)
    tells_no_values(said, TELLING, "what an action says and its refusals")


def _silent(action: Action, given: Params) -> None:
    with _released(FILES) as outputs:
        prints_nothing(lambda: _act(action, given, outputs))
