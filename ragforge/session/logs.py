"""The log file: errors that are not for the screen. No secret reaches it, and no line the terminal."""

import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # loaded with the first line: most runs have nothing to log
    from logging.handlers import RotatingFileHandler

    from ragforge.domain.redact import Redactor

LOG_BYTES_MAX = 1_000_000
LOG_FILES_KEPT = 2
TOLD = ("ragforge.session.hints",)
"""Loggers whose INFO lines are kept as well: what was offered without being asked for."""
_FORMAT = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"


def start_log(environ: Mapping[str, str], redactor: "Redactor | None" = None) -> None:
    """Send every warning and error of this process, and of its libraries, to the log file.

    For `TOLD`, every INFO line too.
    Call it again with a redactor as soon as that is available. Until then the
    environment's secrets are removed. The file is created with its first line.
    """
    root = logging.getLogger()
    ours = next((handler for handler in root.handlers if isinstance(handler, LogFile)), None)
    if ours is None:
        ours = LogFile(environ)
        root.addHandler(ours)
        logging.captureWarnings(True)
        for name in TOLD:
            logging.getLogger(name).setLevel(logging.INFO)
    ours.redactor = redactor or ours.redactor


def stop_log() -> None:
    """Send nothing more to the log file of this process."""
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if isinstance(handler, LogFile)]:
        root.removeHandler(handler)
        handler.close()


class LogFile(logging.Handler):
    """Writes redacted lines to a rotated file. If it cannot be written, the lines are dropped."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__(logging.INFO)
        self.addFilter(lambda record: record.levelno >= logging.WARNING or record.name in TOLD)
        self._environ = environ
        self._file: RotatingFileHandler | None = None
        self.redactor: Redactor | None = None
        self.setFormatter(logging.Formatter(_FORMAT))

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record, including its traceback, without secrets."""
        try:
            if self.redactor is None:
                self.redactor = _redactor_of(self._environ)
            text = self.redactor.text(self.format(record))
            if self._file is None:
                self._file = _open(self._environ)
            self._file.emit(logging.makeLogRecord({"msg": text}))
        except Exception:
            # Logging must never be what fails, and the terminal belongs to the interface.
            return

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        super().close()


def _redactor_of(environ: Mapping[str, str]) -> "Redactor":
    """Removes the environment's secrets, which are known without a keyring."""
    from ragforge.config.secrets import child_env
    from ragforge.domain.redact import Redactor

    return Redactor(set(environ.values()) - set(child_env(environ).values()))


def _open(environ: Mapping[str, str]) -> "RotatingFileHandler":
    from io import FileIO, TextIOWrapper
    from logging.handlers import RotatingFileHandler

    from ragforge.config.paths import log_file, make_private

    class PrivateFile(RotatingFileHandler):
        def _open(self) -> TextIOWrapper:
            opened = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            return TextIOWrapper(FileIO(opened, "a"), encoding=self.encoding, errors=self.errors)

        def handleError(self, record: logging.LogRecord) -> None:
            """Do nothing: by default, logging prints a traceback to the terminal."""

    path = log_file(environ)
    make_private(path.parent)
    return PrivateFile(
        path, maxBytes=LOG_BYTES_MAX, backupCount=LOG_FILES_KEPT, encoding="utf-8", errors="backslashreplace"
    )
