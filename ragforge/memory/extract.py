"""Memories without a model: what the user states, found by rules and a classifier.

It prefers precision to recall. Only the user's own sentences count, without questions, hypotheses, and what
they quote others as saying.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

from msgspec import Struct, field
from msgspec.structs import replace

from ragforge.domain.language.base import AnyOf
from ragforge.domain.memories import (
    MEMORY_CHARS_MAX,
    Association,
    AssociationKind,
    Memory,
    MemoryOrigin,
    MemoryScope,
    MemorySource,
    MemoryType,
)
from ragforge.memory.classifier import Guess, guesses, rated
from ragforge.memory.clauses import Clause, clauses_of
from ragforge.memory.constraints import (
    WISHES,
    bound,
    is_demand,
    is_experience,
    is_for_all_work,
    is_requirement,
    is_rule,
    is_standing,
)
from ragforge.memory.corrections import CorrectionKind, wishes_in
from ragforge.memory.extractive import topics_of
from ragforge.memory.likeness import content_words, share_of
from ragforge.memory.material import Material
from ragforge.memory.memories import TICK, new_memory
from ragforge.memory.prohibitions import contradict, names_in, names_object
from ragforge.memory.replacement import (
    changed_value,
    ended_by,
    field_of,
    finished_by,
    has_changed_mind,
    replaced_by,
)
from ragforge.memory.sentences import cut_words, with_dates
from ragforge.memory.short_answers import asks, needs_question, says_nothing, with_question
from ragforge.memory.statement_features import JudgedClause, features_of_statement
from ragforge.memory.statements import (
    asks_for_something,
    begins_to_ask,
    is_ironic,
    is_report,
    is_unreal,
    is_wondering,
    plain,
    said_by,
)
from ragforge.memory.terms import about, says

CONFIDENCE_MIN = 0.5
"""The minimum confidence of anything stored."""
CONFIDENCE_OF_RULES = 0.7
"""The confidence of what only a rule found."""
CONFIDENCE_OF_WISHES = 0.8
"""The confidence of a preference that by rules is for all work, or corrects just this."""
CONFIDENCE_OF_OTHER_WISHES = 0.75
"""The maximum for other preferences: product requirements and decisions read like them."""

LIKELY_MIN, RULED_LIKELY_MIN = 0.5, 0.35
"""The minimum probability that a stored statement is right; the same if it matches a rule. Found with
held-out writers."""
SURE_MIN = 0.45
"""The minimum probability of its type, by its likeliest clause, which is required as well."""
SURE_MIN_OF: Mapping[MemoryType, float] = {
    MemoryType.GOAL: 0.3,
    MemoryType.TODO: 0.3,
    MemoryType.IDENTITY: 0.4,
    MemoryType.PREFERENCE: 0.4,
    MemoryType.FACT: 0.4,
}
"""The same for types that are mistaken less often."""
POSSIBLE_MIN = 0.5
"""All this is only checked if a clause is stored with this probability."""
WORK_KEPT_MIN = 0.45
"""The same for rules about all work that demand or forbid something, which often stand among other rules."""
WORK_SURE_MIN = 0.35
"""The minimum probability of a whole sentence that by rules is a wish about all work, whatever its rating."""
FEW = 3
"""A message with more sentences that may be statements is a list, whose length does not count."""
KEPT_MIN = 0.56
"""The minimum probability of a clause that says something by itself."""
SECOND_MIN = 0.93
"""The minimum for a statement of its own beside another one in the same sentence."""
ASKED_FOR = frozenset({MemoryType.PREFERENCE, MemoryType.GOAL, MemoryType.TODO})
"""Types that may be stated as a question: "Could you always use tabs?"."""
FRAGMENT_WORDS_MAX = 4
EXCEPTION_WORDS_MAX = 10
SAID_SHARE = 0.5
"""The share of a wish's words in what the message states from which it counts as found already."""
RULE_SHARE = 0.52
"""The share of the gap to certainty that a matching rule closes."""
WISH_SHARE = 0.7
"""The probability of a wish, relative to that of a fact, from which demanding words make it a wish."""
RULE_TYPE_SHARE = 0.8
"""The weight of the rule's type relative to the classifier's."""


def _rule(type: MemoryType) -> AnyOf:
    return AnyOf(lambda language: language.memories.get(type, ()))


RULES: Mapping[MemoryType, AnyOf] = {
    type: _rule(type)
    for type in (
        MemoryType.IDENTITY,
        MemoryType.TODO,
        MemoryType.DECISION,
        MemoryType.GOAL,
        MemoryType.PREFERENCE,
        MemoryType.EVENT,
        MemoryType.OBSERVATION,
        MemoryType.FACT,
    )
}
"""In the order in which they are tried: the first that matches gives the type."""
_PREFERENCE = {type: float(type is MemoryType.PREFERENCE) for type in MemoryType}
_KEEPS = AnyOf(lambda language: language.keeps)
_ASIDE = AnyOf(lambda language: language.asides)
_CONJUNCTION = AnyOf(lambda language: language.conjunctions)
_LEADS_IN = AnyOf(lambda language: language.leads_in)
_HABITS = AnyOf(lambda language: language.habits)
_FIRST_PERSON = AnyOf(lambda language: language.first_person)
_MOMENTARY = AnyOf(lambda language: language.momentary)
_FOR_ONCE = AnyOf(lambda language: language.for_once)
_EXCEPTS = AnyOf(lambda language: language.excepts)
_ORDERS = AnyOf(lambda language: (*language.cues.get("order", ()), *language.cues.get("set", ())))


def type_of(words: str) -> MemoryType | None:
    """Return the type of memory that the plain sentence makes; None if it makes none."""
    if is_report(words) or is_wondering(words):
        return None
    for type, rule in RULES.items():
        if rule.search(words):
            return type
    return MemoryType.PREFERENCE if is_standing(words) else None


class UserStatement(Struct, frozen=True):
    """A statement of the user: its words, and the type of memory."""

    text: str
    words: str
    type: MemoryType
    sentence: int
    """The position of its last sentence in the message, from 0."""
    sure: float = CONFIDENCE_OF_RULES
    """The probability that it is to be stored, and as this type."""
    ending: str = ""
    """The comma after it, if the sentence continues."""
    whole: str = ""
    """The sentence that it is a part of."""
    certain: bool = False
    """Whether it is a wish for all work, whatever its words are."""
    features: Mapping[str, float] = field(default_factory=dict[str, float])
    """The features that show how likely it is right as a whole."""
    given: bool = False
    """Whether the user asks to remember it."""


def statements_in(user: str, before: str = "") -> list[UserStatement]:
    """Return what the user states in the message, in order.

    before: what the assistant said just before.
    """
    found = [each for each in possible_statements(user, before) if _is_likely(each)]
    if not _answers(user, before):
        before = ""
    answers = asks(before) or any(map(str.isdigit, found[0].text if found else ""))
    if len(found) == 1 and says_nothing(found[0].text, before):
        return []
    if before and len(found) == 1 and answers and needs_question(found[0].text, before):
        text = with_question(found[0].text, before)
        return [replace(found[0], text=text, words=plain(text))]
    return list(filter(_says_something, found))


def possible_statements(
    user: str,
    before: str = "",
    judge: Callable[[Sequence[Clause], str], Sequence[Guess]] = guesses,
) -> list[UserStatement]:
    """Return possible statements, in order, each with the features that show how likely it is one.

    judge: returns the classifier's results for the clauses.
    """
    if not _answers(user, before):
        before = ""
    clauses = _without_request(clauses_of(user, parted=True))
    judged = [_judged(clause, guess) for clause, guess in zip(clauses, judge(clauses, before), strict=True)]
    sentences = [list(each) for _, each in groupby(judged, key=lambda one: one.clause.sentence)]
    likely = sum(max(one.kept for one in each) >= POSSIBLE_MIN for each in sentences)
    message_words = sum(len(clause.words.split()) for clause in clauses) if likely <= FEW else 0
    found: list[UserStatement] = []
    for each in sentences:
        sentence = _without_wish(_by_the_whole(_without_opening(_without_doubt(each))))
        if _is_no_statement(sentence) or _asks_how_it_is(sentence):
            continue
        if found and _is_exception(sentence, found[-1]):
            found[-1] = _with_exception(found[-1], sentence)
            continue
        if _forbids_by_name(sentence):
            sure = CONFIDENCE_OF_WISHES
            sentence = [JudgedClause(one.clause, sure, _PREFERENCE, ruled=True) for one in sentence]
        elif max(one.kept for one in sentence) < (
            WORK_KEPT_MIN if _is_rule_of_work(sentence) else POSSIBLE_MIN
        ):
            continue
        # Statements about one thing stay together with their reason; two that are split are both certain.
        if len({one.type for one in sentence if one.kept >= SECOND_MIN}) < 2:
            for part in _without_contradiction(sentence):
                _add(found, part, sentence, message_words)
            continue
        for type, run in groupby(sentence, key=lambda one: one.type if one.kept >= SECOND_MIN else None):
            if type is not None:
                _add(
                    found,
                    list(run),
                    sentence,
                    message_words,
                    whole=" ".join(one.clause.text for one in sentence),
                )
    return [each for each in found if not _is_for_once(each)]


def _answers(user: str, before: str) -> bool:
    """Whether what the assistant said counts: a message that answers nothing and gives no other value has
    nothing to do with it."""
    return asks(before) or any(map(str.isdigit, user))


def _is_likely(statement: UserStatement) -> bool:
    """Whether it is stored: certain by its likeliest clause, and likely right as a whole."""
    features = statement.features
    ruled = bool(features["ruled"])
    if statement.given or (statement.whole and ruled):  # a part that matches a rule was certain to be one
        return True
    if features["of work"] and features["whole"]:
        return statement.sure >= WORK_SURE_MIN
    is_sure = statement.sure >= SURE_MIN_OF.get(statement.type, SURE_MIN)
    least = RULED_LIKELY_MIN if ruled else LIKELY_MIN
    return is_sure and rated(features) >= least


def _is_rule_of_work(sentence: Sequence[JudgedClause]) -> bool:
    """Whether it is likely a wish, demands or forbids something, and by rules is about all work."""
    text = " ".join(one.clause.text for one in sentence)
    is_wish = _likeliest(sentence)[0] is MemoryType.PREFERENCE
    return is_wish and is_rule(plain(text)) and is_for_all_work(text)


def _is_no_statement(sentence: Sequence[JudgedClause]) -> bool:
    """Whether it quotes somebody after a colon, supposes what is not so, or is ironic as a whole."""
    first = sentence[0].clause.words
    words = " ".join(one.clause.words for one in sentence)
    return (is_report(first) and first.endswith(":")) or is_unreal(words) or is_ironic(words)


def _asks_how_it_is(sentence: Sequence[JudgedClause]) -> bool:
    """Whether it is a question, even without its mark, and no wish: "are we on Python 3.12"."""
    words = sentence[0].clause.words
    if not begins_to_ask(words):
        return False
    return not asks_for_something(words) or _likeliest(sentence)[0] not in ASKED_FOR


def _is_exception(sentence: Sequence[JudgedClause], last: UserStatement) -> bool:
    """Whether it only names an exception to the statement of the sentence before: "But not in tests."."""
    first, words = sentence[0].clause, " ".join(one.clause.words for one in sentence)
    follows = first.sentence == last.sentence + 1 and not first.ends
    is_short = len(words.split()) <= EXCEPTION_WORDS_MAX and not is_standing(words)
    return follows and is_short and _EXCEPTS.match(words) is not None


def _with_exception(statement: UserStatement, sentence: Sequence[JudgedClause]) -> UserStatement:
    rest = " ".join(one.clause.text for one in sentence)
    text = f"{statement.text.rstrip('.!')}, {rest[:1].lower()}{rest[1:]}"
    return replace(statement, text=text, words=plain(text), sentence=sentence[0].clause.sentence)


def _says_something(statement: UserStatement) -> bool:
    """Whether it names anything; "never!" alone is no wish."""
    names = bool(about(statement.words)) or any(map(str.isdigit, statement.words))
    return names or statement.type is not MemoryType.PREFERENCE


def _without_contradiction(sentence: Sequence[JudgedClause]) -> list[list[JudgedClause]]:
    """Return the sentence, in parts if it demands what it forbids: "always use it, never use it"."""
    parts: list[list[JudgedClause]] = [[]]
    for one in sentence:
        if contradict(" ".join(each.clause.text for each in parts[-1]), one.clause.text):
            parts.append([])
        parts[-1].append(one)
    return parts


def _forbids_by_name(sentence: Sequence[JudgedClause]) -> bool:
    """Whether it forbids a path, a program or a code word. This is seldom said about something else, and
    would not be stored with the right type by its words, or because the name is in another clause than the
    "never"."""
    words = " ".join(one.clause.words for one in sentence)
    if sentence[0].clause.ends or is_wondering(words) or is_report(words):
        return False
    if not names_object(" ".join(one.clause.text for one in sentence)):
        return False
    if is_rule(words):
        type, sure = _likeliest(sentence)
        return sure < KEPT_MIN or type not in WISHES or _is_split(sentence)
    return _is_split(sentence) and any(one.type is MemoryType.PREFERENCE for one in sentence)


def _is_split(sentence: Sequence[JudgedClause]) -> bool:
    """Whether it would be stored in parts, none of which forbids anything by name."""
    types = {one.type for one in sentence if one.kept >= SECOND_MIN}
    return len(types) > 1 and not any(names_object(one.clause.text) for one in sentence)


def _without_request(clauses: Sequence[Clause]) -> list[Clause]:
    """Return the clauses without the words that ask to remember something; these set `asked`."""
    found: list[Clause] = []
    for _, each in groupby(clauses, key=lambda clause: clause.sentence):
        first, *others = each
        request = _KEEPS.match(first.words)
        if request is None:
            found += [first, *others]
            continue
        text = first.text[request.end() :]
        rest = [replace(first, text=text, words=plain(text)), *others]
        found += [replace(clause, asked=True) for clause in rest if clause.text]
    return found


def _is_for_once(statement: UserStatement) -> bool:
    """Whether it is a wish or an order for this answer or for a while, and not a standing one."""
    words = statement.words
    is_order = statement.type is MemoryType.DECISION and _ORDERS.search(words) is not None
    is_wish = statement.type is MemoryType.PREFERENCE or is_order
    return is_wish and not is_standing(words) and _FOR_ONCE.search(words) is not None


def _likeliest(run: Sequence[JudgedClause]) -> tuple[MemoryType, float]:
    """Return the most likely type of the clauses together, and its probability."""
    sums = {type: sum(one.kept * one.types[type] for one in run) for type in MemoryType}
    type = max(sums, key=lambda type: sums[type])
    wish = MemoryType.PREFERENCE
    if type is MemoryType.FACT and sums[wish] >= WISH_SHARE * sums[type]:
        text = " ".join(one.clause.text for one in run)
        if is_demand(plain(text)) and not is_requirement(text):
            type = wish  # "each tariff must be signed": what must be so is seldom a fact
    return type, max(one.kept * one.types[type] for one in run)


def _add(
    found: list[UserStatement],
    run: Sequence[JudgedClause],
    sentence: Sequence[JudgedClause],
    message_words: int,
    whole: str = "",
) -> None:
    """Append the statement of these clauses of the sentence; a fragment continues the one before it."""
    type, sure = _likeliest(run)
    written = " ".join(one.clause.text for one in run).lstrip(" ,;")
    text = written.rstrip(" ,;")
    if whole and (joined := _CONJUNCTION.search(text)):  # the conjunction to the part before is not its own
        text = text[joined.end() :]
    if aside := _ASIDE.search(text.replace("’", "'")):
        text = text[aside.end() :]
    ending = written[len(text) :].strip()
    if given := any(one.clause.asked for one in run):
        sure = max(sure, CONFIDENCE_OF_RULES)
    features: Mapping[str, float] = {}
    last = found[-1] if found else None
    is_fragment = len(text.split()) <= FRAGMENT_WORDS_MAX
    if (
        last
        and is_fragment
        and run[0].clause.sentence - last.sentence <= 1
        and not contradict(last.text, text)
    ):
        text, type, sure = f"{last.text}{last.ending} {text}", last.type, last.sure
        features, given = last.features, last.given
        found.pop()
    elif opening := _LEADS_IN.match(text):
        text = text[opening.end() :]
    if not features:
        is_of_work = type is MemoryType.PREFERENCE and is_for_all_work(text)
        features = features_of_statement(
            run, sentence, type=type, is_of_work=is_of_work, message_words=message_words
        )
    sentence_at = run[-1].clause.sentence
    found.append(
        UserStatement(
            text, plain(text), type, sentence_at, sure, ending, whole, features=features, given=given
        )
    )


def _judged(clause: Clause, guess: Guess) -> JudgedClause:
    if is_wondering(clause.words) or is_report(clause.words) or _is_momentary(clause):
        return JudgedClause(clause, 0.0, guess.types)
    judged = JudgedClause(clause, guess.kept, guess.types)
    if clause.ends:
        return judged
    type = type_of(clause.words)
    if clause.asked:
        judged = JudgedClause(clause, 1.0, guess.types)
        is_habit = type in (None, MemoryType.FACT) and _HABITS.match(clause.words)
        type = MemoryType.DECISION if is_habit else type
    return _ruled(judged, type)


def _is_momentary(clause: Clause) -> bool:
    """Whether it describes a current state or a single event, and is not to be remembered."""
    return not (clause.asked or is_standing(clause.words)) and _MOMENTARY.search(clause.words) is not None


def _without_doubt(sentence: list[JudgedClause]) -> list[JudgedClause]:
    """Return the clauses without doubts at the end: "I prefer the small one, but I'm not sure"."""
    count = next((at for at in range(len(sentence), 1, -1) if not _wonders(sentence[at - 1])), 1)
    return sentence[:count]


def _without_opening(sentence: list[JudgedClause]) -> list[JudgedClause]:
    """Return the clauses without those before the first that states anything: "By the way, we use uv"."""
    count = next((at for at, one in enumerate(sentence) if not _only_opens(one)), 0)
    return sentence[count:]


def _only_opens(judged: JudgedClause) -> bool:
    words = judged.clause.words
    says = bool(about(words)) or any(map(str.isdigit, words)) or is_standing(words) or judged.ruled
    return judged.kept < KEPT_MIN and not says


def _wonders(judged: JudgedClause) -> bool:
    return is_wondering(judged.clause.words)


def _without_wish(sentence: list[JudgedClause]) -> list[JudgedClause]:
    """Return the same if all of it says what has never been so: a wish in it becomes a fact."""
    if not all(is_experience(one.clause.words) for one in sentence):
        return sentence
    wish, fact = MemoryType.PREFERENCE, MemoryType.FACT
    return [
        replace(one, types={**one.types, wish: 0.0, fact: one.types[fact] + one.types[wish]})
        for one in sentence
    ]


def _by_the_whole(sentence: list[JudgedClause]) -> list[JudgedClause]:
    """Return the clauses of a sentence; if none matches a rule, the likeliest has the rule that all together
    match."""
    whole = " ".join(one.clause.words for one in sentence)
    if len(sentence) < 2 or sentence[0].clause.ends or any(one.ruled for one in sentence):
        return sentence
    best = max(range(len(sentence)), key=lambda at: sentence[at].kept)
    return [_ruled(one, type_of(whole)) if at == best else one for at, one in enumerate(sentence)]


def _ruled(judged: JudgedClause, type: MemoryType | None) -> JudgedClause:
    """Return the same with the rule that it matches."""
    if type is None:
        return judged
    types = {
        each: (1 - RULE_TYPE_SHARE) * share + RULE_TYPE_SHARE * (each is type)
        for each, share in judged.types.items()
    }
    return JudgedClause(judged.clause, judged.kept + RULE_SHARE * (1 - judged.kept), types, ruled=True)


def memories_in(material: Material) -> tuple[tuple[Memory, ...], tuple[Association, ...]]:
    """Return what the user states in the turn, and which of the near memories it replaces."""
    found = _Found(material)
    said = said_by(material.user)
    changed = {words for _, words in said if found.change(words)}
    changed_mind = any(has_changed_mind(words) for _, words in said)
    stated = statements_in(material.user, material.before)
    for statement in (*stated, *_corrections(material, stated)):
        if not any(statement.words in words for words in changed):
            found.state(statement, changed_mind=changed_mind)
    for sentence, words in said:
        found.end(sentence, words)
    return tuple(found.memories.values()), tuple(found.links.values())


def _corrections(material: Material, stated: Sequence[UserStatement]) -> Iterator[UserStatement]:
    """Yield what the user states in the reasons for declining calls, and wants according to corrections.

    stated: what the message states, which is not yielded again.
    """
    after_undo = any(each.kind is CorrectionKind.UNDONE for each in material.corrections)
    reasons = [each.text for each in material.corrections if each.kind is CorrectionKind.DENIED]
    for text, corrects in ((material.user, after_undo), *((reason, True) for reason in reasons)):
        if text in reasons:
            stated = statements_in(text)
            yield from stated
        for wish in wishes_in(text, corrects=corrects):
            one = UserStatement(
                wish, plain(wish), MemoryType.PREFERENCE, 0, CONFIDENCE_OF_WISHES, certain=True
            )
            known = any(share_of(wish, content_words(each.text)) >= SAID_SHARE for each in stated)
            if not known and not _is_for_once(one):
                yield one


class _Found(Struct):
    """The result for a turn, collected step by step."""

    material: Material
    memories: dict[str, Memory] = field(default_factory=dict[str, Memory])
    links: dict[tuple[str, str], Association] = field(default_factory=dict[tuple[str, str], Association])

    def change(self, words: str) -> bool:
        """Add the memory whose value the sentence changes, with the new one; return False if none."""
        if (change := changed_value(words, self.material.near)) is None:
            return False
        old, text = change
        self._keep(_memory(self.material, text, old.type), old)
        return True

    def state(self, statement: UserStatement, *, changed_mind: bool) -> None:
        """Add the statement, in place of what it replaces."""
        sure = statement.sure
        if statement.type is MemoryType.PREFERENCE:
            is_certain = statement.certain or is_for_all_work(statement.text)
            sure = CONFIDENCE_OF_WISHES if is_certain else min(sure, CONFIDENCE_OF_OTHER_WISHES)
        memory = _memory(self.material, statement.text, statement.type, sure=sure)
        if statement.whole:
            said = f"{memory.content} {statement.whole}"
            memory = bound(memory, named=names_in(statement.whole), said=said)
        if memory.id not in self.memories:
            # Of two that contradict each other, the last one said is the newer.
            later = sum(contradict(each.content, memory.content) for each in self.memories.values())
            memory = replace(memory, created_at=memory.created_at + later * TICK)
            known = (*self.material.near, *self.memories.values())
            self._keep(memory, replaced_by(memory, statement.words, known, changed_mind=changed_mind))

    def end(self, sentence: str, words: str) -> None:
        """Add that something is done or no longer wanted, if the sentence says so of a memory."""
        if (done := finished_by(words, self.material.near)) is not None:
            event = _memory(self.material, sentence, MemoryType.EVENT)
            known = self.memories.get(event.id)
            self._keep(known if known and known.type is MemoryType.DECISION else event, done)
        if (stopped := ended_by(words, self.material.near)) is not None:
            said = (each for each in self.memories.values() if says(each.content, sentence))
            self._keep(next(said, _memory(self.material, sentence, MemoryType.EVENT)), stopped)

    def _keep(self, memory: Memory, instead_of: Memory | None) -> None:
        self.memories[memory.id] = memory
        if instead_of is not None and instead_of.id != memory.id:
            turn = self.material.turn
            self.links[memory.id, instead_of.id] = Association(
                AssociationKind.UPDATES, memory.id, instead_of.id, turn.started_at, turn.id
            )


def _memory(
    material: Material, sentence: str, type: MemoryType, *, sure: float = CONFIDENCE_OF_RULES
) -> Memory:
    turn = material.turn
    # Who somebody is applies everywhere; everything else was said about this project.
    personal = type is MemoryType.IDENTITY and _FIRST_PERSON.search(sentence)
    topics = topics_of(sentence)
    return new_memory(
        cut_words(with_dates(sentence, turn.started_at), MEMORY_CHARS_MAX),
        type,
        project_id=material.project_id,
        at=turn.started_at,
        source=MemorySource.BACKGROUND,
        session_id=turn.session_id,
        scope=MemoryScope.GLOBAL if personal else MemoryScope.PROJECT,
        confidence=max(CONFIDENCE_MIN, round(sure, 2)),
        topic=field_of(sentence) or (topics[0] if topics else ""),
        turns=(turn.id,),
        person=material.speaker,
        origin=MemoryOrigin.SAID,
    )
