"""The steps of ``.ci/run`` as nox sessions: ``nox``, ``nox -s tests``, ``nox -s tests -- 3.13``.

Each step makes its own fresh environment, so that nox adds none.
"""

import nox

nox.options.default_venv_backend = "none"
nox.options.sessions = ["lint", "types", "docs", "tests", "lowest", "wheel"]


def run(session: nox.Session, step: str, **variables: str) -> None:
    """Run a step."""
    session.run("bash", ".ci/run", step, env=variables, external=True)


@nox.session
def lint(session: nox.Session) -> None:
    """Style and layers."""
    run(session, "lint")


@nox.session
def types(session: nox.Session) -> None:
    """Types, by mypy and by pyright."""
    run(session, "types")


@nox.session
def docs(session: nox.Session) -> None:
    """The documentation as a site, with warnings as errors, and what holds of its pages."""
    run(session, "docs")


@nox.session
def tests(session: nox.Session) -> None:
    """All tests but the slow ones; a version of Python after `--`: ``nox -s tests -- 3.13``."""
    for version in session.posargs or [""]:
        run(session, "tests", PYTHON=f"python{version}" if version else "python3")


@nox.session
def slow(session: nox.Session) -> None:
    """All tests, those of minutes too."""
    run(session, "tests", SLOW="1")


@nox.session
def lowest(session: nox.Session) -> None:
    """A few tests with the lowest versions of the dependencies."""
    run(session, "lowest")


@nox.session(name="air-gapped")
def air_gapped(session: nox.Session) -> None:
    """Sdist and wheel built, checked, installed and run without a network."""
    run(session, "air-gapped")


@nox.session
def container(session: nox.Session) -> None:
    """The image built, and the demo run in it."""
    run(session, "container")


@nox.session
def wheel(session: nox.Session) -> None:
    """The built wheel in an environment of its own."""
    run(session, "wheel")
