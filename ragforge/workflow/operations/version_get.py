"""`VERSION_GET`: a version by its id, or null."""

from ragforge.workflow.operation import Operation, ProgramFault, ProgramHost, Value, is_object, type_words


async def find_version(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    """Return the version, as it is stored; null for null. Raises ProgramFault."""
    (wanted,) = operands
    version_id = wanted.get("id") if is_object(wanted) else wanted
    if version_id is None:
        return None
    if not isinstance(version_id, str):
        raise ProgramFault(f"A version is named by its id, not by {type_words(version_id)}.")
    return await host.library.version(version_id)


OPERATION = Operation("VERSION_GET", find_version, is_durable=True)
