"""`VERSION_LOAD`: a version with its code, or null."""

from ragforge.workflow.operation import Operation
from ragforge.workflow.operations.version_get import find_version

OPERATION = Operation("VERSION_LOAD", find_version, is_durable=True)
