"""What a turn came to without secrets: a model may have put one together from what it was shown."""

from msgspec.structs import replace

from ragforge.domain.memories import Memory, memory_id
from ragforge.domain.redact import Redactor
from ragforge.domain.summaries import Summary
from ragforge.memory.material import Understanding


def redacted(understanding: Understanding, redactor: Redactor) -> Understanding:
    """The same without secrets: a model may have put one together from what it was shown."""
    memories = [redacted_memory(memory, redactor) for memory in understanding.memories]
    ids = {old.id: new.id for old, new in zip(understanding.memories, memories, strict=True)}
    links = [
        replace(link, from_id=ids.get(link.from_id, link.from_id), to_id=ids.get(link.to_id, link.to_id))
        for link in understanding.associations
    ]
    return Understanding(redacted_summary(understanding.summary, redactor), tuple(memories), tuple(links))


def redacted_summary(summary: Summary, redactor: Redactor) -> Summary:
    """The summary with all its texts redacted."""

    def each(texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(redactor.text(text) for text in texts)

    return replace(
        summary,
        text=redactor.text(summary.text),
        files=each(summary.files),
        findings=each(summary.findings),
        tools=each(summary.tools),
        topics=each(summary.topics),
        constraints=each(summary.constraints),
    )


def redacted_memory(memory: Memory, redactor: Redactor) -> Memory:
    """The memory with its texts redacted, and the id that its text then has."""
    content = redactor.text(memory.content)
    if content == memory.content:
        return replace(memory, topic=redactor.text(memory.topic))
    place = memory_id(content, scope=memory.scope, project_id=memory.project_id, session_id=memory.session_id)
    return replace(memory, id=place, content=content, topic=redactor.text(memory.topic))
