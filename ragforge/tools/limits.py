"""How much of a tool's result the model is told."""

RESULT_CHARS_MAX = 16_000
READ_LINES_MAX = 2_000
READ_BYTES_MAX = 50_000
LINE_CHARS_MAX = 2_000
IMAGE_BYTES_MAX = 10 * 1024 * 1024

NOTE_CHARS_MAX = 200
CUT_CHARS_MIN = 2 * NOTE_CHARS_MAX


def cut_result(text: str, *, reference: str = "", chars_max: int = RESULT_CHARS_MAX) -> str:
    """Return the text in at most `chars_max` characters: head, a line that says what is missing, tail.

    reference: the hash of the stored complete text; named in that line.
    chars_max: at least CUT_CHARS_MIN, so that there is room for more than the note.
    """
    if chars_max < CUT_CHARS_MIN:
        raise ValueError(f"chars_max is {chars_max}, the least is {CUT_CHARS_MIN}")
    if len(text) <= chars_max:
        return text
    room = chars_max - NOTE_CHARS_MAX
    head = _to_line_end(text[: room * 2 // 3])
    tail = _from_line_start(text[len(text) - room // 3 :])
    missing = len(text) - len(head) - len(tail)
    kept = f"; read_result opens the whole: reference={reference[:80]}" if reference else ""
    note = f"[... {missing:,} of {len(text):,} characters left out here{kept} ...]"
    return f"{head}\n{note}\n{tail}"


def result_chars_max(tool: str) -> int:
    """Return how much of this tool's results the model is told: `read` has limits of its own already."""
    return READ_BYTES_MAX + 2 * NOTE_CHARS_MAX if tool == "read" else RESULT_CHARS_MAX


def _to_line_end(head: str) -> str:
    end = head.rfind("\n", len(head) // 2)
    return head if end < 0 else head[:end]


def _from_line_start(tail: str) -> str:
    start = tail.find("\n", 0, len(tail) // 2)
    return tail[start + 1 :]
