"""The file formats of an exported session."""

from enum import StrEnum
from pathlib import Path


class ExportFormat(StrEnum):
    """A format."""

    RAGFORGE = "ragforge"
    """To be imported elsewhere."""
    MARKDOWN = "md"
    HTML = "html"
    JSON = "json"


ENDINGS = {ExportFormat.RAGFORGE: ".ragforge"}


def ending_of(format: ExportFormat) -> str:
    """The file name's extension."""
    return ENDINGS.get(format, f".{format}")


def format_of(path: Path, *, otherwise: ExportFormat = ExportFormat.MARKDOWN) -> ExportFormat:
    """Return the format for the file name's extension."""
    return next((each for each in ExportFormat if ending_of(each) == path.suffix), otherwise)
