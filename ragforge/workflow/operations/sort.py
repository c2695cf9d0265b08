"""`SORT`: order a list of objects by a field; those without it come last."""

from typing import cast

from ragforge.workflow.operation import Operation, ProgramFault, ProgramHost, Value, as_list


async def _run(host: ProgramHost, operands: tuple[Value, ...]) -> Value:
    items, name, order = operands
    if order not in ("asc", "desc"):
        raise ProgramFault(f"SORT takes 'asc' or 'desc', not {order!r}.")
    having, without = list[Value](), list[Value]()
    for item in as_list(items, "SORT"):
        has_field = isinstance(item, dict) and cast("dict[str, Value]", item).get(name) is not None
        (having if has_field else without).append(item)
    try:
        having.sort(key=lambda item: item[name], reverse=order == "desc")
    except TypeError as error:
        raise ProgramFault(
            f"SORT cannot compare the values of {name!r}: they are not of one kind."
        ) from error
    return having + without


OPERATION = Operation("SORT", _run)
