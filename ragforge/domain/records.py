"""The description of a stored record, once: beside its struct, in the file of that kind.

The annotations of a struct say what each field contains. Its description adds what the record refers to, how
it is identified, and what its fields are called in storage. From both are derived

- the lines of a backup (`store/archive_lines.py`),
- the columns of a table (`RecordTable` in `store/sqlite/rows.py`), and
- the properties of a node (`RecordNode` in `store/neo4j/rows.py`).

SQL and Cypher remain text where they are used; they take their lists of names from there.

To add a field to a record, for example a turn:

1. `domain/turns.py`: a field of `Turn` with a default, and its name in `later` of TURN. Older lines and nodes
lack it and are read with the default.
2. `store/sqlite/migrations.py`: a step that adds the column, with the same default.
3. `store/neo4j/migrations.py`: a step, if existing nodes need it, or an index.

To make it searchable, change `store/index_text.py`. A type that no record has yet needs a form: in FORMS of
`archive_lines.py` and of both `rows.py`, or in `forms` of the one table and node.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Generic, TypeVar

from msgspec import Struct, field
from msgspec.structs import FieldInfo, fields

R = TypeVar("R", bound=Struct)


class RecordKind(StrEnum):
    """The kinds of records, in the order in which they refer to each other."""

    PROJECT = "project"
    SESSION = "session"
    TURN = "turn"
    STEP = "step"
    TOOL_CALL = "tool_call"
    SUMMARY = "summary"
    MEMORY = "memory"
    ASSOCIATION = "association"
    DERIVED = "derived"
    EMBEDDING = "embedding"
    SPENT = "spent"
    VERSION = "version"
    BRANCH = "branch"
    MOVE = "move"


class Description(Struct, Generic[R], frozen=True):
    """A kind of record, in addition to the annotations of its struct. All names are those of the struct's
    fields."""

    kind: RecordKind
    """Also the name of its table."""
    struct: type[R]
    key: tuple[str, ...] = ("id",)
    """The fields that identify it, joined by a slash."""
    refers: Mapping[str, RecordKind] = field(default_factory=dict[str, RecordKind])
    """Fields with the ids of records that must be stored before it; an empty one refers to nothing."""
    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    """The names of columns that differ from the field's name."""
    properties: Mapping[str, str] = field(default_factory=dict[str, str])
    """The names of properties that differ from the field's name in camelCase."""
    line: Mapping[str, str] = field(default_factory=dict[str, str])
    """The names in a line of a backup that differ from the field's name."""
    derived: tuple[str, ...] = ()
    """Fields at the end that are computed from other records, and not stored."""
    later: tuple[str, ...] = ()
    """Fields that were added later and have a default: older lines and nodes lack them.

    A line omits those with the default, so that older programs can read it.
    """
    always: tuple[str, ...] = ()
    """Those of `later` that a line always has."""
    texts: tuple[str, ...] = ()
    """Fields whose text is replaced if the user removes something from the history."""
    signed: tuple[str, ...] = ()
    """Whole numbers that may be negative, as a duration is when a clock is set back."""

    @property
    def kept(self) -> list[FieldInfo]:
        """The fields that are stored."""
        return [each for each in fields(self.struct) if each.name not in self.derived]

    def column(self, name: str) -> str:
        """Return the name of the column of this field, or of a part of it."""
        return self.columns.get(name, name)

    def property_name(self, name: str) -> str:
        """Return the name of the property of this field, or of a part of it: `git_remote` becomes
        `gitRemote`."""
        first, *others = name.split("_")
        return self.properties.get(name, first + "".join(word.capitalize() for word in others))
