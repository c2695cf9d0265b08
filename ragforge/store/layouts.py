"""The fields of a record in order, as stored in one place: in rows, nodes or lines."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from operator import attrgetter
from typing import Any, Generic, TypeVar, get_args

from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo

from ragforge.domain.json import JsonObject, well_formed
from ragforge.domain.messages import ModelMessage
from ragforge.domain.usage import Usage
from ragforge.store.json_text import from_json, message_from_json, message_to_json, to_json

R = TypeVar("R", bound=Struct)


class Part(Struct, frozen=True):
    """One of several values in which a field is stored."""

    name: str
    path: str = ""
    """Which attribute of the field's value it is; empty for the value itself."""
    to: Callable[[Any], Any] | None = None


class Form(Struct, frozen=True):
    """How the values of a field are stored: unchanged by default."""

    to: Callable[[Any], Any] | None = None
    of: Callable[..., Any] | None = None
    """The inverse of `to`; if there are parts, it takes them all."""
    parts: tuple[Part, ...] = ()


FORMS: Mapping[object, Form] = {
    str: Form(well_formed),
    float: Form(float),
    JsonObject: Form(to_json, from_json),
    Usage: Form(of=Usage, parts=tuple(Part(name, path=name) for name in Usage.__struct_fields__)),
    ModelMessage: Form(
        of=message_from_json,
        parts=(
            Part("provider", "provider", well_formed),
            Part("model", "model", well_formed),
            Part("message", to=message_to_json),
        ),
    ),
}
"""Of types that every store keeps alike."""


def form_of(field: FieldInfo, forms: Mapping[object, Form]) -> Form:
    """Return the form of the field's type. An optional one may be None; enums are stored as text."""
    return _form(field.type, forms)


def _form(type_: Any, forms: Mapping[object, Form]) -> Form:
    if type_ in forms:
        return forms[type_]
    if isinstance(type_, type) and issubclass(type_, StrEnum):
        return Form(str, _words_of(type_))
    inner = [each for each in get_args(type_) if each is not type(None)]
    if len(inner) == 1 and type(None) in get_args(type_):
        form = _form(inner[0], forms)
        return Form(_unless_none(form.to), _unless_none(form.of))
    return Form()


def _words_of(words: type[StrEnum]) -> Callable[[str], StrEnum]:
    """Return what makes an enum of its text, in a fifth of the time of the type itself."""
    known = {str(word): word for word in words}
    return lambda text: known.get(text) or words(text)


def _unless_none(function: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    return None if function is None else lambda value: None if value is None else function(value)


def default_of(field: FieldInfo) -> Any:
    """Return the default of the field."""
    return field.default if field.default_factory is NODEFAULT else field.default_factory()


class Layout(Generic[R]):
    """The values of a struct's first fields."""

    def __init__(self, struct: type[R], forms: Mapping[str, Form], called: Callable[[str], str]) -> None:
        """forms: of each field, in order. called: the name under which a field or part is stored."""
        self._struct = struct
        self._of: list[tuple[int, int, Callable[..., Any] | None]] = []
        """For each field the index of its value; of several also their end; and what makes it of these."""
        names: list[str] = []
        paths: list[str] = []
        self._to: list[tuple[int, Callable[[Any], Any]]] = []
        self._one: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any] | None]] = {}
        for field, form in forms.items():
            start = len(names)
            for part in form.parts or (Part(field, to=form.to),):
                if part.to is not None:
                    self._to.append((len(names), part.to))
                names.append(called(part.name))
                paths.append(f"{field}.{part.path}" if part.path else field)
                self._one[names[-1]] = attrgetter(paths[-1]), part.to
            self._of.append((start, len(names) if form.parts else 0, form.of))
        self.names = tuple(names)
        self._get = attrgetter(*paths)

    def values(self, record: R) -> list[Any]:
        """Return the stored values of the record, in the order of `names`."""
        found = list(self._get(record))
        for at, to in self._to:
            found[at] = to(found[at])
        return found

    def value(self, record: R, name: str) -> Any:
        """Return one of them. Raises KeyError for a name that is not in `names`."""
        get, to = self._one[name]
        return to(get(record)) if to else get(record)

    def record(self, values: Sequence[Any]) -> R:
        """The inverse of `values`, which more may follow."""
        found = [
            values[at] if of is None else of(*values[at:end]) if end else of(values[at])
            for at, end, of in self._of
        ]
        return self._struct(*found)
