"""When the model of background work is left alone, and until when."""

from ragforge.domain.errors import AnswerUnusable, ModelUnreachable
from ragforge.providers.registry import ModelName
from ragforge.session.background.model import UNUSABLE_MAX, Thinker
from tests.flow.beside import QUICK

FIRST, SECOND = ModelName("gemini", "one"), ModelName("gemini", "two")


def test_a_model_inherits_no_failures_of_another_one() -> None:
    thinker = Thinker(QUICK)
    for _ in range(UNUSABLE_MAX - 1):
        thinker.failed(FIRST, AnswerUnusable("garbage"))
    thinker.failed(SECOND, AnswerUnusable("garbage"))
    assert not thinker.resumes_in_s
    thinker.worked(SECOND)
    thinker.failed(FIRST, AnswerUnusable("garbage"))
    assert thinker.resumes_in_s, "what the second model answered says nothing of the first"


def test_a_model_that_answers_ends_its_own_pause_and_not_that_of_another_one() -> None:
    thinker = Thinker(QUICK)
    thinker.failed(FIRST, ModelUnreachable("down"))
    thinker.worked(SECOND)
    assert thinker.resumes_in_s
    thinker.worked(FIRST)
    assert not thinker.resumes_in_s
