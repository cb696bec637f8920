"""Commands of other packages: run by name, listed where they cannot be, and guarded as plugins are."""

from __future__ import annotations

import types
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel, Field

from maskwright import Command
from maskwright.cli import further_commands
from maskwright.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterator


class Options(BaseModel, extra="forbid", frozen=True):
    """Options."""

    times: int = Field(description="How often.")


class Hidden(BaseModel):
    """An option that every command has."""

    traceback: bool = Field(default=False, description="Whether to show it.")


def raises(params: object) -> str:
    raise KeyError("a value of 4711")


def ends(params: object) -> str:
    raise SystemExit(0)


def prints(params: object) -> str:
    print("not this")
    return "done"


class Point(EntryPoint):
    """Entry point of the package ``p`` 1.2 that loads an object of the test, or raises it."""

    def load(self) -> Any:
        found = OFFERED[self.name]
        if isinstance(found, BaseException):
            raise found
        return found

    @property
    def dist(self) -> Any:  # type: ignore[override]
        return types.SimpleNamespace(metadata={"Name": "p", "Version": "1.2"})


OFFERED: dict[str, object] = {
    "greet": Command(name="greet", work=lambda params: "hello " * params.times, params=Options, summary="Greets."),
    "prints": Command(name="prints", work=prints, summary="Prints."),
    "raises": Command(name="raises", work=raises, summary="Raises."),
    "ends": Command(name="ends", work=ends, summary="Ends."),
    "lists": Command(name="lists", work=lambda params: ["no"], summary="Lists."),  # type: ignore[arg-type, return-value]
    "run": Command(name="run", work=lambda params: "not this", summary="Takes a name."),
    "hides": Command(name="hides", work=lambda params: "", params=Hidden, summary="Takes an option."),
    "gone": ImportError("no module named q"),
    "text": "no command",
    "other": Command(name="another", work=lambda params: "", summary="Has another name."),
}


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    points = [Point(name, f"p:{name}", further_commands.GROUP) for name in OFFERED]
    monkeypatch.setattr(
        further_commands, "entry_points", lambda group: points if group == further_commands.GROUP else []
    )
    further_commands._found.cache_clear()
    yield
    further_commands._found.cache_clear()


def test_a_command_has_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["greet", "--times", "2"]) == 0
    assert capsys.readouterr().out == "hello hello \n"
    assert main(["greet", "--times", "twice"]) == 2
    assert "--times" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["greet"])
    assert ended.value.code == 2


def test_what_it_prints_is_no_part_of_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prints"]) == 0
    assert capsys.readouterr().out == "done\n"


@pytest.mark.parametrize(
    ("name", "message"), [("raises", "KeyError"), ("ends", "SystemExit"), ("lists", "has to return a text or nothing")]
)
def test_one_that_fails_is_named_and_shows_no_value(
    name: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name]) == 3
    shown = " ".join("".join(capsys.readouterr()).split())
    assert f"command '{name}' of package p 1.2" in shown
    assert message in shown
    assert "4711" not in shown


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gone", "ImportError: no module named q"),
        ("text", "is no maskwright.Command called 'text'"),
        ("other", "is no maskwright.Command called 'other'"),
        ("hides", "an option cannot be called 'traceback'"),
    ],
)
def test_a_broken_one_is_listed_and_stops_nothing_else(
    name: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert main(["plugins", "--strict"]) == 1
    assert message in " ".join(capsys.readouterr().out.split())
    assert main(["explain", "greet"]) == 0
    assert main(["explain", "mdav"]) == 0


def test_commands_of_maskwright_cannot_be_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins"]) == 0
    assert "Maskwright has a command 'run' itself" in " ".join(capsys.readouterr().out.split())
    assert main(["run", "no-such-pipeline.yaml"]) == 2
    assert "not this" not in "".join(capsys.readouterr())


def test_one_that_is_not_allowed_is_not_imported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MASKWRIGHT_PLUGINS", "")
    monkeypatch.setattr(Point, "load", lambda self: pytest.fail("it was imported"))
    assert main(["greet", "--times", "2"]) == 2
    assert "MASKWRIGHT_PLUGINS does not name this package" in " ".join(capsys.readouterr().err.split())
