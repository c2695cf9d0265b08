"""What a language defines: its words, and patterns for what is said in it.

People mix languages within a sentence, so all of them apply at once: a pattern of any of them may match.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from unicodedata import normalize

from msgspec import Struct, field

from ragforge.domain.discovery import discover
from ragforge.domain.memories import MemoryType

Patterns = tuple[str, ...]
"""Regular expressions, case-insensitive, over sentences with straight apostrophes and without what is quoted
in them. A name in angle brackets is a slot: one of `FRAMES`, or what the languages define for it in
`Language.slots`, all of them together."""


class Language(Struct, frozen=True, kw_only=True):
    """One language. What it leaves out is not recognised in it."""

    stop_words: str
    """Words that say nothing about what is looked for, except nouns worth finding in another language:
    car, son, or, main."""
    common_words: str = ""
    """Words that everybody uses with a coding assistant: they say nothing about a turn's subject."""
    courtesies: str = ""
    """Greetings, thanks and assent: a message of nothing else asks for nothing."""
    decision_words: str = ""
    """Words that say that something was decided, not what."""
    spellings: str = ""
    """Words that people in a hurry type without their apostrophes and accents. The result is no other word of
    any language."""
    abbreviations: str = ""
    """A pattern of words whose full stop does not end a sentence."""
    days: Mapping[str, int] = field(default_factory=dict[str, int])
    """Words for days, as the number of days from the one on which they are said."""
    weekdays: str = ""
    """Their names, starting with Monday."""
    coming_day: Patterns = ()
    """The next day of that name, with the slot `<weekday>`."""
    past_day: Patterns = ()
    months: str = ""
    """Their names, starting with January."""
    until: Patterns = ()
    """A statement is valid up to and including a day: the slot `<date>`, whose words are the first group."""
    since: Patterns = ()
    """A statement is valid from a day on: the slot `<date>`, whose words are the first group."""
    due: Patterns = ()
    """Something is to be done by a day, or on it: the slot `<date>`, whose words are the first group."""
    away: Mapping[str, Patterns] = field(default_factory=dict[str, Patterns])
    """Times from now on by unit, `day`, `week` or `month`; how many is the first group, none for one."""
    counts: Mapping[str, int] = field(default_factory=dict[str, int])
    """Small numbers in words."""
    small_numbers: str = ""
    """Numbers that are one word, from two on."""
    tens: str = ""
    """Twenty, thirty and so on, if they are one word."""
    large_numbers: Mapping[str, int] = field(default_factory=dict[str, int])
    """The hundred and the thousand, which multiply what is before them, and other forms of numbers."""
    ones: str = ""
    """One, which alone is mostly an article."""
    joins_numbers: str = ""
    """The word between the parts of a number, as in "a hundred and ten"."""
    amounts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Amounts in words, as patterns, and the same with digits: "half an hour", "30 minutes"."""
    begins_amounts: str = ""
    """The words with which these begin."""
    halves: str = ""
    """Follows a number and adds a half, as a pattern."""
    slots: Mapping[str, str] = field(default_factory=dict[str, str])

    asks: Patterns = ()
    """The start of a question."""
    asks_for: Patterns = ()
    """The start of a question that asks the assistant to do something."""
    asks_to_add: Patterns = ()
    """Asks for something that does not exist yet."""
    asks_behind: Patterns = ()
    """Where a question begins after a statement in its sentence; the match is what is between the two."""
    asks_behind_marked: Patterns = ()
    """The same if only a question mark at the end shows that it is one."""
    of_oneself: Patterns = ()
    """The start of a sentence about the user."""
    resumes: Patterns = ()
    """Asks for what was still open when the last session ended."""
    goes_ahead: Patterns = ()
    """A whole message that says to carry out the plan."""
    keeps: Patterns = ()
    """The start of a sentence that asks to remember what follows."""
    habits: Patterns = ()
    """The start of a sentence about what we do; if it is to be remembered, it is a decision."""
    forgets: Patterns = ()
    """A whole message that asks to forget what was just said or kept, without saying what."""
    forgets_that: Patterns = ()
    """A whole message that asks to forget the statement in the first group: the slot `<clause_only>`."""
    either: Patterns = ()
    """What is between two things to choose from."""
    ordinals: Patterns = ()
    """Words that choose the first of what was offered, the second and so on."""
    breaks: Patterns = ()
    """Where another statement may begin within a sentence."""
    asides: Patterns = ()
    """The start of a remark made in passing."""
    conjunctions: Patterns = ()
    """Joins a statement to the one before it, at its beginning."""
    leads_in: Patterns = ()
    """The start of a statement that says nothing itself: a greeting, assent, and what joins it to another."""
    cues: Mapping[str, Patterns] = field(default_factory=dict[str, Patterns])
    """Features of a clause, by names that the languages share, for the classifier."""
    wonders: Patterns = ()
    """Hypotheses and examples."""
    not_so: Patterns = ()
    """Before a statement of what is so, makes it none: a condition, a negation, other people, or a report."""
    on_trial: Patterns = ()
    """Something was done on one machine only, or to try it."""
    unreal: Patterns = ()
    """The start of a sentence about what is not so: all that follows is hypothetical."""
    assents: Patterns = ()
    """Asks at the end of a demand only for a nod: "leave vendor/ alone, ok?"."""
    reports: Patterns = ()
    """What somebody else says, or what was so before."""
    works: Patterns = ()
    """What a thing does to another, described: "is limited by a queue". Not what somebody wants of it."""
    ironic: Patterns = ()
    """A sentence that begins by agreeing and ends in praise: it means the opposite."""
    memories: Mapping[MemoryType, Patterns] = field(default_factory=dict[MemoryType, Patterns])
    """What makes a sentence a memory of this type."""
    first_person: Patterns = ()
    standing: Patterns = ()
    """Demands that apply beyond the turn: rules, and as such preferences of the user."""
    experiences: Patterns = ()
    """What has always or never been so until now, which demands nothing: `I've never used Rust`."""
    own_habits: Patterns = ()
    """What the user always or never does or wants for themselves, a taste: `I always read the diff first`."""
    demands: Patterns = ()
    """Demands and prohibitions for now."""
    momentary: Patterns = ()
    """What is so for a moment or happened once: nothing of it is to be stored."""
    excepts: Patterns = ()
    """The start of a sentence that only says where the one before does not apply."""
    at_times: Patterns = ()
    """Says that something is so only at certain times: it is no other value for the rest of the time."""
    for_once: Patterns = ()
    """A wish for one answer, or for a while."""
    corrects: Patterns = ()
    """The start of a sentence that says that something was done wrongly: what is wanted comes after it."""
    faults: Patterns = ()
    """Says what is wrong with what was done, or why it cannot stay."""
    chooses: Patterns = ()
    """What is to be used comes right after."""
    who_since: Patterns = ()
    """Who does something from now on: not a rule, except for its words."""
    requires: Patterns = ()
    """Says what something must do or be; the first group is what."""
    rule_subjects: str = ""
    """Words for what is made or changed in any turn, and for all of something: what must be so of these is a
    rule of working, not a requirement of the product."""
    kinds_of_work: str = ""
    """Words for what work is about or produces, by which a user says what a wish applies to."""
    of_working: Patterns = ()
    """Names what is made or done in any turn: answers, code, tests, commits, dependencies."""
    of_talking: Patterns = ()
    """Names what the assistant says to the user: answers, explanations."""
    releases: Patterns = ()
    """Says that something need not be done."""
    addresses: Patterns = ()
    """Says what the assistant may do, or must ask or tell first."""
    prefers: Patterns = ()
    """Says what the user permanently likes or hates."""
    in_general: Patterns = ()
    """Says that it is so each time, or everywhere, or of all."""
    orders_always: Patterns = ()
    """Orders something for always, or forbids it forever."""
    all_done: Patterns = ()
    """All of a list of what is to do is done."""
    leaves_open: Patterns = ()
    """The first group is what is still to be done."""
    to_do: Patterns = ()
    """Words for what is to be done, anywhere in a sentence."""
    makes: Patterns = ()
    """Words of an order to make something, besides what is to be made: "do ... now"."""
    done: Patterns = ()
    """A todo is done."""
    binds: Patterns = ()
    """Words in what is mandatory, anywhere in it."""
    obliges: Patterns = ()
    """In what is known to be a wish, says that it is mandatory; elsewhere the same words only describe."""
    of_the_user: Patterns = ()
    """Who the user is or what they want, about them or asked for them: <person>, <wills>."""
    condition: Patterns = ()
    """The first group is the only time or place where a rule applies."""
    softens: Patterns = ()
    """A wish rather than a demand."""
    manners: Patterns = ()
    """About how the assistant writes and looks: what forbids this without a binding word is a wish."""
    forbids: Patterns = ()
    """What is not to be done comes right after; the first group is the verb if that comes before."""
    bans: Patterns = ()
    """What is not to be used comes right after."""
    forbidden: Patterns = ()
    """The first group is what is forbidden."""
    uncommitted: Patterns = ()
    """The first group must not be committed."""
    confines: Patterns = ()
    """What comes right after are the only paths that may be changed."""
    over: Patterns = ()
    """What comes right after is not to be used, because something else is."""
    deeds: Mapping[str, str] = field(default_factory=dict[str, str])
    """Verbs by what they do, `change`, `delete` or `use`, as a pattern each."""
    acts: Mapping[str, str] = field(default_factory=dict[str, str])
    """The command of an action, by the action's name."""
    tabs: Patterns = ()
    """Tabs at the beginning of lines."""
    places: str = ""
    """Words for the whole of a machine or a project."""
    product: str = ""
    """Words for what is shipped: no tests, scripts or documentation."""
    object_ends: str = ""
    """Words that end the name of a thing."""
    quantifiers: str = ""
    """Words that say how much of something a sentence applies to."""
    determiners: str = ""
    """Words before or after the name of a thing that are not part of it."""
    within: str = ""
    """What comes before the place where something applies, as a pattern."""
    outside: str = ""
    """What comes before the place where it does not apply."""
    dependencies: str = ""
    """Words for a dependency."""
    instead: Patterns = ()
    """One thing replaces another."""
    changed_mind: Patterns = ()
    goes: Patterns = ()
    """What is no longer used is the first group: the slot `<thing>`."""
    gone: Patterns = ()
    """The first group is what is given up or removed."""
    removed: Patterns = ()
    """Says that something no longer exists; the first group is what."""
    built_on: Patterns = ()
    """Says what a name of code is built on: the first group is the name, the second what follows."""
    picks: Patterns = ()
    """Picks one thing out of several; the first group is which."""
    changes: Patterns = ()
    """Words that say that something is different from before."""
    moves_on: Patterns = ()
    """Words used if something changes, and elsewhere too."""
    eases: Patterns = ()
    """Words by which people allow something or ask for less of it, and elsewhere too."""
    remains: Patterns = ()
    """Says that something stays as it is."""
    returns: Patterns = ()
    """The first group is what is valid again."""
    only_for: Patterns = ()
    """Something returns only in part."""
    becomes: Patterns = ()
    """The first group is a value that becomes another one."""
    asks_to_change: Patterns = ()
    """A question whether the value that was just stated should be another one."""
    switches: Patterns = ()
    """The start of an order to use something other than what was just mentioned."""
    sets: Patterns = ()
    """The first group is what is set to the number that comes next."""
    bounds: Patterns = ()
    """A number is only a minimum or a maximum."""
    to_mend: Patterns = ()
    """Something is a fault that should be fixed."""
    rises: Patterns = ()
    """What goes up or down, before its new number: "the fee drops to 9"."""
    value_change_words: str = ""
    """A short message of only these and a number gives another value to what was just given one."""
    objects_to_value: Patterns = ()
    """Such a message says that the value before was wrong."""
    gives_value: Patterns = ()
    """Such a message gives a value, which may as well answer a question."""
    names_value: Patterns = ()
    """The subject of a sentence and the name that it gives to it, as two groups in this order."""
    value_of: Patterns = ()
    """The same in the other order."""
    renews: Patterns = ()
    """A sentence gives something another value than it had."""
    name_behind: Patterns = ()
    """A whole message that gives a name, the first group, in place of the one just given."""
    name_for_name: Patterns = ()
    """The same if the message also names what is replaced."""
    leaves: Patterns = ()
    """The first group is the name of somebody who has left."""
    promises: Patterns = ()
    """An answer that promises to do as was wished."""
    drops_what_was_asked: Patterns = ()
    """What was wanted and is no longer wanted: "the paragraph thing I asked for, drop it"."""
    drops_it: Patterns = ()
    """What was just mentioned is given up."""
    suffices: Patterns = ()
    """The first group is what is enough, so that nothing more is needed."""
    settles: Patterns = ()
    """The first group is what was chosen: the slot `<known>`."""
    on_leave: Patterns = ()
    """The first group is the name of somebody who no longer does something."""
    permits: Patterns = ()
    """Something is allowed; the first group is what, or begins it."""
    permits_it: Patterns = ()
    """What is allowed was named before: "you may add some"."""
    contrasts: Patterns = ()
    """The start of what should differ from what was said before."""
    asks_first: Patterns = ()
    """Somebody is to be asked before something is done."""
    limits: Patterns = ()
    """Says for what, when or where alone something is so."""
    answers_in: Patterns = ()
    """The first group is the language wanted for answers: the slot `<tongue>`."""
    answers_as_asked: Patterns = ()
    """Answers are wanted in the language of the question."""
    in_tongue: Patterns = ()
    """Something is wanted in a language, the slot `<tongue>`: the first group."""
    wishes: Mapping[str, Patterns] = field(default_factory=dict[str, Patterns])
    """What people want of an assistant, by slots in which a later wish replaces an earlier one. `slot` has
    what a sentence about it mentions, if its values alone are not clear; `slot/value` a value, as wanted or
    unwanted. `tongue of ...` is a slot for the language of what its words name."""
    unwanted: Patterns = ()
    """Says that what is next to it is not wanted, or no longer."""
    now_wanted: Patterns = ()
    """A wish replaces another one, and does not add to it."""
    restricts: Patterns = ()
    """What was so always is to be so only in some cases."""
    tongues: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names of languages, each with its name in English."""
    now_so: Patterns = ()
    """Says that something is different now."""
    totals: Patterns = ()
    """The first group is what is counted, the second how many there are now."""
    ordinals_from_two: str = ""
    """The second, the third and so on."""
    comes: Patterns = ()
    """Something begins to exist."""
    stops: Patterns = ()
    """An instruction is no longer valid."""
    stops_doing: Patterns = ()
    """Something is no longer to be done: an order to do it is outdated then, one that forbids it is valid."""
    finishes: Patterns = ()
    """A todo is done."""
    value_gone: Patterns = ()
    """The first group is the number that is no longer valid: the slot `<number>`."""
    purpose: Patterns = ()
    place: Patterns = ()
    """What a decision is for, and where it applies: the first group."""
    negated: Patterns = ()
    starts_using: Patterns = ()
    """An order by which something is used from then on: "set up Sentry"."""
    in_use: Patterns = ()
    """What the project is made with comes right after."""
    tells: Patterns = ()
    """Words that say more than others: each counts for its sentence."""
    finds: Patterns = ()
    """What makes a sentence of an answer a finding."""
    fills: Patterns = ()
    """The start of a sentence of an answer that says nothing."""


FRAMES: Mapping[str, str] = {
    "name": r"(?-i:[A-Z][\w.+#-]*|`)",  # with a capital, or quoted as code
    "value": r"(?:``|[\"']?(?:[~.]?/?[\w.-]+/[\w./-]*\w|https?://|localhost|v?\d|<name>))",
    "path": r"([~.\w*-]*/(?:[\w./*-]*[\w*/])?|[\w-][\w.-]*\.[a-z]\w*|\.[a-z][\w.-]*\w)(?![\w/])",
    # Where a clause begins, so that "it never returns" is not an order and "Never return None" is one.
    "clause": r"(?:^|[,;:—–(]\s*|\b<openings>[,:]?\s+)",
    "ends": r"(?=\s*(?:$|[,.;:!?)]|\b<followers>\b))",
    "number": r"(?<![\w.])(\d[\d.,:]*\d|\d)",
    # One statement to the end of the message. With another clause it may be an order to do something else.
    "clause_only": r"((?:(?!\b(?:<joins>)\b)(?:[^\s.,;:!?]|[.,:](?=\w)|[^\S\n]))+)[.! ]*$",
    # After the word for a day as `with_dates` leaves it, or written out; a month alone is all of it.
    "date": (
        r"(?:(?:[\w'-]+ ){1,3}\((?=\d{4}-))?"
        r"(\d{4}-\d\d-\d\d|\d{1,2}(?:st|nd|rd|th|er)?(?: of)? <month>(?:,? \d{4})?|"
        r"<month> \d{1,2}(?:st|nd|rd|th)?(?!\d|:)(?:,? \d{4})?|<month>(?! \d| be\b)|<month> \d{4})\b"
    ),
    "topic": r"((?:[\w'-]+ ){0,3}?[\w'-]+)",
    "named": (
        r"([\w.+#/-]*\w[+#]*(?: (?!now|instead|again|from|for|as|to|maintenant|finalement|"
        r"désormais)[\w.+#-]*\w[+#]*){0,2})"
    ),
    "proper": r"((?-i:[A-ZÀ-Þ][\w.+#-]*(?: [A-ZÀ-Þ][\w.+#-]*)?)|<known>|<weekday>)",
    "title": r"(?-i:M|Mr|Mrs|Ms|Dr|Pr|Prof|Mme|Mlle)\b",
    # The name without a title: "Le Goff" of "Mme Le Goff".
    "who": (
        r"(?:<title>\.? )?((?-i:(?:(?:L[ea]|D[eu]|V[ao]n|Di|El|Al|Ben) |(?:van|von) (?:de[rn] )?|de la )?"
        r"(?:[A-ZÀ-Þ]')?[A-ZÀ-Þ][\w-]+))"
    ),
    "phrase": r"((?:[^,;.!?]|\.(?=\w))+)",
    "thing": r"((?:[\w.+#-]+ ){0,3}?[\w.+#-]*[\w+#])<ends>",
}
_SLOT = re.compile(r"<(\w+)>")


@cache
def languages() -> tuple[Language, ...]:
    """Return all languages, by the names of their modules."""
    return tuple(discover(__name__.rpartition(".")[0], "LANGUAGE", Language).values())


@cache
def words_in(field: str) -> frozenset[str]:
    """Return the words of all languages in this field."""
    return frozenset(word for each in languages() for word in getattr(each, field).split())


@cache
def stop_words() -> frozenset[str]:
    """Return those of all languages."""
    return words_in("stop_words")


@cache
def common_words() -> frozenset[str]:
    """Return those of all languages."""
    return words_in("common_words")


@cache
def courtesies() -> frozenset[str]:
    """Return those of all languages."""
    return words_in("courtesies")


@cache
def decision_words() -> frozenset[str]:
    """Return those of all languages."""
    return words_in("decision_words")


@cache
def spellings() -> Mapping[str, str]:
    """Return the correct spelling of words of all languages, by how they are typed in a hurry."""
    return {_bare(word): word for word in words_in("spellings")}


def _bare(word: str) -> str:
    """Return the word without apostrophes and accents."""
    return "".join(each for each in normalize("NFD", word) if each.isalpha())


@cache
def cue_names() -> tuple[str, ...]:
    """Return those of all languages, sorted."""
    return tuple(sorted({name for each in languages() for name in each.cues}))


@cache
def days() -> Mapping[str, int]:
    """Return the words for days of all languages."""
    return {word: count for each in languages() for word, count in each.days.items()}


@cache
def weekdays() -> Mapping[str, int]:
    """Return the names of all languages, with 0 for Monday."""
    return {word: at for each in languages() for at, word in enumerate(each.weekdays.split())}


@cache
def months() -> Mapping[str, int]:
    """Return the names of all languages, with 1 for January."""
    return {word: at for each in languages() for at, word in enumerate(each.months.split(), 1)}


@cache
def counts() -> Mapping[str, int]:
    """Return small numbers in words of all languages."""
    return {word: count for each in languages() for word, count in each.counts.items()}


@cache
def tongues() -> Mapping[str, str]:
    """Return the names of languages in all languages, each with the English one."""
    return {word: name for each in languages() for word, name in each.tongues.items()}


@cache
def numbers() -> Mapping[str, int]:
    """Return numbers in words of all languages."""
    small = {word: at for each in languages() for at, word in enumerate(each.small_numbers.split(), 2)}
    tens = {word: 10 * at for each in languages() for at, word in enumerate(each.tens.split(), 2)}
    return {word: value for each in languages() for word, value in each.large_numbers.items()} | small | tens


@cache
def acts() -> Mapping[str, str]:
    """Return the commands of all languages by the names of their actions."""
    return {name: command for each in languages() for name, command in each.acts.items()}


def filled(pattern: str) -> str:
    """Return the pattern with its slots filled. Raises KeyError for a slot that no language defines."""
    return _SLOT.sub(lambda found: _slot(found[1]), pattern)


@cache
def _slot(name: str) -> str:
    if name in FRAMES:
        return filled(FRAMES[name])
    if name == "weekday":
        return f"(?:{'|'.join(sorted(weekdays()))})"
    if name == "month":
        return f"(?:{'|'.join(sorted(months()))})"
    if name == "count":
        return rf"(\d{{1,2}}|{'|'.join(sorted(counts()))})"
    if name == "tongue":
        return f"({'|'.join(sorted(tongues()))})"
    if name == "known":
        from ragforge.domain.products import KNOWN_NAMES

        return f"(?:{'|'.join(sorted(map(re.escape, KNOWN_NAMES)))})"
    found = [each.slots[name] for each in languages() if name in each.slots]
    if not found:
        raise KeyError(name)
    return f"(?:{'|'.join(found)})"


class AnyOf:
    """A pattern of any language, case-insensitive.

    They are compiled at first use, which is in a thread: some hundred of them take tenths of a second, which
    a start that summarises nothing should not pay for.
    """

    def __init__(self, patterns: Callable[[Language], Sequence[str]]) -> None:
        self._patterns = patterns

    @cached_property
    def pattern(self) -> str:
        """All of them as one; a pattern that never matches if no language has any."""
        found = [filled(each) for language in languages() for each in self._patterns(language)]
        return "|".join(found) or r"(?!)"

    @cached_property
    def _ready(self) -> re.Pattern[str]:
        return re.compile(self.pattern, re.IGNORECASE)

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first match."""
        return self._ready.search(text)

    def without(self, text: str) -> str:
        """Return the text with a space in place of each match."""
        return self._ready.sub(" ", text)

    def match(self, text: str) -> re.Match[str] | None:
        """Return the match at the beginning."""
        return self._ready.match(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Yield all matches."""
        return self._ready.finditer(text)


def first_group(found: re.Match[str]) -> str:
    """Return the text of the group that matched."""
    return next(filter(None, found.groups()), "")


def language_of(text: str) -> Language | None:
    """Return the language of most of its stop words; None if there are none, or as many of another."""
    words = re.split(r"[\s'’-]+", text.lower())
    counts = sorted(
        ((sum(map(stops.__contains__, words)), at) for at, stops in enumerate(_stops())), reverse=True
    )
    (most, at), *others = counts
    return None if most == 0 or (others and others[0][0] == most) else languages()[at]


@cache
def _stops() -> tuple[frozenset[str], ...]:
    return tuple(frozenset(each.stop_words.split()) for each in languages())
