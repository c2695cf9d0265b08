"""`SELECT`: the only item of a list; of several the one that the user takes."""

from ragforge.domain.words import first_words
from ragforge.workflow.operation import Operation, ProgramHost, Value, as_list, is_object, is_version, shown


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    items = as_list(operands[0], "SELECT")
    if len(items) < 2:
        return items[0] if items else None
    resumed = [each for each in items if is_object(each) and each.get("sessionId") == host.resuming]
    if host.resuming:
        return resumed[0] if resumed else None
    return items[await host.choose("Which one?", [_label(each) for each in items])]


def _label(item: Value) -> str:
    if is_version(item):
        return f"{item['id'][-8:]} {item.get('title') or ''}".strip()
    return first_words(shown(item), 80)


OPERATION = Operation("SELECT", _run, is_durable=True)
