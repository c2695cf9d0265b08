"""Two calm themes of high contrast, and the choice between them."""

from dataclasses import replace
from typing import TypeVar

from textual.app import App
from textual.theme import Theme

Result = TypeVar("Result")

DARK = Theme(
    name="ragforge-dark",
    dark=True,
    primary="#7aa6da",
    secondary="#8f9bb3",
    accent="#c9a26d",
    success="#7fb785",
    warning="#d9a95b",
    error="#e07a78",
    foreground="#d8dbe0",
    background="#15171b",
    surface="#1c1f25",
    panel="#262a31",
    variables={
        "input-selection-background": "#7aa6da 35%",
        "block-cursor-text-style": "none",
        "scrollbar": "#343943",
        "scrollbar-hover": "#4a515e",
        "scrollbar-active": "#7aa6da",
        "scrollbar-background": "#15171b",
        "scrollbar-background-hover": "#15171b",
        "scrollbar-background-active": "#15171b",
    },
)

LIGHT = Theme(
    name="ragforge-light",
    dark=False,
    primary="#205a9e",
    secondary="#515a72",
    accent="#8a5a00",
    success="#2c6e36",
    warning="#8a5a00",
    error="#b3261e",
    foreground="#22262c",
    background="#fbfbf9",
    surface="#f1f1ee",
    panel="#e5e5e1",
    variables={
        # Textual's 60 % is hard to read on white; a text's own style takes no percentage.
        "foreground-muted": "#62656a",
        "input-selection-background": "#205a9e 25%",
        "block-cursor-text-style": "none",
        "scrollbar": "#c9cac6",
        "scrollbar-hover": "#a9aba6",
        "scrollbar-active": "#205a9e",
        "scrollbar-background": "#fbfbf9",
        "scrollbar-background-hover": "#fbfbf9",
        "scrollbar-background-active": "#fbfbf9",
    },
)

FEW_COLOURS = "-few-colours"
"""The class of an app whose terminal has 16 colours."""
_LIGHT_OF_FEW = replace(LIGHT, warning="#aa00aa", accent="#aa00aa")
"""The dark yellow of 16 colours is unreadable on white."""


class ThemedApp(App[Result]):
    """An app in one of both themes from its first frame on, which parses its styles once for that."""

    _variables: dict[str, str] | None = None
    """Those that all styles were parsed with."""
    _terminal_is_dark: bool | None = None

    def begin_with_theme(self, setting: str, *, terminal_is_dark: bool | None) -> None:
        """Choose the theme, before the app runs.

        setting: `auto`, `dark` or `light`. auto follows the terminal's background, and is dark if the
        terminal does not report it.
        """
        self._terminal_is_dark = terminal_is_dark
        has_few = self.console.color_system == "standard"
        self.set_class(has_few, FEW_COLOURS)
        self.register_theme(DARK)
        self.register_theme(_LIGHT_OF_FEW if has_few else LIGHT)
        self.set_reactive(App.theme, theme_name(setting, terminal_is_dark=terminal_is_dark))
        self._variables = self.get_css_variables()
        self.stylesheet.set_variables(self._variables)

    def use_theme(self, setting: str) -> None:
        """Change to the theme of this setting at once."""
        name = theme_name(setting, terminal_is_dark=self._terminal_is_dark)
        if name != self.theme:
            self.theme = name

    def refresh_css(self, animate: bool = True) -> None:
        """Apply the styles again; they are parsed again only if their variables differ.

        Textual parses them all once more when an app starts, which takes a tenth of the start.
        """
        if (variables := self.get_css_variables()) != self._variables:
            self._variables = variables
            super().refresh_css(animate)
            return
        self.stylesheet.update(self, animate=animate)


def theme_name(setting: str, *, terminal_is_dark: bool | None) -> str:
    """Return the name of the theme for this setting on this terminal."""
    is_light = setting == "light" or (setting == "auto" and terminal_is_dark is False)
    return LIGHT.name if is_light else DARK.name
