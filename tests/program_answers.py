"""Answers of models for programs that write programs, found by task and by what the input holds."""

import json
from collections.abc import Sequence

from ragforge.workflow.prompts import load_prompt
from ragforge.workflow.rehearsal import ScriptedAnswer
from tests.standins.gemini import GeminiStandIn, JsonText, Recorded, Text

MAILS = """\
.program mails
.description Sort the mail.
start:
    LLM_EXEC $MAIL, 'reader', 'the mail'
    DISPLAY $MAIL
"""
WHOLE = MAILS + "    DISPLAY 'whole'\n"
FAST = MAILS + "    DISPLAY 'fast'\n"
GREETING = [{"where": "", "old": "    DISPLAY 'whole'", "new": "    DISPLAY 'hello'\n    DISPLAY 'whole'"}]


def understood(intent: str, words: str) -> ScriptedAnswer:
    """What the words are taken for."""
    answer = {"intent": intent, "requirements": ["sorted by sender"], "suggestedApproach": "one call"}
    return ScriptedAnswer("intent_classification", answer, words)


CREATING = (
    understood("create_new", "sort my mail"),
    understood("modify_existing", "add a greeting"),
    understood("other", "what time is it"),
    ScriptedAnswer("generate_program", WHOLE, "comprehensive"),
    ScriptedAnswer("generate_program", MAILS, "optimized"),
    ScriptedAnswer("generate_program", FAST, "performance"),
    ScriptedAnswer("urgency-detector", {"urgency": 0.9, "why": "today"}),
    ScriptedAnswer("domain-classifier", {"domain": "mail"}),
    ScriptedAnswer("judge_candidates", {"scores": [0.9, 0.8, 0.7], "best": 1, "reasons": "It is whole."}),
    ScriptedAnswer("merge_requirements", WHOLE),
    ScriptedAnswer("diff_analysis", {"changes": [{"what": "greet", "where": "start", "why": "asked for"}]}),
    ScriptedAnswer("modify_code", {"edits": GREETING}),
    ScriptedAnswer("validate_changes", {"holds": True, "reasons": []}),
    ScriptedAnswer("compress", "They talked about mail."),
    ScriptedAnswer("explain_code", "It reads the mail and shows it."),
    ScriptedAnswer("identify_improvements", {"improvements": ["Ask for the sender first."]}),
    ScriptedAnswer("identify_mistakes", {"mistakes": []}),
)


def answer(gemini: GeminiStandIn, answers: Sequence[ScriptedAnswer] = CREATING) -> None:
    """Let the stand-in answer so, whatever is asked in which order."""

    def reply(request: Recorded) -> Text:
        system = json.dumps(request.body.get("systemInstruction", {}))
        for each in answers:
            prompt = load_prompt(each.task) or ""
            if json.dumps(prompt.splitlines()[0])[1:-1] in system and each.has in request.last_text:
                return Text(each.answer) if isinstance(each.answer, str) else JsonText(each.answer)
        return Text("I do not know.")

    gemini.unscript()
    gemini.always_structured(reply)
    gemini.script(*[reply] * 100)
