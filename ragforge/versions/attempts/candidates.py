"""Candidate results of a merge, what is known about each, and which one is taken without asking."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ragforge.domain.errors import UsageError
from ragforge.domain.ids import short_id
from ragforge.files.diffs import unified
from ragforge.versions.attempts.check_run import Checked
from ragforge.versions.attempts.model_merge import Proposal, Resolution
from ragforge.versions.attempts.verdict import Validation
from ragforge.versions.merge.three_way import MergeConflict


class Candidate(Struct, frozen=True):
    """A possible result.

    checked: None if no check was run. validation: by the second model; None if none was asked.
    """

    proposal: Proposal
    checked: Checked | None = None
    validation: Validation | None = None

    @property
    def name(self) -> str:
        """The strategy that made it."""
        return str(self.proposal.strategy)

    @property
    def contents(self) -> Mapping[MergeConflict, bytes]:
        """The resolutions, by the conflict as it was asked about."""
        return {each.question.conflict: each.content or b"" for each in self.resolved}

    @property
    def resolved(self) -> Sequence[Resolution]:
        """The resolutions that can be used."""
        return [each for each in self.proposal.resolutions if each.content is not None]

    @property
    def has_passed(self) -> bool:
        """Whether the check was run and passed."""
        return self.checked is not None and self.checked.passed

    @property
    def objections(self) -> Sequence[str]:
        """The second model's objections."""
        return self.validation.objections if self.validation else ()

    @property
    def doubts(self) -> Sequence[str]:
        """All objections."""
        failed = [self.checked.words] if self.checked and not self.checked.passed else []
        return [*failed, *self.objections]

    @property
    def diff(self) -> str:
        """Return its changes to the current files as a unified diff with its name."""
        return "".join(
            unified(
                each.question.texts.ours.text,
                each.question.texts.text_of(each.content or b""),
                f"{each.question.texts.path} ({self.name})",
            )
            for each in self.resolved
        )


class Candidates(Struct, frozen=True):
    """The candidates of a merge. ours, theirs: the versions. notes: how they were made."""

    ours: str = ""
    theirs: str = ""
    each: tuple[Candidate, ...] = ()
    notes: tuple[str, ...] = ()

    def decided(self) -> Candidate | None:
        """The one to take if it has no objections and no rival; None if the user has to choose."""
        passed = [each for each in self.each if each.has_passed]
        sure = passed if len(passed) == 1 else list(self.each)
        return sure[0] if len(sure) == 1 and not sure[0].doubts else None

    def nearest(self) -> Candidate | None:
        """The one to take without asking: the only one that passed the check, else the nearer to both."""
        passed = [each for each in self.each if each.has_passed]
        among = passed if len(passed) == 1 else self.each
        return min(among, key=lambda each: each.proposal.lines_changed, default=None)

    def named(self, name: str) -> Candidate:
        """Return the one of this name. Raises UsageError."""
        for each in self.each:
            if each.name == name:
                return each
        raise UsageError(f"The merge has no result {name!r}. Available: {self.names}.")

    @property
    def names(self) -> str:
        """Return what there is to choose from."""
        return ", ".join(each.name for each in self.each)

    def why(self, taken: Candidate) -> str:
        """Return why that one was taken without asking, in a sentence; empty if it was the only one."""
        if len(self.each) < 2:
            return ""
        passed = sum(each.has_passed for each in self.each)
        if passed == 1 and taken.has_passed:
            return f"{taken.name} was taken: it alone passed the check."
        checked = "both passed the check, and" if passed else "neither passed the check;"
        reason = f"{checked} " if taken.checked else ""
        return f"{taken.name} was taken: {reason}it stays nearer to both sides."


class MergeUndecided(UsageError):
    """Nothing was merged yet: the user has to choose a result."""

    def __init__(self, candidates: Candidates) -> None:
        super().__init__(
            f"The merge of {short_id(candidates.theirs)} has results to choose from: {candidates.names}. "
            "Nothing was changed yet."
        )
        self.candidates = candidates
