"""The look of the prompt's box, before the interface is loaded and in it. Needs no Textual."""

PLACEHOLDER = "Message, /command, @file, !shell"
LINES_MAX = 10
"""Of text; a longer one scrolls."""
BORDER_LINES = 2


def text_lines_max(screen_lines: int) -> int:
    """Return how many lines of text are shown: in a low terminal the box takes at most half of the screen."""
    return max(1, min(LINES_MAX, screen_lines // 2 - BORDER_LINES))
