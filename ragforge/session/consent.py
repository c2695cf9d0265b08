"""What may happen in a session without asking."""

from collections.abc import Iterable

from msgspec import Struct

from ragforge.domain.approvals import Mode, Rule
from ragforge.store.local.state import LocalState


class Consent(Struct):
    """The mode and the rules of a session.

    of_run, of_turn: the rules that end with the program, and with the turn. unattended: why nobody can be
    asked, for the model; empty if the user can be.
    """

    local: LocalState
    project_id: str
    mode: Mode
    kept: tuple[Rule, ...] = ()
    of_run: tuple[Rule, ...] = ()
    of_turn: tuple[Rule, ...] = ()
    unattended: str = ""
    before_plan: Mode = Mode.ASK
    """The mode before plan mode."""
    headless: bool = False
    """Each question is answered with no."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All valid rules, each once."""
        return tuple(dict.fromkeys((*self.kept, *self.of_run, *self.of_turn)))

    def grant_for_run(self, rules: Iterable[Rule] = (), *, everything: bool = False) -> None:
        """Apply these rules, or allow everything, until the program ends."""
        self.of_run = (*self.of_run, *rules)
        if everything:
            self.mode = Mode.ALL

    def change_mode(self, mode: Mode) -> None:
        """Set the mode, and remember the one before plan mode."""
        if mode is Mode.PLAN and self.mode is not Mode.PLAN:
            self.before_plan = self.mode
        self.mode = mode

    def ask_nobody(self) -> None:
        """Answer each question with no."""
        self.headless = True

    async def grant(self, rules: Iterable[Rule]) -> None:
        """Apply these rules in the project until they are revoked."""
        await self.local.trust.add_rules(self.project_id, rules)
        await self.read()

    async def take_back(self, rule: Rule) -> None:
        """Revoke the rule, whether it was saved or only given for this run."""
        self.of_run = tuple(each for each in self.of_run if each != rule)
        await self.local.trust.remove_rule(self.project_id, rule)
        await self.read()

    async def read(self) -> None:
        """Read the project's current rules, which other processes change too."""
        self.kept = tuple(await self.local.trust.rules(self.project_id))


async def consent_in(local: LocalState, project_id: str, mode: Mode) -> Consent:
    """Return the consent of a new session in the project. `all` never applies by itself."""
    consent = Consent(local, project_id, mode if mode is not Mode.ALL else Mode.ASK)
    await consent.read()
    return consent
