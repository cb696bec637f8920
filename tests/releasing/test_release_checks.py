"""The checks of a release find what is wrong: archives with too much or too little, tags that do not fit."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import maskwright

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[2]


def script(name: str) -> ModuleType:
    """A script of the release, as a module."""
    specification = importlib.util.spec_from_file_location(name, ROOT / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


ARCHIVES: Any = script(".ci/check_archives")
TAGS: Any = script(".ci/check_tag")
TESTS_OF_LIBRARIES: Any = script("packaging/without_tests")


def sdist(*more: str, without: str = "", size: int = 10) -> list[str]:
    names = {*ARCHIVES.SDIST_NEEDS, *(each if "." in each or each == "LICENSE" else f"{each}/a.py" for each in
             ARCHIVES.SDIST), *more} - {without}  # fmt: skip
    return list(ARCHIVES.problems_of_sdist((f"maskwright-1.0/{name}", size) for name in sorted(names)))


def wheel(*more: str, without: str = "", size: int = 10) -> list[str]:
    always = (
        "maskwright-1.0.dist-info/licenses/LICENSE", "maskwright-1.0.dist-info/entry_points.txt",
        "maskwright-1.0.dist-info/METADATA", "maskwright-1.0.data/data/share/man/man1/maskwright.1",
    )  # fmt: skip
    names = {*ARCHIVES.WHEEL_NEEDS, *always, *more} - {without}
    return list(ARCHIVES.problems_of_wheel((name, size) for name in sorted(names)))


def test_archives_as_they_should_be_pass() -> None:
    assert sdist() == []
    assert wheel() == []


@pytest.mark.parametrize(
    "wrong",
    [
        "private/people.py", "framework/maskwright/__pycache__/a.cpython-311.pyc", "framework/a.py.lock", ".env",
        "tests/reference/Tarragona.csv", "tests/data.parquet", "docs/key.pem", "plugins/kernel.nbi", "docs/run.exe",
    ],
)  # fmt: skip
def test_what_does_not_belong_in_an_sdist_is_named(wrong: str) -> None:
    assert any(wrong.partition("/")[0] in each or wrong in each for each in sdist(wrong))


@pytest.mark.parametrize("needed", ["LICENSE", "schemas/pipeline.schema.json", "packaging/man_pages.py"])
def test_what_an_sdist_lacks_is_named(needed: str) -> None:
    assert f"{needed} is missing" in sdist(without=needed)


def test_large_files_are_named() -> None:
    assert any("larger than 1,000,000 bytes" in each for each in sdist(size=2_000_000))
    assert any("larger than 1,000,000 bytes" in each for each in wheel(size=2_000_000))


def test_what_is_wrong_with_a_wheel_is_named() -> None:
    assert wheel("tests/test_a.py") == ["tests does not belong there"]
    assert wheel(without="maskwright/py.typed") == ["maskwright/py.typed is missing"]
    assert wheel(without="maskwright-1.0.dist-info/licenses/LICENSE") == [".dist-info/licenses/LICENSE is missing"]
    assert wheel(without="maskwright-1.0.data/data/share/man/man1/maskwright.1") == [
        "share/man/man1/maskwright.1 is missing"
    ]


def test_what_archives_must_hold_exists() -> None:
    built = {"PKG-INFO", ".gitignore"}
    assert [name for name in {*ARCHIVES.SDIST, *ARCHIVES.SDIST_NEEDS} - built if not (ROOT / name).exists()] == []
    folders = [ROOT / name for name in ("framework", "plugins", "studio")]
    assert [name for name in ARCHIVES.WHEEL_NEEDS if not any((each / name).is_file() for each in folders)] == []


@pytest.mark.parametrize(
    ("tag", "changes", "wrong"),
    [
        ("v1.2.0", "# Changes\n\n## 1.2.0 (2026-11-23)\n", 0),
        ("1.2.0", "# Changes\n\n## 1.2.0 (2026-11-23)\n", 1),
        ("v1.2.1", "# Changes\n\n## 1.2.0 (2026-11-23)\n", 1),
        ("v1.2.0", "# Changes\n\n## Unreleased: 1.2.0\n\n## 1.2.0 (2026-11-23)\n", 1),
        ("v1.2.0", "# Changes\n", 1),
        ("v1.2.1", "# Changes\n\n## 1.2.0\n", 2),
    ],
)
def test_a_tag_fits_the_version_and_the_list_of_changes(tag: str, changes: str, wrong: int) -> None:
    assert len(TAGS.problems_of(tag, "1.2.0", changes)) == wrong


def test_the_version_is_where_the_check_looks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["check_tag.py", "v0.0.0"])
    assert TAGS.main() == 1
    assert (
        f"the version is {maskwright.__version__}: expected the tag v{maskwright.__version__}"
        in capsys.readouterr().out
    )


def test_only_tests_of_libraries_are_removed(tmp_path: Path) -> None:
    packages = tmp_path / "lib" / "python3.13" / "site-packages"
    kept = [packages / "maskwright" / "tests" / "a.py"]
    gone = []
    for library in TESTS_OF_LIBRARIES.LIBRARIES:
        kept.append(packages / library / "core.py")
        gone += [packages / library / "tests" / "a.py", packages / library / "tests" / "tests" / "b.py"]
    for path in (*kept, *gone):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1234")
    assert TESTS_OF_LIBRARIES.remove_tests(tmp_path) == 4 * len(gone)
    assert all(path.is_file() for path in kept)
    assert not any(path.exists() for path in gone)
    with pytest.raises(SystemExit, match="no library numba"):
        TESTS_OF_LIBRARIES.remove_tests(packages)
