"""Vim's keys on a text: `|` is the cursor, before and after."""

import pytest

from ragforge.tui.vim import Vim, VimMode, place_in


def pressed(text: str, keys: str) -> str:
    """The text after these keys in normal mode. What no command takes is typed."""
    at = text.index("|")
    text = text.replace("|", "", 1)
    vim = Vim()
    vim.press("escape", "", text, at)
    for char in keys.replace("<esc>", "\x1b"):
        key = "escape" if char == "\x1b" else char
        step = vim.press(key, "" if key == "escape" else char, text, at)
        if step is None:
            if vim.mode is VimMode.INSERT and key != "escape":
                text, at = text[:at] + char + text[at:], at + 1
            continue
        if step.edit:
            gone = text[step.edit.start : step.edit.end]
            text = text[: step.edit.start] + step.edit.insert + text[step.edit.end :]
            if step.edit.kept:
                vim.keep(gone)
        at = place_in(text, at if step.at is None else step.at, vim.mode)
    return f"{text[:at]}|{text[at:]}"


@pytest.mark.parametrize(
    ("text", "keys", "after"),
    [
        # moving
        ("|one two.three", "w", "one |two.three"),
        ("|one two.three", "3w", "one two.|three"),
        ("one |two", "b", "|one two"),
        ("o|ne two", "e", "on|e two"),
        ("one| two", "2h", "o|ne two"),
        ("o|ne", "9l", "on|e"),
        ("  o|ne", "0", "|  one"),
        ("  on|e", "^", "  |one"),
        ("|one\\ntwo", "$", "on|e\\ntwo"),
        ("a\\nb|\\nc", "gg", "|a\\nb\\nc"),
        ("|a\\nb\\nc", "G", "a\\nb\\n|c"),
        ("|a\\nb\\nc", "2G", "a\\n|b\\nc"),
        # into insert mode, and back
        ("o|ne", "ix<esc>", "o|xne"),
        ("o|ne", "ax<esc>", "on|xe"),
        ("  o|ne", "Ix<esc>", "  |xone"),
        ("|one", "Ax<esc>", "one|x"),
        ("on|e\\ntwo", "onew<esc>", "one\\nne|w\\ntwo"),
        ("one\\nt|wo", "Onew<esc>", "one\\nne|w\\ntwo"),
        # changing
        ("o|ne", "x", "o|e"),
        ("|one", "9x", "|"),
        ("on|e", "2X", "|e"),
        ("one |two", "D", "one| "),
        ("one |two", "Cx<esc>", "one |x"),
        ("|one two three", "2dw", "|three"),
        ("one |two\\nthree", "dw", "one| \\nthree"),
        ("|one two", "cwx<esc>", "|x two"),
        ("one |two", "db", "|two"),
        ("|one two", "de", "| two"),
        ("a\\n|b\\nc", "dd", "a\\n|c"),
        ("a\\nb\\n|c", "dd", "a\\n|b"),
        ("|a\\nb\\nc", "2dd", "|c"),
        ("|a", "dd", "|"),
        ("|a\\nb", "ccx<esc>", "|x\\nb"),
        ("a\\n|\\nb", "cwx<esc>", "a\\n|x\\nb"),
        ("a\\n|\\n\\nb", "c2wx<esc>", "a\\n|x\\nb"),
        ("a\\n|\\n\\nb c d", "c3wx<esc>", "a\\n|xc d"),
        ("a\\n|", "cwx<esc>", "a\\n|x"),
        ("a\\n|\\nb", "dw", "a\\n|b"),
        # putting back
        ("|ab", "xp", "b|a"),
        ("a|b", "xP", "|ba"),
        ("|a\\nb", "ddp", "b\\n|a"),
        ("a\\n|b", "ddP", "|b\\na"),
        ("|ab", "yy2p", "ab\\n|ab\\nab"),
        ("|one two", "ywP", "one| one two"),
        ("a\\n|\\nb", "2yyP", "a\\n|\\nb\\n\\nb"),
        # numbers, lines
        ("|a b c d e f g h", "2d3w", "|g h"),
        ("a\\n|b\\nc\\nd", "dj", "a\\n|d"),
        ("a\\nb\\n|c\\nd", "dk", "a\\n|d"),
        ("a\\nb|b\\nc", "dG", "|a"),
        ("a\\nb|b\\n  c", "dgg", "  |c"),
        ("a\\n|b", "2dd", "a\\n|b"),
        ("a|bc\\nb\\nc\\nd", "3D", "|a\\nd"),
        ("a|bc\\nb\\nc\\nd", "2Cx<esc>", "a|x\\nc\\nd"),
        ("a|bc\\nb", "9d$", "|a"),
        ("|a\\nb\\nc", "2D", "|c"),
        ("|a\\nb\\nc", "2Cx<esc>", "|x\\nc"),
        ("|a\\nbc\\nd", "2$", "a\\nb|c\\nd"),
        # to a character
        ("|one, two, three", "f,", "one|, two, three"),
        ("|one, two, three", "t,;", "one, tw|o, three"),
        ("one, two, si|x", "2F,,", "one, two|, six"),
        ("|one, two", "df,", "| two"),
        ("|one, two", "ct,x<esc>", "|x, two"),
        ("|one", "dfz", "|one"),
        # text objects
        ("one t|wo three", "diw", "one | three"),
        ("one t|wo three", "daw", "one |three"),
        ("one t|wo", "daw", "on|e"),
        ("say |now 'some words'", "ci'x<esc>", "say now '|x'"),
        ("call(a, (b|), c)", "di(", "call(a, (|), c)"),
        ("|call(a, (b), c)", "da(", "cal|l"),
        # single characters, short ways, joining
        ("|one", "2rx", "x|xe"),
        ("|one", "9rx", "|one"),
        ("|oNe", "3~", "On|E"),
        ("|one", "sx<esc>", "|xne"),
        ("o|ne\\ntwo", "Sx<esc>", "|x\\ntwo"),
        ("|one\\n  two\\n)", "3J", "one two|)"),
        ("|a\\nb", "Yp", "a\\n|a\\nb"),
        # once more
        ("|one two three", "dw.", "|three"),
        ("|one two three", "x2.", "| two three"),
        ("|one two", "cwxy<esc>w.", "xy x|y"),
        ("|one two", "ix<esc>w.", "xone |xtwo"),
        ("|one", "onew<esc>.", "one\\nnew\\nne|w"),
        ("|one", ".", "|one"),
        ("|abcdefghijklmnop", "10x2.", "|mnop"),
        ("|abcdefghijklmnop", "2x10.", "|mnop"),
        ("|a b c d e f g h i j k", "d2w3.", "|f g h i j k"),
        ("|a b c d e f g h i j k", "2d2w3..", "|k"),
        ("|a1b1c1d", "df1.", "|c1d"),
        ("one tw|o", "d0.", "|o"),
        ("one |two", "cwx<esc>b2.", "|x"),
        # a selection
        ("|one two", "ved", "| two"),
        ("|one two", "vey$p", "one twoon|e"),
        ("one |two three", "viwcx<esc>", "one |x three"),
        ("a(b|c, d)", "vi(rx", "a(|xxxxx)"),
        ("one |two", "vhhd", "on|wo"),
        ("|one\\ntwo", "vjJ", "one| two"),
        ("|one", "v<esc>x", "|ne"),
        ("|abcdefgh", "3vd", "|defgh"),
        ("abcd\\n|", "vp", "abcd\\n|"),
        ("|abcd", "vlp", "a|bcd"),
        ("a|b\\ncd", "yyvp", "a\\n|ab\\n\\ncd"),
        # a change of a selection, once more
        ("|abcd efgh\\nxyz", "ccfoo bar<esc>0vlcX<esc>w.", "Xo |Xr\\nxyz"),
        ("|a b c", "dwvlrz.", "|zzc"),
        ("|abcdefgh", "3vd.", "|gh"),
        ("|abcdefgh", "vld5.", "|efgh"),
        ("|abc", "vld..", "|"),
        ("|abcd\\nef", "v2l~G.", "ABCd\\n|EF"),
        ("a|bcd\\nbcdx\\ncefy\\nxyzz", "vjd.", "a|fy\\nxyzz"),
        ("|abcd\\nbcdx\\ncefy\\nxyzz\\n1234\\nabcd", "vjjld2G.", "fy\\n|cd"),
        ("|abcd\\nbcdx\\ncefy\\nxyzz", "vjJ2G.", "abcd bcdx\\ncefy| xyzz"),
        ("|one two", "xvlyw.", "ne |wo"),
        ("|one two", "v<esc>xw.", "ne |wo"),
        # what waits is forgotten at Esc and at a key that does not follow
        ("|one two", "2d<esc>x", "|ne two"),
        ("|one two", "dzx", "|ne two"),
        ("|one two", "gzx", "|ne two"),
        ("|", "xXDddwbep", "|"),
    ],
)
def test_keys(text: str, keys: str, after: str) -> None:
    unescaped = [each.replace("\\n", "\n") for each in (text, after)]
    assert pressed(unescaped[0], keys) == unescaped[1]
