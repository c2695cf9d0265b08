"""`/merge`: bring another line of work into the files."""

from collections.abc import AsyncGenerator

from msgspec import Struct

from ragforge.commands.base import Command, Follow, HeadMoved, Outcome
from ragforge.commands.check_question import OPTION as CHECK
from ragforge.commands.check_question import question_before, take_answer
from ragforge.commands.move_outcome import choice_of, question_about
from ragforge.domain.errors import UsageError
from ragforge.domain.moves import MergeMode, Side
from ragforge.session.model import NO_MODEL, model_of
from ragforge.session.progress import followed
from ragforge.session.state import Session
from ragforge.versions.attempts.candidates import MergeUndecided
from ragforge.versions.attempts.trials import Tell
from ragforge.versions.branch_merge import clashes, merge, take_candidate
from ragforge.versions.words import moved_lines

_SIDES = {f"--{side}": side for side in Side}
_STRATEGY, _TAKE = "--strategy=", "--take="


class _Typed(Struct):
    """What stands after /merge. take: the result that was chosen; answer: about the check command."""

    name: str = ""
    chosen: Side | None = None
    strategy: MergeMode | None = None
    take: str = ""
    answer: str = ""

    @property
    def side(self) -> Side:
        """What becomes of what nobody decided otherwise."""
        return self.chosen or Side.MARKERS

    def line(self, *more: str) -> str:
        """The command line without the strategy, and with this."""
        return " ".join(["merge", self.name, f"--{self.side}", *more])


async def _run(session: Session, args: str) -> Outcome:
    typed = _typed(args)
    if typed.answer:
        await take_answer(session, typed.answer)
    if typed.take:
        if session.live.undecided is None:
            raise UsageError(
                f"No results of a merge wait to be chosen from. /merge NAME {_STRATEGY}best makes some."
            )
        candidates, session.live.undecided = session.live.undecided, None
        moved = await take_candidate(session, typed.name, candidates, typed.take, side=typed.side)
        return HeadMoved(tuple(moved_lines(moved)), chat=False)
    session.live.undecided = None
    if not typed.strategy:
        if typed.chosen is None and (conflicts := await clashes(session, typed.name)):
            name = model_of(session)
            model = "" if name.provider == NO_MODEL else str(name)
            return question_about(conflicts, line=lambda option: f"merge {typed.name} {option}", model=model)
        moved = await merge(session, typed.name, side=typed.side)
        return HeadMoved(tuple(moved_lines(moved)), chat=False)
    again = f"{_STRATEGY}{typed.strategy}"
    if first := await question_before(session, lambda option: typed.line(again, option)):
        return first
    return Follow(_lines(session, typed))


def _lines(session: Session, typed: _Typed) -> AsyncGenerator[str | Outcome, None]:
    """What is done meanwhile, and at the end the merge or the question which result to take."""

    async def work(tell: Tell) -> Outcome:
        tell("Merging. Esc ends it, and nothing is changed then.")
        try:
            moved = await merge(
                session, typed.name, side=typed.side, strategy=typed.strategy, ask=True, tell=tell
            )
        except MergeUndecided as undecided:
            session.live.undecided = undecided.candidates
            return choice_of(
                undecided.candidates,
                take=lambda name: typed.line(f"{_TAKE}{name}"),
                without=typed.line(),
                side=typed.side,
            )
        return HeadMoved(tuple(moved_lines(moved)), chat=False)

    return followed(work, stopped="The merge was ended. Nothing was changed.")


def _typed(args: str) -> _Typed:
    typed, names = _Typed(), list[str]()
    for word in args.split():
        if word in _SIDES:
            typed.chosen = _SIDES[word]
        elif word.startswith(_STRATEGY):
            typed.strategy = _strategy(word.removeprefix(_STRATEGY))
        elif word.startswith(_TAKE):
            typed.take = word.removeprefix(_TAKE)
        elif word.startswith(CHECK):
            typed.answer = word
        else:
            names.append(word)
    if len(names) != 1 or names[0].startswith("--"):
        raise UsageError(f"Write /merge NAME, with {', '.join(_SIDES)} or {_STRATEGY}NAME after it.")
    typed.name = names[0]
    return typed


def _strategy(name: str) -> MergeMode:
    try:
        return MergeMode(name)
    except ValueError:
        raise UsageError(f"Unknown strategy {name!r}. Choose from: {', '.join(MergeMode)}.") from None


COMMAND = Command(
    "merge",
    "Merge another line of work into the files; where both changed the same lines, you are asked.",
    _run,
    usage=f"NAME | VERSION [{' | '.join(_SIDES)}] [{_STRATEGY}best]",
    while_running=False,
)
