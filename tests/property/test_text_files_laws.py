"""Laws of files as text: bytes come back as they were."""

from hypothesis import given
from hypothesis import strategies as st

from ragforge.files.text import TextFile, decode, encode, lines_of, to_newline
from ragforge.tools.limits import CUT_CHARS_MIN, cut_result

any_text = st.text()


@given(st.binary(max_size=300))
def test_what_is_decoded_is_encoded_to_the_same_bytes(content: bytes) -> None:
    file = decode(content)
    if file is not None:
        assert encode(file.text, file) == content


@given(any_text.filter(lambda text: "\0" not in text and not text.startswith("\ufeff")))
def test_all_text_in_unicode_encodings_is_text(text: str) -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32"):
        file = decode(text.encode(encoding))
        assert file is not None
        assert file.text == text


@given(st.text(st.sampled_from("Größe straße né 12.\n"), min_size=1))
def test_western_text_is_text_and_comes_back(text: str) -> None:
    content = text.encode("cp1252")
    file = decode(content)
    assert file is not None
    assert encode(file.text, file) == content


@given(any_text, st.sampled_from(["\n", "\r\n"]))
def test_line_endings_become_one_kind_and_the_lines_stay(text: str, newline: str) -> None:
    same = to_newline(text, newline)
    assert lines_of(same) == lines_of(text)
    assert to_newline(same, newline) == same
    if newline == "\r\n":
        assert same.count("\n") == same.count("\r\n")


@given(st.lists(st.text(st.characters(exclude_characters="\r\n"))), st.sampled_from(["\n", "\r\n"]))
def test_the_line_ending_of_a_file_is_known(lines: list[str], newline: str) -> None:
    text = "".join(line + newline for line in lines)
    assert TextFile(text).newline == (newline if lines else "")
    assert lines_of(text) == lines


@given(
    st.integers(0, 3_000).flatmap(lambda size: st.text("ab \n", min_size=size, max_size=size + 50)),
    st.integers(CUT_CHARS_MIN, 2_000),
    st.text("0123456789abcdef", max_size=100),
)
def test_a_cut_fits_keeps_both_ends_and_counts_what_is_missing(
    text: str, chars_max: int, reference: str
) -> None:
    cut = cut_result(text, reference=reference, chars_max=chars_max)
    assert len(cut) <= chars_max
    if len(text) <= chars_max:
        assert cut == text
        return
    head, _, tail = cut.partition("\n[... ")
    missing, _, tail = tail.partition(" of ")
    tail = tail.partition(" ...]\n")[2]
    assert text.startswith(head)
    assert text.endswith(tail)
    assert head
    assert tail
    assert int(missing.replace(",", "")) == len(text) - len(head) - len(tail)
    assert reference[:64] in cut
