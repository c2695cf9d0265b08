"""The forms in which a session can be written to a file."""

from enum import StrEnum
from pathlib import Path


class ExportFormat(StrEnum):
    """What a session can be written as."""

    RAGFORGE = "ragforge"
    """To be imported elsewhere."""
    MARKDOWN = "md"
    HTML = "html"
    JSON = "json"


ENDINGS = {ExportFormat.RAGFORGE: ".ragforge"}


def ending_of(format: ExportFormat) -> str:
    """The end of a file's name."""
    return ENDINGS.get(format, f".{format}")


def format_of(path: Path, *, otherwise: ExportFormat = ExportFormat.MARKDOWN) -> ExportFormat:
    """The format that the end of the name tells."""
    return next((each for each in ExportFormat if ending_of(each) == path.suffix), otherwise)
