"""Law: in whatever order, a text is admitted only as the user last said of it."""

import asyncio
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from ragforge.agent.instructions import Instructions
from ragforge.session.trust import FileTrust, Trust, TrustPlace
from ragforge.store.local.state import open_local_state

PATHS = ("AGENTS.md", "sub/AGENTS.md")
PROJECTS = ("one", "two")
TEXTS = ("Use tabs.", "Use tabs. ", "Use\u200btabs.", "")
Act = tuple[str, str, str, str]
ACTS = st.tuples(
    st.sampled_from(("read", "yes", "no", "restart")),
    st.sampled_from(PROJECTS),
    st.sampled_from(PATHS),
    st.sampled_from(TEXTS),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(ACTS, max_size=25))
def test_only_texts_that_the_user_trusts_are_admitted(acts: list[Act]) -> None:
    asyncio.run(_follow(acts))


async def _follow(acts: list[Act]) -> None:
    said: dict[tuple[str, str, str], bool] = {}
    with tempfile.TemporaryDirectory() as folder:
        local = await open_local_state(Path(folder))
        trust = Trust(local)
        for act, project, path, text in acts:
            place = TrustPlace(project, Path("/project"))
            item = Instructions(place.root / path, text)
            match act:
                case "restart":
                    trust = Trust(local)
                case "read":
                    admitted = await trust.admitted(place, [item])
                    assert bool(admitted) == said.get((project, path, text), False)
                case _:
                    said[project, path, text] = act == "yes"
                    await trust.answer(place, [FileTrust(Path(path), text)], trusted=act == "yes")
        await local.close()
