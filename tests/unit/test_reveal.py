"""What cannot be seen, or is easily taken for something else, is spelled out; ordinary text is left alone."""

import sys
import unicodedata

import pytest

from ragforge.domain.reveal import oddities, reveal_lines


def revealed(text: str) -> str:
    return "\n".join(line.text for line in reveal_lines(text))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u200bb", "a<U+200B>b"),
        ("soft\u00adhyphen", "soft<U+00AD>hyphen"),
        ("tag\U000e0041", "tag<U+E0041>"),
        ("\u202eevil\u2069", "<U+202E>evil<U+2069>"),
        ("✔\ufe0f", "✔<U+FE0F>"),
        ("\ufeffmark", "<U+FEFF>mark"),
        ("a\u00a0b\u3000c\u2800d\u3164e", "a<U+00A0>b<U+3000>c<U+2800>d<U+3164>e"),
        ("\x1b[2J\x07\r", "<U+001B>[2J<U+0007><U+000D>"),
        ("\x85\u2028", "<U+0085><U+2028>"),
        ("\ud800\ue000\U0010ffff", "<U+D800><U+E000><U+10FFFF>"),
        ("cafe\u0301", "cafe<U+0301>"),
        ("rm\U0001d159-r", "rm<U+1D159>-r"),
        ("a\tb", "a→   b"),
        ("rm a \\ \nrm b", "rm a \\·\nrm b"),
        ("\n\n", "\n\n"),
        ("", ""),
    ],
)
def test_what_cannot_be_seen_is_spelled_out(text: str, shown: str) -> None:
    assert revealed(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("p\u0430ypal", "p\u0430<U+0430>ypal"),
        ("g\u03bf", "g\u03bf<U+03BF>"),
        ("\u0441\u0440 a b", "\u0441<U+0441>\u0440<U+0440> a b"),
        ("\U0001d42bm", "\U0001d42b<U+1D42B>m"),
        ("\uff52m", "\uff52<U+FF52>m"),
        ("a\u037e", "a\u037e<U+037E>"),
        ("a\u2215b", "a\u2215<U+2215>b"),
        ("\u0261it", "\u0261<U+0261>it"),
        ("p\u0251ypal", "p\u0251<U+0251>ypal"),
        ("\u1d04at", "\u1d04<U+1D04>at"),
        ("\ua4d0\ua4ee", "\ua4d0<U+A4D0>\ua4ee<U+A4EE>"),
        ("\u15eaocker", "\u15ea<U+15EA>ocker"),
        ("\ufb01le", "\ufb01<U+FB01>le"),
        ("\u02d7rf", "\u02d7<U+02D7>rf"),
        ("x\ua789y", "x\ua789<U+A789>y"),
        ("a \u01c0 b", "a \u01c0<U+01C0> b"),
        ("ca\u05b0t", "ca\u05b0<U+05B0>t"),
        *((f"a {char} b", f"a {char}<U+{ord(char):04X}> b") for char in "﹣﹩﹨﹠﹥﹕︔︓∼׀│￨⎸ˋ"),
    ],
)
def test_look_alikes_are_marked(text: str, shown: str) -> None:
    assert revealed(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "echo 'Grüße, naïve café, cœur ßıĳ' | tee São_Paulo.txt",
        "Привет, мир! Правка с файлом о и а",
        "Καλημέρα κόσμε",
        "你好，世界（测试）！ 日本語、テスト",
        "한국어 테스트 עברית العربية ไทย हिन्दी שָׁלוֹם مَرْحَبًا",
        "🙂 🎉 → … “quoted” – dash — ½ ² ™ µs",
        "name_файл and файл-name.txt",
        "src\n├── a\n│   └── b.py\n# │ x │ y │",
    ],
    ids=["latin", "cyrillic", "greek", "chinese and japanese", "others", "signs", "side by side", "a tree"],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert revealed(text) == text
    assert oddities(text) == ()


def test_what_is_spelled_out_is_counted() -> None:
    assert oddities("a\u200bb\u200c p\u0430y") == ("2 invisible characters", "1 look-alike letter")
    assert oddities("a\tb \nc") == ()
    assert oddities("cafe\u0301") == ("1 invisible character",)


def test_no_character_of_these_kinds_is_drawn_as_it_is() -> None:
    hidden = {"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"}
    for code in (*range(0x3200), *range(0xE0000, 0xE0200), *range(sys.maxunicode - 300, sys.maxunicode + 1)):
        char = chr(code)
        if unicodedata.category(char) in hidden and char not in " \t\n":
            assert revealed(f"a{char}b") == f"a<U+{code:04X}>b"


def test_long_text_is_quick() -> None:
    assert oddities("a" * 300_000 + "é") == ()
    assert len(reveal_lines("é b\n" * 20_000)) == 20_001
