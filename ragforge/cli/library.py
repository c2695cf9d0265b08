"""What is kept, opened for one command and closed after it."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from ragforge.cli.edge import tell
from ragforge.cli.options import Options
from ragforge.session import library
from ragforge.session.library import Library


@asynccontextmanager
async def opened_library(options: Options) -> AsyncGenerator[Library, None]:
    """The library of the folder; what still waits for a server at the end is told. Raises RagforgeError."""
    opened = await library.open_library(cwd=options.cwd, flags=options.flags, environ=os.environ)
    try:
        yield opened
    finally:
        if waits := await library.close_library(opened):
            tell(waits)
