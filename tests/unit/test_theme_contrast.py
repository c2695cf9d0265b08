"""Quiet text can be read on every ground of both themes."""

import pytest
from textual.color import Color
from textual.theme import Theme

from ragforge.tui.theme import DARK, LIGHT

CONTRAST_MIN = 4.5
"""Source: Web Content Accessibility Guidelines 2.2, success criterion 1.4.3."""


def luminance(color: Color) -> float:
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in color.normalized]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("ground", ["background", "surface", "panel"])
@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=["dark", "light"])
def test_quiet_text_has_enough_contrast(theme: Theme, ground: str) -> None:
    colors = theme.to_color_system().generate() | theme.variables
    below = Color.parse(colors[ground])
    words, _, percent = colors["foreground-muted"].partition(" ")
    muted = Color.parse(words)
    text = below + (muted.with_alpha(float(percent.rstrip("%")) / 100) if percent else muted)
    darker, lighter = sorted([luminance(below), luminance(text)])
    assert (lighter + 0.05) / (darker + 0.05) >= CONTRAST_MIN
