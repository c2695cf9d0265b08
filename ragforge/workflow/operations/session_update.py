"""`SESSION_UPDATE`: set a field of the session, durably; for `current_version` it is a checkout."""

from ragforge.workflow.operation import Operation, ProgramFault, ProgramHost, Value, as_session, as_text


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    before, name, value = operands
    session, field = as_session(before, "SESSION_UPDATE"), as_text(name, "SESSION_UPDATE")
    if field in ("id", "program", "type"):
        raise ProgramFault(f"SESSION_UPDATE cannot change {field}.")
    session = as_session({**session, field: value}, f"SESSION_UPDATE of {field}")
    if field == "current_version" and isinstance(value, str) and value != await _head(host, value):
        await host.library.move(value)
    await host.library.keep_session(session)
    return session


async def _head(host: ProgramHost, version_id: str) -> str:
    version = await host.library.version(version_id)
    if version is None:
        raise ProgramFault(f"There is no version {version_id}.")
    return await host.library.head(version["program"])


OPERATION = Operation("SESSION_UPDATE", _run, is_durable=True)
