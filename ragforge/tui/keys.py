"""Every key of the terminal interface, in one table: bindings, `/help` and `[keys]` come from it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import TypeAlias, cast

from msgspec import Struct
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.binding import Binding
from textual.keys import Keys

from ragforge.domain.errors import UsageError

UNBOUND = "unbound"
"""Stands for no key in Textual's keymap; no terminal sends a key of this name."""


class _More(StrEnum):
    ALT_ENTER = "alt+enter"


class Where(StrEnum):
    """Where a key works. The prompt has the focus while the chat is shown, so these two share keys."""

    PROMPT = "prompt"
    CHAT = "chat"
    LIST = "list"
    SESSIONS = "sessions"
    MEMORY = "memory"
    VERSIONS = "versions"
    RECALLED = "recalled"
    APPROVAL = "approval"
    HINTS = "hints"
    DASHBOARD = "dashboard"
    FORESIGHT = "foresight"


class Key(Struct, frozen=True):
    """One line of the table.

    action: the name in the user's file, and of the method `action_<name>` that does it.
    keys: as Textual names them; `/help` shows the first one first.
    told: whether `/help` shows it; keys of every text field need no explanation.
    """

    action: str
    keys: tuple[str, ...]
    description: str
    where: Where
    told: bool = True


_P, _C, _L, _S, _M, _V, _R, _A, _H, _D, _F = (
    Where.PROMPT,
    Where.CHAT,
    Where.LIST,
    Where.SESSIONS,
    Where.MEMORY,
    Where.VERSIONS,
    Where.RECALLED,
    Where.APPROVAL,
    Where.HINTS,
    Where.DASHBOARD,
    Where.FORESIGHT,
)

TABLE: tuple[Key, ...] = (
    Key("submit", ("enter",), "send, or queue while the model works", _P),
    Key("newline", ("ctrl+j", "shift+enter", "alt+enter"), "new line", _P),
    Key("close", ("escape",), "close what is open", _P),
    Key(
        "clear",
        ("ctrl+c",),
        "copy the selection, or clear the input (Up restores it); twice: quit",
        _P,
    ),
    Key("delete_or_quit", ("ctrl+d",), "on an empty input: quit", _P),
    Key("complete", ("tab",), "complete a /command or @path", _P),
    Key("up", ("up",), "line up; from the first line: older messages", _P),
    Key("down", ("down",), "line down; from the last line: newer messages, then the draft", _P),
    Key("search_history", ("ctrl+r",), "search earlier messages", _P),
    Key("edit_outside", ("ctrl+g",), "edit in $VISUAL or $EDITOR (Ctrl+X Ctrl+E does it, too)", _P),
    Key("open_paste", ("ctrl+o",), "open a folded paste", _P),
    Key("palette", ("ctrl+p",), "all commands", _P),
    Key("undo", ("ctrl+underscore", "ctrl+slash", "super+z"), "undo typing", _P),
    Key("redo", ("alt+z", "ctrl+shift+z", "shift+super+z"), "redo typing", _P),
    Key("delete_to_start_of_line", ("ctrl+u", "super+backspace"), "delete to the start of the line", _P),
    Key("delete_to_end_of_line", ("ctrl+k",), "delete to the end of the line", _P),
    Key("delete_word_left", ("ctrl+w", "alt+backspace", "ctrl+backspace"), "delete a word", _P),
    Key("yank", ("ctrl+y",), "paste the last deleted text", _P),
    Key("cursor_line_start", ("ctrl+a", "home"), "start of the line", _P),
    Key("cursor_line_end", ("ctrl+e", "end"), "end of the line", _P),
    Key("cursor_left", ("left", "ctrl+b"), "left", _P, told=False),
    Key("cursor_right", ("right", "ctrl+f"), "right", _P, told=False),
    Key("cursor_word_left", ("ctrl+left", "alt+left", "alt+b"), "a word left", _P, told=False),
    Key("cursor_word_right", ("ctrl+right", "alt+right", "alt+f"), "a word right", _P, told=False),
    Key("select_left", ("shift+left",), "select", _P, told=False),
    Key("select_right", ("shift+right",), "select", _P, told=False),
    Key("select_word_left", ("ctrl+shift+left",), "select a word", _P, told=False),
    Key("select_word_right", ("ctrl+shift+right",), "select a word", _P, told=False),
    Key("select_line_start", ("shift+home",), "select to the start of the line", _P, told=False),
    Key("select_line_end", ("shift+end",), "select to the end of the line", _P, told=False),
    Key("delete_left", ("backspace", "shift+backspace", "ctrl+h"), "delete", _P, told=False),
    Key("delete_right", ("delete",), "delete", _P, told=False),
    Key("delete_word_right", ("alt+d", "alt+delete"), "delete the next word", _P, told=False),
    Key("cut", ("ctrl+x", "super+x"), "cut the selection", _P, told=False),
    Key("copy", ("super+c",), "copy the selection", _P, told=False),
    Key("paste", ("ctrl+v",), "paste an image from the clipboard, or text copied here", _P),
    Key(
        "interrupt",
        ("escape",),
        "interrupt and restore queued messages; twice: go back to an earlier turn",
        _C,
    ),
    Key("cycle_mode", ("shift+tab",), "next mode: ask, accept edits, plan", _C),
    Key("expand", ("ctrl+o",), "open all folds in view; again: restore them", _C),
    Key("sessions", ("ctrl+s",), "sessions", _C),
    Key("todos", ("ctrl+t",), "show or hide the to-do list", _C),
    Key("scroll_page_up", ("pageup",), "a page up", _C),
    Key("scroll_page_down", ("pagedown",), "a page down", _C),
    Key("scroll_line_up", ("shift+up",), "a line up", _C),
    Key("scroll_line_down", ("shift+down",), "a line down", _C),
    Key("show_newest", ("ctrl+end",), "jump to the newest output", _C),
    Key("do_hint", ("f4",), "run the command suggested below the input", _C),
    Key("hints", ("f8",), "show the open hints", _C),
    Key("forget_kept", ("ctrl+n",), "forget what was just remembered", _C),
    Key(
        "walk",
        ("f6",),
        "move through the conversation: Tab and arrows move, Enter opens or folds, Esc returns",
        _C,
    ),
    Key("explain_status", ("f7",), "explain the status line", _C),
    Key("redraw", ("ctrl+l",), "draw the screen again", _C),
    Key("suspend", ("ctrl+z",), "suspend ragforge; `fg` in the shell resumes it", _C),
    # Textual quits at Ctrl+Q, one key from Ctrl+W; here it says how to quit.
    Key("say_how_to_quit", ("ctrl+q",), "how to quit", _C, told=False),
    Key("take", ("enter",), "open the line", _L),
    Key("leave", ("escape",), "close the list", _L),
    Key("list_up", ("up",), "line up", _L),
    Key("list_down", ("down",), "line down", _L),
    Key("list_page_up", ("pageup",), "a page up", _L),
    Key("list_page_down", ("pagedown",), "a page down", _L),
    Key("rename", ("ctrl+e",), "rename", _L),
    Key("delete", ("ctrl+x",), "delete (asks first)", _L),
    Key("show_archived", ("ctrl+f",), "switch between archived and other sessions", _S),
    Key("edit_memory", ("ctrl+e",), "edit the memory", _M),
    Key("forget_memory", ("ctrl+x",), "forget the memory, or restore it", _M),
    Key("undo_memory", ("ctrl+u",), "undo the last change", _M),
    Key("hand_over_memory", ("ctrl+g",), "make the memory everybody's, or only yours", _M),
    Key("next_type", ("tab",), "filter by the next type", _M),
    Key("next_sort", ("ctrl+o",), "the next order", _M),
    Key("show_forgotten", ("ctrl+f",), "include forgotten memories", _M),
    Key("chat_alone", ("c",), "go there with the chat only", _V),
    Key("files_alone", ("f",), "go there with the files only", _V),
    Key("branch_version", ("b",), "start a branch at the version", _V),
    Key("label_version", ("l",), "label the version", _V),
    Key("mark_version", ("m",), "mark the version to compare others with", _V),
    Key("scroll_diff_up", ("shift+up",), "scroll the changes up", _V),
    Key("scroll_diff_down", ("shift+down",), "scroll the changes down", _V),
    Key("open_recalled", ("enter",), "open a recalled item's turn", _R),
    Key("show_figures", ("right",), "show a recalled item in full, with scores", _R),
    Key("hide_figures", ("left",), "fold a recalled item", _R),
    Key("forget_recalled", ("delete", "ctrl+x"), "forget a recalled memory (asks first)", _R),
    Key("ignore_hint", ("i",), "ignore the hint", _H),
    Key("postpone_hint", ("l",), "postpone the hint to the next session or tomorrow", _H),
    Key("next_tab", ("tab", "right"), "the next tab", _D),
    Key("previous_tab", ("shift+tab", "left"), "the previous tab", _D),
    Key("sort_wishes", ("s", "ctrl+o"), "sort by the next order", _D),
    Key("edit_wish", ("e", "ctrl+e"), "edit the wish", _D),
    Key("forget_wish", ("x", "ctrl+x", "delete"), "forget the wish (asks first)", _D),
    Key("allow_wish", ("r",), "turn the wish into an approval rule", _D),
    Key("depth_less", ("left",), "your curve: one turn fewer", _F),
    Key("depth_more", ("right",), "your curve: one turn more", _F),
    Key("project_depth_less", ("shift+left",), "the project's curve: one turn fewer", _F),
    Key("project_depth_more", ("shift+right",), "the project's curve: one turn more", _F),
    Key("show_expected", ("e",), "show what was expected and what happened", _F),
    Key("show_foreseers", ("tab",), "switch between people and turns", _F),
    Key("answer_1", ("1", "y"), "yes, once", _A),
    Key("answer_2", ("2",), "the second answer", _A),
    Key("answer_3", ("3", "n"), "no", _A),
    Key("answer_4", ("4",), "no, with a reason", _A),
    Key("answer_5", ("5", "e"), "edit it first, in your editor", _A),
    Key("answer_up", ("up",), "choose the answer above, if nothing is typed", _A),
    Key("answer_down", ("down",), "choose the answer below, if nothing is typed", _A),
    Key("answer_chosen", ("enter",), "confirm the chosen answer, if nothing is typed", _A),
    Key("open_said", ("o",), "open the turn where you said so", _A),
    Key("refuse", ("escape",), "no, and interrupt", _A),
)

_TOGETHER = (
    frozenset({_P, _C}),
    frozenset({_L, _S}),
    frozenset({_L, _M}),
    frozenset({_L, _V}),
    frozenset({_L, _H}),
    frozenset({_L, _D}),
    frozenset({_L, _F}),
    frozenset({_R}),
    frozenset({_A}),
)
_NAMED = {str(key.value) for key in Keys} | {"enter", "space", "underscore", "slash", "backslash"}
_MODIFIERS = ("ctrl", "alt", "shift", "super", "hyper", "meta")


def bindings(overrides: Mapping[str, str] | None = None) -> dict[str, tuple[str, ...]]:
    """Return the keys of every action, with the user's in place of ours.

    overrides: action to keys, e.g. `{"expand": "ctrl+e, f2"}`; an empty string unbinds.
    Raises UsageError for an unknown action or key, and if two actions have the same key.
    """
    bound, faults = _read(overrides or {})
    if faults:
        raise UsageError(faults[0][1])
    return bound


def check(key: str, value: str, *, beside: Mapping[str, str]) -> None:
    """Raise UsageError if the setting `keys.ACTION` cannot have this value beside the others."""
    if (action := key.removeprefix("keys.")) != key and (
        fault := _fault_of(action, {**beside, action: value})
    ):
        raise UsageError(fault)


def check_unset(key: str, *, beside: Mapping[str, str]) -> None:
    """Raise UsageError if the setting `keys.ACTION` cannot be removed, because two would share a key then."""
    if (action := key.removeprefix("keys.")) != key and action in beside:
        rest = {other: value for other, value in beside.items() if other != action}
        if fault := _fault_of(action, rest):
            raise UsageError(f"{key} is not removed, because without it {fault}")


def check_config(args: str, *, beside: Mapping[str, str]) -> None:
    """Raise UsageError if `/config` with these arguments would set invalid keys."""
    verb, _, unset = args.strip().partition(" ")
    if verb == "unset":
        check_unset(unset.strip(), beside=beside)
        return
    key, _, value = args.strip().removeprefix("set ").strip().partition(" ")
    if value.strip():
        check(key, value.strip(), beside=beside)


def _fault_of(action: str, overrides: Mapping[str, str]) -> str:
    """Return what is wrong with this action: what is with others, its change neither makes nor mends."""
    _, faults = _read(overrides)
    return next((words for actions, words in faults if action in actions), "")


_Fault: TypeAlias = tuple[set[str], str]
"""The actions that it is about, and what is wrong."""


def _read(overrides: Mapping[str, str]) -> tuple[dict[str, tuple[str, ...]], list[_Fault]]:
    """Return the keys of every action, and all that is wrong with the user's."""
    bound = {key.action: key.keys for key in TABLE}
    faults: list[_Fault] = []
    for action, keys in overrides.items():
        if action not in bound:
            faults.append(({action}, f"keys.{action}: unknown action. Available: {', '.join(bound)}."))
            continue
        try:
            bound[action] = tuple(_parsed(action, key) for key in keys.split(",") if key.strip())
        except UsageError as error:
            faults.append(({action}, str(error)))
    if not bound["submit"]:
        faults.append(
            ({"submit"}, "keys.submit needs a key, or nothing could be sent. Name one, e.g. enter.")
        )
    return bound, [*faults, *_clashes(bound)]


def in_place(where: Where, bound: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return the action of each key that works there."""
    lines = [line for line in TABLE if line.where is where]
    return {key: line.action for line in lines for key in _or_capital(bound[line.action])}


def declared(*places: Where) -> list[Binding]:
    """Return these places' keys for a widget's `BINDINGS`; `keymap` replaces them by the user's."""
    return [
        Binding(",".join(_or_capital(line.keys)), line.action, line.description, show=False, id=line.action)
        for line in TABLE
        if line.where in places
    ]


def app_bindings() -> list[Binding]:
    """For the App's `BINDINGS`: override Ctrl+Q, with which Textual quits."""
    return [Binding("ctrl+q", "say_how_to_quit", show=False, priority=True, id="say_how_to_quit")]


def keymap(bound: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """For `App.set_keymap`: the differences from the table, by binding id."""
    return {
        line.action: ",".join(_or_capital(bound[line.action])) or UNBOUND
        for line in TABLE
        if bound[line.action] != line.keys
    }


def _or_capital(pressed: tuple[str, ...]) -> list[str]:
    """Return the keys, and their capitals: hints show letters so, and Caps Lock may be on."""
    capitals = [key.upper() for key in pressed if len(key) == 1 and key.upper() != key]
    return [*pressed, *(key for key in capitals if key not in pressed)]


def present_key(action: str, changed: Mapping[str, str]) -> str:
    """Return the first key that does it now; empty for none. changed: the result of `keymap`."""
    first = changed.get(action, first_key(action)).split(",")[0]
    return "" if first == UNBOUND else first


def with_present_keys(text: str, changed: Mapping[str, str], *actions: str) -> str:
    """Return the text with the user's keys in place of the table's first keys for these actions.

    A sentence, or a part between dots, is left out if its key is unbound.
    """
    for action in actions:
        ours, present = first_key(action), present_key(action, changed)
        if present != ours:
            word = re.compile(rf"(?<![\w+]){re.escape(shown(ours))}(?![\w+])")
            parts = _PARTS.split(text)
            kept = [word.sub(shown(present), part) for part in parts if present or not word.search(part)]
            text = "".join(kept).removesuffix(" · ").rstrip()
    return text


_PARTS = re.compile(r"(?<=[.] )|(?<= · )")


def first_key(action: str) -> str:
    """Return the table's first key for it, which texts name."""
    return next(line.keys[0] for line in TABLE if line.action == action)


def help_rows(bound: Mapping[str, tuple[str, ...]]) -> list[tuple[str, str, str]]:
    """Return (place, keys, description) for `/help`, in the table's order, without unbound ones."""
    return [
        (line.where.value, ", ".join(map(shown, bound[line.action])), line.description)
        for line in TABLE
        if line.told and bound[line.action]
    ]


def teach_terminal_keys() -> None:
    """Make Textual recognise Alt+Enter if a terminal sends it as Escape, Return, which it takes for Enter.

    Terminals without the Kitty protocol send it so, and many are set to send the same for Shift+Enter.
    """
    cast("dict[str, object]", ANSI_SEQUENCES_KEYS)["\x1b\r"] = (_More.ALT_ENTER,)


def shown(key: str) -> str:
    """Return the key as people write it: `ctrl+underscore` is `Ctrl+_`."""
    signs = {"underscore": "_", "slash": "/", "escape": "Esc", "pageup": "PgUp", "pagedown": "PgDn"}
    return "+".join(signs.get(part, part.capitalize()) for part in key.split("+"))


def _parsed(action: str, key: str) -> str:
    *modifiers, name = re.split(r"\s*\+\s*", key.strip().lower())
    name = {"esc": "escape", "return": "enter", "_": "underscore", "/": "slash", "pgup": "pageup"}.get(
        name, name
    )
    name = {"pgdn": "pagedown", "del": "delete", "\\": "backslash"}.get(name, name)
    if not (len(name) == 1 and name.isalnum()) and name not in _NAMED:
        raise UsageError(
            f"keys.{action}: {key.strip()!r} is not a key. Write it like ctrl+x, alt+enter or f2."
        )
    if wrong := [modifier for modifier in modifiers if modifier not in _MODIFIERS]:
        raise UsageError(f"keys.{action}: {wrong[0]!r} is not one of {', '.join(_MODIFIERS)}.")
    typed = len(name) == 1 or name in ("space", "underscore", "slash", "backslash")
    if typed and set(modifiers) <= {"shift"} and _where(action) in (_P, _C, _R):
        raise UsageError(f"keys.{action}: {key.strip()!r} types text. Add ctrl or alt, e.g. alt+{name}.")
    # Textual writes modifiers in alphabetical order.
    return "+".join([*sorted(set(modifiers)), name])


def _where(action: str) -> Where:
    return next(line.where for line in TABLE if line.action == action)


def _clashes(bound: Mapping[str, tuple[str, ...]]) -> Iterator[_Fault]:
    """Two actions may share a key only if they do in the table: the prompt acts first, else the chat."""
    ours = {line.action: line.keys for line in TABLE}
    for places in _TOGETHER:
        actions = [line.action for line in TABLE if line.where in places]
        shared = _by_key(actions, ours)
        for key, sharing in _by_key(actions, bound).items():
            if len(sharing) > 1 and not sharing <= shared.get(key, set()):
                both = " and ".join(f"keys.{action}" for action in sorted(sharing))
                yield sharing, f"{both} both use {key}. Give one of them another key."


def _by_key(actions: Iterable[str], bound: Mapping[str, tuple[str, ...]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for action in actions:
        for key in bound[action]:
            found.setdefault(key, set()).add(action)
    return found
