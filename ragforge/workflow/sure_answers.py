"""Answers without a model: what a request plainly says, by rules."""

import re

from ragforge.workflow.operation import Fields, Value, shown

_INTENTS = {
    "undo": r"(please )?(undo( (that|this|it|the last (change|version)))?|take (that|it) back|go back)",
    "redo": r"(please )?redo( (that|this|it))?",
    "show_alternatives": r"(please )?((show|list) (me )?)?(the )?(other )?alternatives",
    "explain": r"(please )?explain( (it|this|that|the (program|code)))?|what does (it|this|the program) do",
}
_URGENT = re.compile(r"\b(urgent|asap|immediately|right now|at once|emergency|broken|outage|urgence)\b", re.I)
_DOMAINS = {
    "testing": r"\btests?\b|\bcoverage\b",
    "deployment": r"\bdeploy|\brelease\b|\bdocker\b",
    "documentation": r"\bdocs?\b|\bdocumentation\b|\bchangelog\b",
    "review": r"\breview\b|\bdiff\b",
    "e-mail": r"\be-?mails?\b",
}


def intent_of(prompt: str) -> Fields | None:
    """Return the intent of a prompt that says nothing else; None if a model must be asked."""
    text = " ".join(prompt.lower().split()).rstrip(" .!?")
    for intent, pattern in _INTENTS.items():
        if re.fullmatch(pattern, text):
            return understanding(intent)
    return None


def understanding(intent: str) -> Fields:
    """Return the classification's answer for a known intent."""
    return {"intent": intent, "requirements": [], "suggestedApproach": ""}


def detected(role: str, value: Value) -> Fields | None:
    """Return a detector's answer by rules, if no model can be asked."""
    text = shown(value)
    if role == "urgency-detector":
        is_urgent = bool(_URGENT.search(text))
        return {"urgency": 0.9 if is_urgent else 0.2, "why": "by the words of the request"}
    if role == "domain-classifier":
        found = (name for name, pattern in _DOMAINS.items() if re.search(pattern, text, re.I))
        return {"domain": next(found, "general")}
    return None
