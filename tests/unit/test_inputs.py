"""What a user typed is a message, a command or a program by its origin."""

import pytest

from ragforge.domain.inputs import Input, Say, Slash, parse_input


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("/project:review the tests", Slash("project:review", "the tests")),
        ("/Shipped:creator", Slash("shipped:creator", "")),
        ("/user:mails_2", Slash("user:mails_2", "")),
        ("/project:", Say("/project:")),
        ("/project:src/a.py is odd", Say("/project:src/a.py is odd")),
        ("/api:v2 answers 404", Say("/api:v2 answers 404")),
        ("/etc/hosts is odd", Say("/etc/hosts is odd")),
        ("/help", Slash("help", "")),
    ],
)
def test_a_program_is_a_command_by_its_origin_and_a_path_a_message(typed: str, expected: Input) -> None:
    assert parse_input(typed) == expected
