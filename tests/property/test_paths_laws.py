"""Laws of paths: nothing that lies outside the project counts as inside."""

import tempfile
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from ragforge.domain.errors import UsageError
from ragforge.files.paths import inside
from ragforge.tools.paths import resolve
from tests.tool_context import make_context

names = st.sampled_from(["..", ".", "a", "b", "up", "out", "deep", "loop", "file", ""])


@example(["loop", "..", "up"], False)
@given(st.lists(names, max_size=8), st.booleans())
def test_what_counts_as_inside_is_inside_for_the_system_too(parts: list[str], absolute: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        top = Path(name).resolve()
        root = top / "project"
        (root / "a" / "b").mkdir(parents=True)
        (root / "file").touch()
        (top / "outside").mkdir()
        (root / "up").symlink_to("..")
        (root / "a" / "out").symlink_to(top / "outside")
        (root / "a" / "b" / "deep").symlink_to(root / "a")
        (root / "loop").symlink_to("loop")
        text = "/".join([str(root), *parts] if absolute else parts)
        try:
            path = resolve(text, make_context(root))
        except UsageError:
            return
        assert path.is_absolute()
        assert ".." not in path.parts
        if inside(path, root) and path.exists():
            assert root.stat().st_ino in {above.stat().st_ino for above in (path, *path.parents)}
            assert path.resolve() == path
        if (typed := root / text).exists():
            assert typed.samefile(path)
