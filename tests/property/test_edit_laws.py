"""Laws of edits: what is not replaced stays, byte by byte."""

from hypothesis import given
from hypothesis import strategies as st

from ragforge.files.diffs import unified
from ragforge.files.text import decode, encode
from ragforge.tools.text_match import EditedText, NotEdited, replace

lines = st.text(st.sampled_from("ab \t{}é\u2028"), max_size=6)
endings = st.sampled_from(["\n", "\r\n"])
texts = st.lists(st.tuples(lines, endings), max_size=12).map(lambda pairs: "".join(map("".join, pairs)))
snippets = st.text(st.sampled_from("xyz \n\té"), max_size=12)


def plain(text: str) -> str:
    return text.replace("\r\n", "\n")


@given(before=texts, after=texts, old=st.text("xyz", min_size=1, max_size=5), new=snippets)
def test_all_around_the_replaced_text_stays(before: str, after: str, old: str, new: str) -> None:
    edited = replace(before + old + after, old, new, replace_all=False)
    assert isinstance(edited, EditedText)
    assert not edited.by_whitespace
    assert edited.text.startswith(before)
    assert edited.text.endswith(after)
    middle = edited.text[len(before) : len(edited.text) - len(after)]
    assert plain(middle) == new
    assert edited.lines == (plain(before).count("\n") + 1,)


@given(text=texts, old=snippets.filter(bool), new=snippets)
def test_replacing_all_is_what_replace_does(text: str, old: str, new: str) -> None:
    edited = replace(text, old, new, replace_all=True)
    if old in plain(text):
        assert isinstance(edited, EditedText)
        assert plain(edited.text) == plain(text).replace(old, new)
    elif isinstance(edited, EditedText):
        assert edited.by_whitespace


@given(text=texts, old=snippets.filter(bool), new=st.text("xyz\n", max_size=12))
def test_a_text_with_one_kind_of_line_ending_keeps_it(text: str, old: str, new: str) -> None:
    windows = plain(text).replace("\n", "\r\n")
    edited = replace(windows, old, new, replace_all=True)
    if isinstance(edited, EditedText) and "\r\n" in windows:
        assert edited.text.count("\n") == edited.text.count("\r\n")


@given(
    before=texts, after=texts, block=st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=4)
)
def test_a_match_by_white_space_takes_whole_lines_and_nothing_else(
    before: str, after: str, block: list[str]
) -> None:
    there = "".join(f"\t\t{line}x  \n" for line in block)
    old = "".join(f"  {line}x\n" for line in block)
    edited = replace(before + there + after, old, "  new\n    newer\n", replace_all=False)
    assert isinstance(edited, NotEdited)  # 4 spaces have no counterpart in tabs: nothing is guessed
    edited = replace(before + there + after, old, "  new\n\n  newer\n", replace_all=False)
    assert isinstance(edited, EditedText)
    assert edited.by_whitespace
    assert edited.text == before + "\t\tnew\n\n\t\tnewer\n" + after


@given(text=texts, old=snippets.filter(bool), new=snippets, every=st.booleans())
def test_an_edit_is_made_or_explained(text: str, old: str, new: str, every: bool) -> None:
    match replace(text, old, new, replace_all=every):
        case EditedText(lines=where):
            assert where
        case NotEdited(reason):
            assert reason.endswith(".")


@given(
    before=texts,
    after=texts,
    old=st.text("xy", min_size=1),
    new=st.text("zé€", max_size=5),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_the_bytes_around_an_edit_stay_in_every_encoding(
    before: str, after: str, old: str, new: str, encoding: str
) -> None:
    content = (before + old + after).encode(encoding)
    file = decode(content)
    assert file is not None
    edited = replace(file.text, old, new, replace_all=False)
    assert isinstance(edited, EditedText)
    assert encode(edited.text, file) == (before + new + after).encode(encoding)


@given(st.lists(st.sampled_from("abcd"), max_size=30), st.lists(st.sampled_from("abcd"), max_size=30))
def test_a_diff_holds_exactly_what_went_and_came(old: list[str], new: list[str]) -> None:
    before, after = ("".join(f"{line}\n" for line in each) for each in (old, new))
    shown = unified(before, after, "f").splitlines()[2:]
    assert bool(shown) == (old != new)
    assert _applied(old, shown) == new


def test_few_changes_all_over_a_long_file_are_shown_as_few() -> None:
    old = [f"line {number}" for number in range(20_000)]
    new = [line.upper() if number % 2_000 == 7 else line for number, line in enumerate(old)]
    shown = unified("\n".join(old), "\n".join(new), "f").splitlines()[2:]
    assert sum(line.startswith(("+", "-")) for line in shown) == 20
    assert _applied(old, shown) == new


def _applied(old: list[str], diff: list[str]) -> list[str]:
    """The new lines by the diff's own line numbers."""
    new: list[str] = []
    at = 0
    for line in diff:
        match line[0], line[1:]:
            case "@", header:
                start, new_start = (_start_of(place) for place in header.split()[1:3])
                new += old[at:start]
                at = start
                assert len(new) == new_start
            case "+", text:
                new.append(text)
            case sign, text:
                assert old[at] == text
                new += [text] if sign == " " else []
                at += 1
    return new + old[at:]


def _start_of(place: str) -> int:
    """From 0, of a hunk's `-3,4` or `+3`."""
    first, _, count = place[1:].partition(",")
    return int(first) - (count != "0")
