"""What is put before a message of answers of a few words."""

from ragforge.memory.recall.sources import turns as past_turns
from ragforge.session.state import Session
from tests.flow.recalling import said_before
from tests.flow.test_block_current import block_for, lines
from tests.standins.gemini import GeminiStandIn


async def test_a_number_that_answers_whether_to_change_what_was_told_replaces_it(
    session: Session, gemini: GeminiStandIn
) -> None:
    await said_before(
        session,
        [
            ("why do the mist nozzles stall?", "All 14 share a pump of at most 9 bars. Shall I raise it?"),
            ("yes, 12", "Done, I adapted the alarm as well."),
            ("pourquoi la serre est froide ?", "Le thermostat coupe à 17 degrés. Je le monte ?"),
            ("oui, 21", "C'est fait."),
        ],
    )
    for message, old, answer in (
        ("How many bars has the pump of the mist nozzles?", "9 bars", "Shall I raise it? yes, 12"),
        ("À combien de degrés le thermostat de la serre coupe ?", "17 degrés", "Je le monte ? oui, 21"),
    ):
        shown = lines(await block_for(session, gemini, message), past_turns.SECTION.heading)
        assert any(answer in line for line in shown), shown
        assert all("(replaced 4 Mar: " in line for line in shown if old in line and answer not in line), shown
