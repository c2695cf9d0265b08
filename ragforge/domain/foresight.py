"""The records of foresight: the state after each turn, how well it was predicted, and new predictions.

Record i+1 is made by the call that follows turn i of a path, and record 0 without a call. A record describes
the state after turn i, rates record i's predictions of turn i, and predicts turn i+1.
"""

from msgspec import Struct

from ragforge.domain.derivations import DerivedKind, DerivedOwner

TEXT_CHARS_MAX = 240
"""The length of a description or a prediction."""
MESSAGE_CHARS_MAX = 80
MESSAGES_MAX = 3
FILES_MAX = 10
FILE_CHARS_MAX = 300
NOTHING_YET = "nothing yet: the session begins"
"""The predictions of record 0. Nothing is rated against them."""


class TurnUnits(Struct, frozen=True):
    """How many lines changed in a turn: by this conversation, and in the project since the turn before it.

    alpha: bits per line, counted with them; None if the project has no tracked text file.
    """

    individual: int
    collective: int
    alpha: int | None = None


class Foresight(Struct, frozen=True):
    """A record. None means absent, never 0.

    individual is about this conversation's task, collective about the project.
    Figures are of turn i, after which the record was made, except `cd_*`, which are of the record itself.
    """

    individual_before_description: str = ""
    collective_before_description: str = ""
    """The state after turn i."""
    predictability_individual: int | None = None
    predictability_collective: int | None = None
    """0 to 10: how close record i's predictions came to these descriptions, by the model, else by rules."""
    words_individual: int | None = None
    words_collective: int | None = None
    """The same by words."""
    meaning_individual: int | None = None
    meaning_collective: int | None = None
    """The same by meaning."""
    collective_after_prediction: str = ""
    individual_after_prediction: str = ""
    """What turn i+1 is expected to do; empty if no prediction was made before it started."""
    next_messages: tuple[str, ...] = ()
    """What the user may say next, the most likely first."""
    files_foreseen: tuple[str, ...] = ()
    """Paths that turn i+1 is expected to change."""
    model_predicted: str = ""
    """The model that made the predictions; empty for rules, and if there are none."""
    model_worked: str = ""
    """The model of turn i."""
    units_individual: int | None = None
    units_collective: int | None = None
    alpha: int | None = None
    cw_individual: int | None = None
    cw_collective: int | None = None
    cd_individual: int | None = None
    cd_collective: int | None = None
    u_individual: int | None = None
    u_collective: int | None = None
    depth_individual: int | None = None
    depth_collective: int | None = None
    """Over how many turns `cw_*` is summed."""

    @property
    def predicts(self) -> bool:
        """Whether it predicts the next turn."""
        return bool(self.individual_after_prediction or self.collective_after_prediction)


KIND = DerivedKind("Foresight", Foresight, relation="MADE_AFTER")
"""Record i+1 belongs to turn i. `Derived.model` is what described and rated; empty for rules."""
FIRST = DerivedKind("Foresight", Foresight, owner=DerivedOwner.SESSION, relation="MADE_AFTER")
"""Record 0 belongs to the session."""
FIRST_RECORD = Foresight(individual_after_prediction=NOTHING_YET, collective_after_prediction=NOTHING_YET)
