"""How a command ends, whatever happens: with the exit code and the sentence that are true."""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import signal
import sys
import tempfile
import traceback
from typing import IO, TYPE_CHECKING, NoReturn

from maskwright.foundation.errors import MaskwrightError, PluginFailed
from maskwright.foundation.exit_codes import EXIT_BUG, EXIT_INPUT, EXIT_OUTPUT_FAILED
from maskwright.foundation.processes.signals import Interrupted, prevent_core_dumps, signals_handled
from maskwright.foundation.release_outcomes import forget_releases, release_sentence, was_released

if TYPE_CHECKING:
    from collections.abc import Callable


SIGNALLED = 128
"""Exit code of a command that a signal ended, with the number of the signal on top: 130 for INT."""


class Stream:
    """A standard stream that takes what a command says until its end, also when no one reads or the disk is full.

    What the work comes to does not depend on who listens: a run whose summary cannot be printed is made all the same.

    `lost`: why the rest was not written.
    """

    def __init__(self, inner: IO[str]) -> None:
        self._inner = inner
        self.lost: OSError | None = None

    def write(self, text: str) -> int:
        """Write; what cannot be written is lost."""
        self._attempt(lambda: self._inner.write(text))
        return len(text)

    def flush(self) -> None:
        """Flush; what cannot be written is lost."""
        self._attempt(self._inner.flush)

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def _attempt(self, action: Callable[[], object]) -> None:
        try:
            action()
        except OSError as error:
            self.lost = self.lost or error
            # What is still buffered must not fail once more when the interpreter ends.
            with contextlib.suppress(OSError, ValueError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self._inner.fileno())
                os.close(nowhere)


def ended_truthfully(work: Callable[[], int], explain: Callable[[MaskwrightError], int], *, trace: bool) -> int:
    """Exit code of a command."""
    prevent_core_dumps()
    forget_releases()
    _open_closed_streams()
    # Python has no such streams when they were closed before it began.
    output, messages = Stream(sys.stdout or io.StringIO()), Stream(sys.stderr or io.StringIO())
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(messages):
        code = _code(work, explain, trace=trace)
        output.flush()
        if output.lost is not None:
            reason = output.lost.strerror or type(output.lost).__name__
            is_pipe = isinstance(output.lost, BrokenPipeError)
            if was_released():
                _warn(f"{release_sentence()}; the summary could not be written to standard output: {reason}")
            elif not is_pipe:
                _warn(f"standard output could not be written: {reason}")
            code = code or (0 if is_pipe else EXIT_OUTPUT_FAILED)
        messages.flush()
    return code


def keep_standard_output() -> None:
    """Keep standard output for what Python code of this process prints there.

    What compiled code or a program that a plugin starts writes to its descriptor goes nowhere, so that JSON stays JSON.
    """
    with contextlib.suppress(OSError, ValueError, AttributeError):
        printed = sys.stdout
        printed.flush()
        own = os.dup(printed.fileno())
        sys.stdout = os.fdopen(own, "w", encoding=printed.encoding, errors=printed.errors)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)


def leave(code: int) -> NoReturn:
    """End the process at once, after what is to be done at its end.

    The interpreter is not taken down: a thread of a file reader that calls Python meanwhile would abort the process (or
    hang it), after a release perhaps, and its exit code would be a lie.
    """
    with contextlib.suppress(Exception):
        # The public way to run them is the end of the interpreter.
        atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


def _code(work: Callable[[], int], explain: Callable[[MaskwrightError], int], *, trace: bool) -> int:
    try:
        with signals_handled():
            try:
                return work()
            except PluginFailed as error:
                code = explain(error)
                _keep_log(error, error.error)
                return code
            except MaskwrightError as error:
                return explain(error)
    except SystemExit:
        raise
    except KeyboardInterrupt as error:
        _warn(f"interrupted; {release_sentence()}")
        return SIGNALLED + (error.number if isinstance(error, Interrupted) else signal.SIGINT)
    except MemoryError:
        _warn(f"there is not enough memory for this file; {release_sentence()}")
        _warn("    a million records of 15 variables need about 1.5 GB")
        return EXIT_INPUT
    except BaseException as error:  # noqa: BLE001 - the last resort: a bug is reported, not shown as a traceback
        if trace:
            traceback.print_exc()
        _report_bug(error)
        return EXIT_BUG


def _report_bug(error: BaseException) -> None:
    """Say that it is a bug, and where: without messages, which may hold values of records."""
    _warn(f"This is a bug in Maskwright or in a plugin ({type(error).__name__}).")
    if was_released():
        _warn(f"{release_sentence()}.")
    _keep_log(type(error).__name__, error, "; please report it")


def _keep_log(what: object, error: BaseException | None, request: str = "") -> None:
    """Write down what failed, and where: names of files and functions, and no message that the data may be in.

    `request` ends the sentence, where nothing said before asks for a report.
    """
    from maskwright import __version__

    places = (
        f'  File "{frame.f_code.co_filename}", line {line}, in {frame.f_code.co_name}'
        for frame, line in traceback.walk_tb(None if error is None else error.__traceback__)
    )
    log = "\n".join([f"maskwright {__version__}, Python {sys.version}", str(what), *places, ""])
    try:
        descriptor, name = tempfile.mkstemp(prefix="maskwright-", suffix=".log")
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(log)
    except OSError:
        _warn("No log can be written: there is no folder for temporary files. Please report this, without any value of")
        _warn("your data:")
        _warn(log)
    else:
        _warn(f"A log without any value of your data is in {name}{request}.")


def _warn(text: str) -> None:
    print(text, file=sys.stderr)


def _open_closed_streams() -> None:
    """Give the numbers of standard streams that were closed to nothing, so that no data file gets them."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
