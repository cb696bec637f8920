"""Completion in the shell: commands, options, names of plugins; file names are left to the shell."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from maskwright.cli.completion import SHELLS
from maskwright.cli.main import main


def completed(capsys, *words: str) -> list[str]:
    assert main(["completion", "--words", *words]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    return [line.split("\t")[0] for line in told.out.splitlines()]


def test_commands_and_options(capsys) -> None:
    assert {"run", "plan", "measure", "completion"} <= set(completed(capsys, ""))
    assert completed(capsys, "va") == ["validate"]
    assert {"--help", "--set", "--json", "--quiet"} <= set(completed(capsys, "run", "--"))
    assert completed(capsys, "run", "pipeline.yaml", "--qu") == ["--quiet"]
    assert completed(capsys, "nonsense", "") == []
    assert completed(capsys) == completed(capsys, "")


def test_choices_and_plugins(capsys) -> None:
    assert completed(capsys, "edits", "--to", "") == ["schematron", "validate", "yaml"]
    assert "schematron" in completed(capsys, "edits", "--from", "s")
    assert completed(capsys, "schema", "exp") == ["experiment"]
    assert {"pil", "sse"} <= set(completed(capsys, "measure", "one.csv", "other.csv", "--measure", ""))
    assert {"csv", "xml", "parquet"} <= set(completed(capsys, "validate", "--format", ""))
    assert {"microaggregation", "edits", "doubts"} <= set(completed(capsys, "explain", ""))
    assert completed(capsys, "explain", "published-und") == ["published-undeclared"]


def test_names_of_files_are_left_to_the_shell(capsys) -> None:
    for words in (("run", ""), ("validate", "data.csv", "--edits", ""), ("measure", ""), ("measure", "one.csv", "o")):
        assert completed(capsys, *words) == []


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_a_script_that_it_can_read(shell: str, capsys) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "maskwright completion --words" in script
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n"], input=script, text=True, check=True)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes(tmp_path) -> None:
    program = tmp_path / "maskwright"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m maskwright "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    ask = """
        source <(maskwright completion bash)
        try() { COMP_WORDS=(maskwright "$@"); COMP_CWORD=$#; COMPREPLY=(); _maskwright; echo "${COMPREPLY[*]}"; }
        try va
        try edits --to ""
        try run ""
        try run --qu
    """
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", ask], env=os.environ | {"PATH": path}, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["validate", "schematron validate yaml", "", "--quiet"]
