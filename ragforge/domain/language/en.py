"""English: its words, and the phrases by which sentences are understood without a model: one value."""

from ragforge.domain.language.base import Language
from ragforge.domain.memories import MemoryType

LANGUAGE = Language(
    spellings="""
        aren't can't couldn't didn't doesn't hasn't haven't i'm isn't i've shouldn't that's there's they're
        they've wasn't weren't we've what's where's won't wouldn't you're you've
        """,
    stop_words="""
        a about after again all also am an and any are as at be because been before being but by can
        cannot could did do does doing done don for from had has have having he her here hers him his how
        i if in into is it its itself just let ll me more most my no nor not now of off on once only other
        our ours out over re same she should so some such than that the their theirs them then there these
        they this those through to too under until up us ve very was we were what when where which while
        who whom why will with would you your yours
    """,
    common_words="""
        add added change changed check code error file files fine fix fixed function good help issue line
        lines look make need new now ok okay one please problem project put read run said see show test
        tests thing things think time try use used using want way work works yes line good first last two
        get got set let's don't didn't i'm it's i'll that's we'll there's can't won't isn't doesn't
        agree agreed settle settled chose chosen
        yesterday today tomorrow prefer prefers like name called decided always never listens runs
        many long often currently still ever exactly handle handles deal deals
    """,
    courtesies="""
        afternoon alright bye cheers cool evening fine glad good goodbye great hello hey hi later lol lovely
        morning much nice night nope ok okay perfect please see sorry sure tomorrow thank thanks thx well
        welcome wow yeah yep yes yup
    """,
    decision_words="""
        use using used keep going switch move stick adopt drop replace instead actually changed mind
        decided decision let's we'll we're i'll finally please rather now new everything project store
        storage change bump raise lower swap make set should must has moved moving forget take took dump
        ditch scrap from
    """,
    abbreviations=r"e\.g|i\.e|etc|vs|cf|resp|approx|Mr|Mrs|Dr|No|no",
    days={
        "day before yesterday": -2,
        "yesterday": -1,
        "last night": -1,
        "today": 0,
        "this morning": 0,
        "tonight": 0,
        "tomorrow": 1,
    },
    weekdays="monday tuesday wednesday thursday friday saturday sunday",
    coming_day=(
        r"(?:next|this|this coming|coming|by|until|till|before|due|starting|as of) <weekday>",
        r"from <weekday> on(?:wards?)?",
    ),
    past_day=(r"last <weekday>",),
    months=("january february march april may june july august september october november december"),
    until=(r"\b(?:until|till|up to|through) (?:and including )?(?:the )?(?:end of )?<date>",),
    since=(r"\b(?:from|as of|as from|starting|effective|since) (?:the )?(?:start of )?<date>",),
    due=(
        r"\b(?:by|before|on|due(?: on| by)?|no later than) (?:the )?(?:end of )?<date>",
        r"\b(?=(?:today|tonight|tomorrow) \()<date>",
    ),
    away={
        "day": (r"in <count> days?",),
        "week": (r"in <count> weeks?", r"next week"),
        "month": (r"in <count> months?", r"next month"),
    },
    counts={"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "six": 6},
    small_numbers="""
        two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
        eighteen nineteen
    """,
    tens="twenty thirty forty fifty sixty seventy eighty ninety",
    large_numbers={"hundred": 100, "thousand": 1_000},
    ones="one",
    joins_numbers="and",
    amounts={
        r"half an hour|a half[- ]hour": "30 minutes",
        r"an hour and a half|one and a half hours?": "90 minutes",
        r"a quarter of an hour": "15 minutes",
        r"(?:a|one) (?=(?:hundred|thousand)\b)": "",
        r"one(?= (?:and a half|(?:second|minute|hour|day|week|month|year)\b(?! or\b)|\w+ "
        r"(?:is|will be|would be) (?:enough|plenty)))": "1",
        # "10 requests a minute" is not an amount of time.
        (
            r"(?:(?<=^)|(?<=[,;:.!?–—-] )|(?<=\bof )|(?<=\bin )|(?<=\bis )|(?<=\bby )|(?<=\bfor )|"
            r"(?<=\bthan )|(?<=\bafter )|(?<=\bevery )|(?<=\blasts )|(?<=\bwithin ))"
            r"an? (?=(?:second|minute|hour|day|week|month|year)\b(?! (?:ago|or|later)\b))"
        ): "1 ",
    },
    begins_amounts="a an half one",
    halves="and a half",
    slots={
        "person": "user|person",
        "wills": (
            r"prefer(?:s|red|ence)?|wants?|wanted|ask(?:s|ed)|approves?|allow(?:s|ed)?|trusts?|likes?|"
            r"wish(?:es)?|goals?"
        ),
        "asking": r"(?:please|ok|okay|no|actually|sorry|wait|oh|and|can you|could you|would you|you can)\b,?",
        # Typed without its apostrophe it is also French: "three people, dont deux stagiaires".
        "do_not": (
            r"do not|don't|dont(?! (?:une?|deux|trois|l[ea]s?|ce\w*|[mts](?:on|a|es)|[nv]o\w+|je|tu|ils?|"
            r"elles?|on|nous|vous|plusieurs|chacune?)\b| [jlt]')"
        ),
        "joins": "and|but|then|instead|now|just|rather|until|when|while|let's|please|for",
        "roles": (
            "developer|dev|engineer|student|designer|scientist|admin|sysadmin|administrator|researcher|"
            "manager|founder|freelancer|teacher|analyst|architect|beginner|maintainer|programmer|"
            "consultant|physicist|biologist|lead|cto|intern|newcomer|owner|author|data scientist|devops|"
            "sre"
        ),
        "take": (
            "use|go with|go for|switch|move (?:to|over)|stick with|stay with|keep|adopt|migrate|drop|"
            r"replace|store|deploy|build (?:it|this|on)|support|write (?:it|this|the \w+) in|base|target|"
            "standardi[sz]e|settle|pick|choose|rely|host|ship|run on|name|call"
        ),
        "later": (
            "later|next (?:week|month|time|sprint|quarter)|tomorrow|at some point|eventually|afterwards|"
            "soon|another day|before we (?:go live|ship|release|launch|merge|deploy)|after the release|"
            "before the release|one day"
        ),
        "deadline": (
            r"the end of|next (?:month|quarter|year)|q[1-4]\b|summer|christmas|january|february|march|"
            r"april|may\b|june|july|august|september|october|november|december"
        ),
        "when": (
            "yesterday|last (?:night|week|month|year|monday|tuesday|wednesday|thursday|friday|weekend|"
            "sprint)|this morning|today|on (?:mon|tues|wednes|thurs|fri)day|(?:two|three|a few) (?:days|"
            "weeks|months) ago|a (?:week|month) ago|in (?:january|february|march|april|may|june|july|"
            r"august|september|october|november|december)|on (?:\d{4}-\d\d-\d\d|\d{1,2} \w+|(?:january|"
            r"february|march|april|may|june|july|august|september|october|november|december) \d)"
        ),
        "happened": (
            "deployed|released|shipped|migrated|merged|launched|lost|crashed|broke|went (?:down|live)|"
            "moved|upgraded|met|presented|switched|published|rolled (?:back|out)|joined|left|started|"
            "deleted|removed|expired|leaked|(?:was|were) (?:down|offline|hacked)|finished|cut over|hired|"
            "had (?:an|a) "
        ),
        "places": (
            "production|staging|prod|preprod|databases?|db|servers?|site|api|keys?|secrets?|docs?|"
            r"documentation|backups?|images?|assets|config\w*|data|logs?|ci|pipeline|frontend|backend|"
            r"infra\w*|cluster|repo\w*|queue|customer|clients?"
        ),
        "named_things": "branch|table|bucket|queue|file|database|base|user|server|cluster|schema",
        "routines": r"backup|cron|job|build|deploy\w*|import|export|sync\w*",
        "users": "we|I|project|app|application|api|backend|frontend|service|site|shop",
        "openings": "and|but|so|then|also|please|pls|plz|that|remember|important|note|rule|here",
        "followers": "for|in|on|as|from|here|everywhere|because|since|so|and|but|now|to|with|by|any",
        "clause_starts": (
            "(?:I|I'm|im|I've|ive|we|we're|we've|you|they|he|she|it|its|it's|that's|thats|there's|this|"
            "that|the|our|my|"
            "all|everything|nothing|nobody|please|pls|can|could|don't|dont|never|always|just|then|now|"
            "from|if|when)"
        ),
        "no_tale": r"(?!\w+(?:(?<!e)ed|(?<![su])s|ought|ound|ade|ent)\b)",
    },
    asks=(
        (
            "(?:(?:and|but|so|then|also|hey|hi|hello|ok|okay)[ ,]+)*(?:why|how|who|whose|(?:what|which|"
            "where|when) (?:is|are|was|were|do|does|did|can|could|would|should|happens|if)|(?:do|don't|"
            r"have|haven't) (?:I|you(?! ever\b)|we|they|any\w*)|(?:is|are|was|were|does|did|can|could|would|"
            r"should|"
            "shall|will|has|isn't|aren't|doesn't|won't|can't) (?:I|you|we|they|he|she|it|this|that|there|"
            r"the|our|my|your|any\w*|some\w*)|(?:what|where|who|how|when)'?s (?:the|our|my|your|this|that)|"
            r"which (?!is (?:why|what|how)\b|means\b|makes\b|leaves\b|brings\b)|what (?:kind|sort|else)|"
            r"what (?:\w+ ){1,3}(?:do|does|did|should|can|could|would) (?:I|you|u|we|they|it)|"
            r"would you rather|(?:do|did|have|has|should) (?:people|everyone|anyone|anybody|someone))\b"
        ),
    ),
    asks_for=(
        "(?:(?:and|but|so|then|also|hey|hi|hello|ok|okay|please)[ ,]+)*(?:(?:can|could|will|would|won't|"
        "can't) "
        "(?:you|we|I ask you)(?! (?:rather|prefer|say|recommend|advise|suggest|think|agree|explain why)\\b)|"
        "(?:is|would) it (?:be )?(?:ok|okay|possible|too much)|(?:do|would) you mind|"
        "(?:can|could|may) I (?:have|get|ask you)|why don't (?:you|we))\\b",
    ),
    asks_to_add=(
        (
            r"(?:<clause>|\b(?:and|please|(?:want|like|need|have) to|must|can we|could (?:we|you)|I want|"
            r"we need) )"
            r"(?:add|allow|build|create|display|document|enable|export|generate|give|have|implement|introduce|"
            r"let|list|make|offer|print|provide|publish|put|record|send|show|start|support|write)\b"
        ),
        r"\bshould also\b|\b(?:I|we) (?:want|would like)\b|\b(?:I|we)'d like\b",
    ),
    asks_behind=(
        (
            r"(?:,| [-–—]|(?= (?:so|and|but) )) (?=(?:(?:so|and|but|then|or) )?"
            r"(?:(?:what|which|how|where|when|why)(?: [\w'-]+){0,3} )?"
            r"(?:(?:can|could|would|will|should|shall|may) (?:you|I|we|they|he|she|it|this|that)|"
            r"(?:do|does|did|are|have|is) (?:you|I|we|they|he|she|there|any\w*))\b)"
        ),
    ),
    asks_behind_marked=(
        (
            r"(?:,| [-–—]) (?=(?:(?:so|and|but|then|or) )?(?:(?:is|are|do|does|has|have) (?:it|this|that|"
            r"these|those|the|my|our)\b|(?:what|what's|which|how|how's|where|where's|who|why)\b"
            r"(?! (?:is why|means|to)\b)|when (?:is|are|was|will)\b|any (?:ideas?|tips?|advice|"
            r"suggestions?|recommendations?|chance|thoughts?|(?:\w+ ){1,3}(?:you|I|we|that))\b))"
        ),
        r" (?=(?:so|but) (?:what|how|where)\b(?! to\b))",
    ),
    of_oneself=(
        (
            r"(?:(?:hey|hi|hello|ok|okay|so|also|and|well|hmm+|oh|btw|personally|since|because|as|"
            r"given that),? )*(?:I|I'[a-z]+|my|we|we'[a-z]+|our)\b"
        ),
    ),
    keeps=(
        r"(?:<asking> )*(?:remember|memori[sz]e|keep in mind|don't forget|do not forget)"
        r"(?:(?: (?:this|that|the following))?\s*[:,]\s*| that (?!(?:time|day|one|bug|when)\b))(?=\S|$)",
    ),
    habits=(
        r"(?:we|our team|the team) (?:now |only |always |all )*(?:use|keep|deploy|run|write|store|ship|build|"
        r"support|target|go with|stick (?:to|with)|stay (?:on|with))\b",
    ),
    forgets=(
        r"(?:<asking> )*(?:forget (?:that|this)(?: one)?|forget what (?:i|you) (?:have |'ve )?just "
        r"(?:said|told you|remembered|kept|saved)|(?:do not|don't|stop) remember(?:ing)? (?:that|this))"
        r"(?: please|, please)?[.! ]*$",
    ),
    forgets_that=(
        r"(?:<asking> )*forget (?:the fact )?that (?=(?:we|i|you|they|he|she|it|my|our|your|their|the|all|"
        r"every|there|[\w.-]+ (?:is|are|uses?|runs?|has|listens?))\b)<clause_only>",
    ),
    resumes=(
        (
            r"\b(?:where (?:were|did) we (?:stop|leave)|where (?:were we|are we(?:$|[?!. ]*$| now)|"
            r"we (?:were|left|stopped))|where "
            r"things stand|(?:pick|take) (?:it |this |things )?up (?:from )?where|left (?:it |things )?open|"
            r"what(?:'s| is| was| else is)? (?:left|open|next|missing|still|remaining|unfinished)|"
            r"left off|left "
            r"(?:to do|on (?:the|our|my) (?:todo|to-do|list))|what remains|still (?:open|left|to do)|next "
            r"(?:step|task|item|todo)s?\b|carry on|(?:^|[,;:.!?–—-] ?|\b(?:let's|let us|"
            r"(?:I|we)(?: can| could| should|'ll)?|to|please|just|now|and|then|ok|okay|hi|hello) )"
            r"(?:continue|go on|resume|keep going)"
            r"(?:$| (?:with|from|where|what|working|our|the (?:rest|work))|[.!,?]))"
        ),
    ),
    goes_ahead=(
        r"^\s*(?:(?:ok|okay|yes|good|fine|great),? )?(?:please )?(?:do it|go ahead|go for it|carry it out|"
        r"implement it)(?: please)?[.! ]*$",
    ),
    either=(r",? \bor(?: rather)?\b ",),
    ordinals=(
        r"\b(?:first|former|1st)\b",
        r"\b(?:second|latter|2nd)\b",
        r"\b(?:third|3rd)\b",
        r"\b(?:fourth|4th)\b",
    ),
    breaks=(
        r",? (?=(?:so|but|because|bc|cuz|since|which means|otherwise|though) [\w'/.-]+ \S)",
        r"(?:,|,? (?:and|also)(?= )) (?=<clause_starts> \S+ \S)",
        r",? (?=(?:from now on|btw|by the way|fyi|as of)\b(?! ?[,.;!)]|$))",
    ),
    cues={
        "one_off": (
            r"\b(?:this (?:once|time|one time)|just (?:once|now|this)|for (?:now|today|the moment|the "
            r"time being|this "
            r"(?:one|commit|run|time|test|case))|right now|temporarily|for a (?:sec|minute|bit|while)|"
            r"meanwhile|"
            r"one[- ]off|throwaway|quick and dirty|today only|only today|until I|for the demo|so (?:that "
            r")?I can)\b",
        ),
        "irony": (
            r"\b(?:lol|haha+|lmao|yeah right|oh (?:sure|great|yes|good)|great,|brilliant|bravo|wow|"
            r"amazing|fantastic|"
            r"lovely|(?:just )?what (?:I|we) (?:always|needed|wanted)|what could (?:possibly )?go wrong|"
            r"my favou?rite)\b",
        ),
        "polite": (r"\b(?:please|pls|plz|can you|could you|would you|can u|thanks|thx)\b",),
        "order": (
            r"^(?:(?:ok|okay|please|pls|now|then|and|so|also|just|can you|could you|can u|would you|next|"
            r"first),? )*"
            r"(?:add|fix|rename|run|write|show|make|move|refactor|look|delete|remove|update|generate|"
            r"convert|merge|check|"
            r"translate|change|put|undo|try|go on|create|implement|explain|tell|find|list|print|open|test|"
            r"build|install|"
            r"commit|push|revert|rewrite|extract|split|sort|draft|sketch|search|compare|review|debug|"
            r"clean|start|stop|"
            r"finish|continue|give|help|read|turn|set up|port|profile|document|summari[sz]e)\b",
        ),
        "set": (
            r"^(?:(?:ok|okay|please|pls|now|then|and|so|actually|no|hm+|better),? )*(?:set|change|bump|"
            r"raise|lower|reduce|"
            r"increase|rename|call|name|switch|use|swap|move|make|keep|drop|ditch|replace|go with|put|cap|"
            r"limit|pin|"
            r"turn)\b",
        ),
        "we": (r"\b(?:we|our|us|we're|we've|we'll)\b",),
        "me": (r"\b(?:I|I'm|im|I'd|I've|ive|my|me)\b",),
        "you": (r"\b(?:you|u|your|you're)\b",),
        "is": (
            r"\b(?:is|are|has|have|takes?|lives?|runs?|comes?|needs?|means?|uses?|stores?|contains?|"
            r"expects?)\b",
        ),
        "past": (r"\b(?:was|were|did|had|\w{3,}ed)\b",),
        "will": (r"\b(?:will|gonna|going to|'ll|won't)\b",),
        "always": (r"\b(?:always|never|ever|every|each|any|all|nothing|none|no|only|whenever)\b",),
        "when": (r"^(?:when|whenever|if|before|after|once|until|unless|every time)\b",),
        "prohibits": (
            r"\b(?:no|don't|dont|do not|never|stop|avoid|without|not allowed|forbidden|must not|can't)\b",
        ),
        "likes": (
            r"\b(?:like|love|hate|prefer|rather|want|wish|fan of|enjoy|find|fine with|ok with|annoys?|"
            r"bothers?)\b",
        ),
        "style": (
            r"\b(?:answers?|repl(?:y|ies)|comments?|names?|naming|style|indent\w*|docstrings?|tone|"
            r"language|format\w*|"
            r"commits?|messages?|tests?|diffs?|examples?|explanations?|imports?|functions?|lines?)\b",
        ),
        "settled": (
            r"\b(?:decided|decision|settled|agreed|chose|picked|final|going with|go with|went with|it is|"
            r"let's|lets|we'll|"
            r"stick|stay with|instead|rather than|from now on|no longer|anymore|switched|moved to|"
            r"dropp?ed|dropping)\b",
        ),
        "later": (
            r"\b(?:later|tomorrow|next (?:week|month|time|sprint)|remind|remember|forget|todo|to do|still "
            r"(?:need|have)|"
            r"left|before (?:we|the)|after (?:we|the)|by (?:mon|tues|wednes|thurs|fri)day|eventually|at "
            r"some point|once)\b",
        ),
        "aim": (
            r"\b(?:goal|aim|target|objective|want(?:s)? to|hope|trying to|ambition|eventually|ultimately|"
            r"by the end)\b",
        ),
        "who": (
            r"\b(?:I'm an?|im an?|I am an?|my name|name's|I work|we're a|I've been|new to|this (?:repo|"
            r"project) is)\b",
        ),
        "broken": (
            r"\b(?:error|fails?|failing|failed|crash\w*|broken?|bug|wrong|weird|doesn't work|not working|"
            r"red|stuck|"
            r"throws?|exception|missing|slow|undefined|null)\b",
        ),
        "said": (
            r"\b(?:says?|said|told|tells|claims?|according|recommends?|wrote|writes|asked|keeps saying|"
            r"insists?)\b",
        ),
        "reason": (r"\b(?:because|since|cause|otherwise|too|so that|bc)\b",),
        "greets": (
            r"^(?:hi|hey|hello|thanks?|thank you|thx|cheers|morning|good morning|cool|nice|great|ok|okay|"
            r"yes|no)\b",
        ),
    },
    wonders=(
        (
            r"\b(?:what if|maybe|perhaps|might|suppose|supposing|imagine|let's say|let's imagine|say we|"
            r"for example|e\.g\.|for instance|not sure|unsure|(?:I )?wonder(?:ing)?|thinking (?:of|about)|"
            "considering|hypothetically|could (?:use|also|switch|go|move|be)|we could|I could|one could|"
            "would it|if we|if I|in case we|unless we|in theory|whether|I (?:don't|do not) (?:know|"
            r"understand|see)|hesitat\w+|torn between|either (?=\w)|not decided|haven't decided|undecided)\b"
        ),
        r"\bmust have (?:been|had|\w+(?:ed|en|wn|ne|ght|st))\b",
    ),
    not_so=(
        r"\b(?:if|when(?:ever)?|once|before|unless|until|till|in case|as soon as|so that)\b",
        r"\b(?:\w+n't|\w+'d|not|never|should|would|could|might|they|he|she|somebody|someone|people|who(?:ever)?|"
        r"that|how|says?|said|claims?|reports?|heard|thinks?|wants?|likes?|notice|checks?)\b[^,;:.!?]*$",
    ),
    on_trial=(r"\b(?:locally|on my (?:machine|laptop|branch)|in my (?:branch|fork)|to (?:test|try))\b",),
    asides=(
        r"^(?:(?:and|but|so|oh|ah|ok|okay|also|anyway),? )*(?:btw|by the way|also|before I forget|"
        r"one more thing|(?:while|since|as) we're (?:at it|here)|while I(?:'m| am) at it)[,:]? "
        r"(?!known\b)(?=\w)",
    ),
    conjunctions=(r"^(?:and|but|so) (?!that\b|far\b|on\b)",),
    leads_in=(
        (
            r"^(?:(?:hi|hello|hey|well|right|h+m+|oh|ah|btw|by the way),\s*|ok(?:ay)?(?:,| so| then,?) +|"
            r"(?:and|so) (?=(?:please|pls|plz|never|always|we|you|I|the|our)\b))+(?=\w)"
        ),
    ),
    unreal=(
        (
            r"^(?:<openings>,? )*if (?:only )?(?:I|we|you|they|it|this|that|there) (?:had|hadn't|(?:were|"
            r"weren't)(?= (?:a|an|the|no|any|to|in|on|at|still|really)\b))\b"
        ),
        # A single person of whom "were" is said is not so; several may have been.
        r"^(?:<openings>,? )*if (?:I|it|this|that|he|she)(?: \w+)? were(?:n't)?\b",
        r"^(?:<openings>,? )*(?:suppose|supposing|imagine|hypothetically|picture this|thought experiment|"
        r"let's pretend|just for fun|daydream\w*)\b|\b(?:thought experiment|daydream|in (?:a|an|some) "
        r"(?:parallel|perfect|ideal|alternate) (?:world|universe))\b",
        r"^(?:<openings>,? )*(?:had|were|should) (?:I|we|you|they|he|she|it|the \w+|(?-i:[A-Z])\w+|\w+)\b.*,"
        r".*(?:'d|\bwould|\bcould)\b",
        r"\bit is (?:conceivable|possible|imaginable) that\b|\b(?:floated|toying with|flirting with|mulling) "
        r"(?:over )?(?:the |an? )?(?:idea|notion|thought)\b|^(?:<openings>,? )*assume (?:for|that)\b",
    ),
    works=(
        r"\b(?:is|are|was|were|gets?|got) (?!allow|approv|ask|demand|expect|need|order|prefer|request|"
        r"require|want|wish)\w+ed by (?:an?|the|our) \w",
    ),
    assents=(
        r"(?<!\bis)(?<!\bare)(?<!\bbe)(?<!\bit)(?<!\bthat)(?<!\blooks)(?<!\bwas),? (?:ok|okay|understood|"
        r"got it|capiche)\s*\?+$",
    ),
    reports=(
        r"^(?:write|add|insert|append|print|type) ``",
        (
            # "no matter what the linter says" says nothing about it.
            r"(?<!what the )(?<!whatever the )"
            r"\b(?:docs?|documentation|readme|errors?|logs?|message|article|stack ?overflow|blog|linter|"
            "compiler|output|tutorial|tool|warning|they|he|she|colleague|coworker|someone|somebody|"
            "people|wikipedia|chatgpt|copilot|changelog|comment|ticket|issue|story|requirement|reviewer|"
            r"post|page|spec)\b(?: \w+){0,2}? (?:says?|said|states?|stated|tells?|told|suggests?|"
            "suggested|recommends?|recommended|claims?|claimed|proposed|proposes?|mentions?|mentioned|"
            r"reads|complains?|advises?|asks?)\b"
        ),
        (
            r"\b(?:according to|apparently|supposedly|we used to|I used to|previously,? we|the old "
            r"(?:code|version|team))\b"
        ),
        r"\b(?<!\bI )(?<!\bwe )(?:prints?|printed|says?|said|reports?|warns?|outputs?|shows?|logs):",
        r"\b(?:he|she|they) (?:doesn't|don't|does not|do not) (?:want|like)\b",
        r"\b(?:you|we|I) (?:said|told|suggested|recommended|claimed|proposed|mentioned)\b",
        # Who claims or declares it is never the user; who insists or demands may speak for the project.
        r"(?<!\bI )(?<!\bwe )(?<!\byou )\b(?:claim(?:s|ed)|declare[sd]|argue[sd]|preach(?:es|ed)|"
        r"swears?|swore) (?:in \w+ \w+ )?"
        r"(?:that|by|one|you|we|(?:\w+ ){1,3}(?:should|must|never))\b",
        r"\b(?:speakers?|panelists?|keynote|podcast|talk|professor|guru|evangelist|sales(?:man|woman|rep)|"
        r"influencer)\b(?: \w+){0,3}? (?:says?|said|insist(?:s|ed)|thinks?|recommends?|preaches|urged?)\b",
    ),
    ironic=(
        (
            r"^(?:(?:oh|ah|yeah|yes|well|ok|okay|haha|wow|sure|right|great|brilliant|fantastic|lovely|"
            r"amazing|perfect|of course|absolutely)[,!. ]+)+.*\b(?:(?:I|we|they|everybody|everyone)"
            r"(?:'ll| will| would|'d)? (?:just |all |always |really |so )?(?:loves?|adores?|enjoys?) "
            r"(?:that|it|this)|(?:just|exactly) what (?:I|we) (?:need|want|wish)\w*|"
            r"what could (?:possibly )?go wrong|who needs \w+|who doesn't|lol|lmao|haha+)\b"
        ),
        r"\b(?:just|only) (?:kidding|joking|messing)\b|\bj/?k$",
        r"\b(?:my|our) (?:absolute )?favou?rite (?:hobby|pastime|sport|way to|thing (?:in the world|ever))\b|"
        r"\b(?:best|highlight) (?:part )?of (?:my|the) (?:day|week|job)\b|\bI live for (?:this|these|those|"
        r"that)\b|"
        r"\b(?:nothing|little) (?:I|we) (?:like|love|enjoy) more than\b|\bmy dream job\b|\bten out of ten\b|"
        r"\b(?:always|has always) (?:worked|works|went|ended|ends) (?:out )?(?:so )?well\b",
        # A face that rolls its eyes, sneers, or stands on its head.
        "[🙃🙄😏😒🤡]",
    ),
    memories={
        MemoryType.IDENTITY: (
            r"\bmy name is \w",
            r"\b(?:please )?call me (?-i:[A-Z])",
            r"\b(?:I'm|I am|I work as) (?:an?|the|one of the|your|their) (?:[\w/-]+ ){0,4}<roles>\b",
            r"\bI work (?:at|for|in the|as an?) \w",
            r"\bI(?:'m| am) (?:colou?r[- ]?blind|dyslexic|left-handed|deaf|blind|new to (?-i:[A-Z]))",
            r"\b(?:I live in|I'm based in|I am based in) \w",
            r"\bmy (?:pronouns|job) (?:are|is)\b",
            (
                r"\b(?:this|our) (?:project|repo|repository|app|application|service|library|package|"
                "codebase|tool) is (?:an?|our|the) (?!mess|pain|bit|joke|disaster|nightmare|lot|little|"
                r"problem|same|reason|only)\w"
            ),
            r"\bI (?:maintain|run|lead|own) (?:the|this|our|a)\b",
            r"\bI(?:'m| am) (?:in charge of|responsible for)\b",
            "^(?:(?:hi|hello|hey)[,! ]+)?I'm (?-i:[A-Z][a-zà-ÿ]+)[,.]",
            r"\bthis repo(?:sitory)? (?:contains|holds) ",
        ),
        MemoryType.TODO: (
            r"^\W*(?:TODO|to-?do)\b[^:]{0,40}:",
            (
                r"\b<later>[, ]+(?:\w+ ){0,3}?(?:we|I)(?:'ll)? (?:will |still |also )?(?:need|have|should|"
                r"must|add|do|fix)\b"
            ),
            (
                r"\b(?:we|I)(?:'ll| will)? (?:still |also )?(?:need to|have to|should|must|add|fix|do|"
                r"write|handle|come back|look|clean|revisit|migrate|rename|remove)\b.{0,120}\b<later>\b"
            ),
            r"\b(?:remind me to|don't forget to|do not forget to|remember to|need to remember to)\b",
            r"\b(?:we|I) still (?:need|have) to\b",
            r"\bstill needs? to be\b",
            r"\b(?:is|are) still missing\b",
            r"\bleft to do\b",
            r"\bto-do\b",
            r"\b(?:for|on the list for) later\s*:",
        ),
        MemoryType.DECISION: (
            (
                r"\b(?:we|I)(?:'ll| will|'re going to| are going to|'m going to| am going to|'ve decided "
                r"to)(?: not| only| now)? <take>\b"
            ),
            r"\bwe (?:won't|will not|no longer|are not going to|aren't going to) (?:\w+ )?<take>\b",
            r"\blet's (?:just |not |rather |all |actually )?<take>\b(?!.*\bhere\b)",
            (
                r"\b(?:we|I|the team)(?:'ve| have)?(?: finally| now| all)? (?:decided|chose|chosen|"
                r"settled on|picked|opted|agreed)\b"
            ),
            r"^(?:final )?(?:decision|decided)\s*:",
            r"\b(?:actually|no,? wait|on second thoughts?),? (?:the |plain )?[\w.+#/-]+ (?:is (?:enough|"
            r"plenty)|will do)\b",
            r"\bit's decided\b",
            r"\bdecision made\b",
            r"\bthe plan is (?:settled|fixed|final)\b",
            r"\bI want us to <take>\b",
            r"\bwe're going with\b",
            r"\bthe decision is\b",
            (
                "^(?:(?:ok|okay|yes|yeah|right|fine|alright|good|no|actually|then|so|hmm|wait)[,. "
                "]+)*(?:go|going) with <name>"
            ),
            r"^(?:\w+[.,!] ){0,2}(?:scrap|ditch|drop|dump) (?-i:[A-Z])",
            (
                r"\bwe(?:'re| are) (?:now )?(?:moving|switching|migrating|dropping|adopting|keeping|"
                r"sticking|standardi[sz]ing)\b"
            ),
            r"\bwe go (?:with|for)\b",
            r"\bwe(?:'re| are) (?:now )?using [\w.+#-]+ (?:now )?(?:instead of|rather than) ",
            r"^decision\b[^:.]{1,40}: ",
            r"\b[\w.+#-]{2,} it is[.,]",
            r"\b(?:change of plans?|on reflection)\b",
            (
                r"\b(?:switch|move|migrate) (?:everything|all of it|the (?:whole )?project|us) (?:to|over|"
                r"from)\b"
            ),
            (
                r"^(?:\W*\w+,? ){0,3}?(?:use|switch to) (?!an? |the |this |that |it |my "
                r")`{0,2}[\w.+#-]*`{0,2},? (?:instead of|rather than|not) (?!an? |the )"
            ),
            (
                r"^(?:(?:ok|okay|please|then)[, ]+)?use <known>\b[ \d.]{0,8} ?(?:for|as) (?:the|our|all|"
                "storage|every)"
            ),
        ),
        MemoryType.GOAL: (
            (
                r"\b(?:my|our|the) (?:\w+[- ]){0,2}?(?:goal|aim|objective|ambition)\b(?= (?:is|was|will|"
                r"for|of|with|here|behind|this|now)\b|:)[^.?]{0,60}?(?:\bis\b|\bwill be\b|:)"
            ),
            r"\b(?:we|I)(?:'re| are|'m| am) aiming (?:to|for|at)\b",
            r"\b(?:we|I) aim (?:to|for)\b",
            (
                r"\b(?:we|I) (?:want|plan|hope|intend) (?:to|for this to|this to|the \w+ to|it to) (?:\w+ "
                ")?(?:ship|launch|release|reach|publish|open[- ]source|replace|become|go live|get (?:to|"
                r"rid|under|below)|have .{1,80} (?:by|before) |migrate|support|be able)\b"
            ),
            r"\b(?:in the end|ultimately|long[- ]term),? (?:we|I) want\b",
            (
                r"\bwhat (?:I'm after|I want|we want|we're after) (?:in the (?:long run|end)|long[- ]term|"
                r"eventually|ultimately)\b"
            ),
            r"\bby <deadline>.{0,30}\b(?:we|I) (?:want|need|plan|aim|hope|must)\b",
            r"\b(?:we|I) (?:want|plan|aim|hope|need) to .{1,120} by <deadline>",
            r"\b(?:that's|that is) (?:our|my|the) (?:goal|aim|objective)\b",
        ),
        MemoryType.PREFERENCE: (
            (
                r"\bI(?:'d| would)? (?:really |much |strongly |always |generally |usually |personally "
                r")?(?:prefer(?! not to)|rather (?:have|use|keep|see|not|you))\b"
            ),
            (
                r"\bI (?:really |generally |usually |absolutely )?(?:like|love|hate|dislike|can't stand|"
                r"don't like|do not like)\b(?! (?:it\b|this|that\b|the (?:idea|first|second|third|new|"
                "look|sound)|your|where|how (?:you|it)|what))"
            ),
            r"\bmy preference\b",
            r"^can't stand\b",
            r"^(?:all )?(?:code )?(?:comments|commits|commit messages|docs|docstrings) in (?:the )?\w+",
            r"\bI'm (?:not )?a (?:big )?fan of\b",
            r"\bmy favou?rite\b",
            (
                "^(?:please )?(?:answer|reply|respond|write|speak)(?: to)?(?: me)? in (?:English|French|"
                "Spanish|German|bullet)"
            ),
            (
                r"(?:^|, |\band )(?:please )?keep (?:your|the) (?:answers?|replies|explanations?|"
                "comments?|commits?|commit messages?) "
            ),
            r"^(?:please )?(?:answer|reply|respond|explain)(?: to)?(?: me)? (?:in|with|briefly)\b",
            r"\bI (?:hate|dislike|can't stand|love) it when\b",
        ),
        MemoryType.EVENT: (
            r"\b<when>\b.{0,80}\b<happened>",
            r"\b<happened>.{0,120}\b<when>\b",
        ),
        MemoryType.OBSERVATION: (
            r"\bI(?:'ve| have)?(?: also| just)? (?:noticed|noted|observed|realised|realized)\b",
            r"^(?:that's )?interesting(?:ly)?\s*[:,] ",
        ),
        MemoryType.FACT: (
            (
                r"\b(?:runs?|listens?|running|listening|served|exposed|available|reachable|deployed|"
                r"hosted) (?:on|at|under) (?:the )?(?:port )?(?:\d{2,5}\b|https?://|localhost|(?-i:[A-Z])|"
                "``)"
            ),
            (
                r"\b(?:the|our|my|[Aa]ll|this)\b(?: [\w'/-]+){1,5} (?:is|are|lives?|sits?|is located|are "
                "located|is stored|are stored|goes?|resides?) (?:in|at|under|on|behind) (?:the )?(?:``|"
                r"[~.]?/?[\w.-]+/)"
            ),
            (
                r"\b<places> (?:is|are|runs?|lives?) (?:all )?(?:on|in|at|with|behind|hosted (?:on|by|"
                "at)) (?:the )?<name>"
            ),
            r"\b<named_things>(?: [\w'-]+){0,2} (?:is called|is named) \w",
            r"\b<routines>\b.{0,60} at \d{1,2}(?: ?h\b|:\d\d)",
            r"^(?:the )?port \d{2,5} is\b",
            r"\b(?:our|the) team (?:has|is|consists of) \w+ (?:people|dev)",
            (
                r"\bwe(?:'re| are)? (?:currently )?(?:use|using|run|running|target|targeting|support|on|"
                "deploy|host|depend on|test with)(?: on| to| with| at)? <name>"
            ),
            (
                r"\b(?:the|our|my) (?:[\w-]+ ){0,3}?(?:database|DB|port|server|version|API|endpoint|"
                "timeout|limit|deadline|branch|bucket|table|cluster|region|repo|repository|domain|URL|"
                "queue|schema|user|license|licence)(?: name)? (?:is|=|:|is called|is named) <value>"
            ),
            (
                r"\b(?:requires?|needs?) (?:at least )?(?:Python|Node|Java|Go|Rust|Ruby|PHP|Postgres\w*|"
                r"glibc|macOS|Linux)\b.{0,10}\d"
            ),
            (
                r"\b<places>(?: [\w'/-]+){0,2} (?:is|are|runs?|lives?) (?:all |\w+ed )?(?:on|in|at|with|"
                r"behind|under|hosted on) (?:the )?(?:[a-z]+[-_]?\d|/\w|<name>)"
            ),
            (
                r"\b<places>(?: [\w'/-]+){0,2} (?:takes?|lasts?) \D{0,20}\d+ ?(?:s|ms|seconds?|min|"
                r"minutes?|h|hours?)\b"
            ),
            r"\b(?:is|are) (?:at|on|under) (?:the )?(?:https?://|localhost)",
            r"\b<places>(?: [\w'/-]+){0,2} (?:is|are|lives?) (?:in|at|under) [~.]?[\w.-]*/[\w.-]",
            r"\b(?:default|main|release|stable) branch is \w",
            r"\b(?:limit|timeout|quota|maximum)\b[^.]{0,40} is (?:of )?\d",
        ),
    },
    first_person=(r"\b(?:I|I'm|my|me)\b",),
    momentary=(
        r"\b(?:back then|at the time|in those days)\b",
        r"^(?:so |then |and |ok |yesterday |this morning )*(?:I |we )?(?:just |already |also )?(?:got|lost|"
        r"spent|"
        r"wasted|tried|ran into|saw|waited|restarted|rebooted|pushed|pulled)\b(?! to\b)"
        r"(?!.*\b(?:so|therefore|from now on|we (?:use|go|keep|decided))\b)",
        r"\b(?:tests?|builds?|CI|pipeline)\b(?: \w+){0,3} (?:is|are|was|were|went|got|turned|still) (?:\w+ )?"
        r"(?:green|red|flaky|failing|broken|stuck)\b",
        r"\bexpects? .{1,30} (?:and|but) (?:it )?(?:gets?|got|returns?)\b",
        r"\b(?:first|second|third|last|other|one|both|either|none|any) of (?:your|these|the) (?:\w+ )?"
        r"(?:proposals?|suggestions?|versions?|options?|ideas?|answers?)\b",
        r"\byour (?:first|second|third|last|other|previous) (?:\w+ )?"
        r"(?:proposal|suggestion|version|option|idea|answer)\b",
        r"\b(?:be quick|please hurry|hurry up|I(?:'m| am) (?:on|in) (?:my|a|the) (?:phone|train|bus|meeting|"
        r"car)|"
        r"my (?:laptop|battery|phone) is)\b",
        r"^(?:<openings>,? |ok(?:ay)?,? |now,? |well,? )*let'?s (?:begin|start|continue|go on|move on|look|"
        r"see|"
        r"have a look|talk|pause|stop here|finish|hurry|wrap|check|call it|take a|try|leave it)\b",
        r"\b(?:we'll|I'll|we will|I will)\b.{1,60}\b(?:in (?:an?|one|two|five|ten|\d+) (?:hours?|min\w*|"
        r"secs?|"
        r"seconds)|tonight|later today|this afternoon|after lunch|right back)\b",
    ),
    excepts=(
        r"(?:but |and |though )?(?:not (?:in|for|on|under|when|if|during|with)|except|unless|apart from|"
        r"other than)\b",
    ),
    at_times=(
        r"\b(?:on|every) (?:<weekday>s|weekends|weekdays|(?:public )?holidays)\b|(?<!\d )\bat night\b|"
        r"\b(?:at|over) (?:weekends?|the weekend|peak(?: times?| hours?)?)\b|"
        r"\bin (?:the )?(?:winter|summer|spring|autumn|high season|low season)\b|\bduring (?:the |our )?\w+|"
        r"\bfor the (?:demo|tests?|fair|migration)\b|\bonly (?:when|while|if|on|in|during)\b",
    ),
    for_once=(
        r"^(?:<openings>,? )*(?:wait|hold on|hang on)(?: with| on)? (?:until|till|before)\b",
        r"\b(?:this (?:once|time|one time)|just (?:once|this)|for (?:now|today|the moment|the time being|"
        r"this (?:one|time|task|answer))|temporarily|(?:only|just) (?:for )?(?:today|now))\b",
        r"\bwhile (?:(?:I'?m|I am|we'?re|we are|(?:he|she)(?:'s| is)|\w+ is) \w+ing|(?:I|we) (?:debug|test|"
        r"look|"
        r"wait|chase|check|copy|try))\b",
        r"\b(?:until|till) (?:I|we|he|she|they)(?:'m|'re|'s| (?:tell|say|come|am|are|is|have|has|get|know|"
        r"find|"
        r"give))\b(?=.*\b(?:back|done|so|you|found|finished|through|ok)\b)|"
        r"\b(?:until|till) (?:tonight|tomorrow|this|later|\w+day)\b|\byet(?=[,.!]| (?:I|we)\b|$)|"
        r"\bin this (?:one|export|answer|file)(?=[,.!]|$)",
        r"\bfor the next (?:(?:\w+ ){0,2}(?:minutes?|mins?|hours?)|few)\b|\bI'?m mid[- ]\w+",
        r"\b(?:in|for|of) this (?:one|single|particular) (?!project|repo|codebase|app)\w+|"
        r"\bfor the purposes of this\b|\bthis (?:particular|single) (?:one|\w+)\b|"
        r"\b(?:precisely|exactly|only) once\b|\b(?:tonight's|today's|this afternoon's)\b",
        r"\b(?:for|before|after) (?:the|this|my|our) (?:demo|meeting|call|screenshots?|photo|presentation|"
        r"weekend|interview)\b|\b(?:tonight|this (?:morning|afternoon|evening))\b",
        r"^(?:<asking> )*(?:explain|describe|elaborate|answer|show|tell|summari[sz]e)\b"
        r".*\b(?:in (?:a bit |some |more |full |great(?:er)? )*details?|at length|step by step|"
        r"in depth|again|once more)\b",
    ),
    corrects=(
        r"^(?:(?:oh|argh|hey),? )?(?:no|nope|nah|wrong|that'?s wrong|not (?:that|this|like (?:that|this)))"
        r"(?:\s*[,.!;:–—-]+\s*|$)(?:no[,.!]+ )?(?:please,? |just )?",
    ),
    faults=(
        (
            r"\b(?:that|this|it|they|which|everything|nothing|nobody|now|the \w+|all \w+|our \w+)"
            r"(?: (?:just|only|now|still|also|then|even|all))*"
            r" (?:br(?:eaks?|oke)|fail(?:s|ed)|crash\w*|deadlock\w*|hangs?|hung|leaks?|loses?|lost|doubles|"
            r"doubled|grew|grows|ran out|times? out|timed out|hides?|ignores?|ignored|overwr\w+|deletes|"
            r"deleted|blocks?|blocked|needs? too|(?:takes?|took) (?:too|twice|longer|much)|"
            r"throws?|threw|gets? (?:lost|stuck)|got (?:lost|stuck|worse|slower)|"
            r"made (?:it|things) (?:worse|slower)|makes (?:it|things) (?:worse|slower)|"
            r"(?:is|was|are|were|looks|feels) (?:(?:far |much |way |just )?too|wrong|worse|slower|unsafe|"
            r"insecure|broken|stale|fragile|unreadable|flaky|not \w+)|"
            r"(?:isn't|wasn't|aren't|weren't|doesn't|didn't|does not|did not|don't|won't|can't|cannot|"
            r"couldn't|must not|may not|would \w+))\b"
        ),
        r"\b(?:because|since|as|so that) (?:it|that|this|they|the|we|our|there|some|every|all|no)\b",
        r"\btoo (?:slow|complicated|complex|much|many|long|big|large|fragile|expensive|heavy|risky)\b",
        r"\b(?:deadlocks?|race conditions?|memory leaks?|regressions?|out of memory|data loss)\b",
        r"\b(?:no longer|fails?|failed|breaks|broke|complains?|refus(?:ed|es)|slower|worse|stale)\b",
        r"\bstill (?:\w+ )?(?:red|comes?|there|broken|wrong|slow|hangs?|happens?|missing|lost)\b",
        r"^(?:we (?:are not|aren't|must not|may not|cannot|can't|don't)|(?:legal|security|the customers?) )",
    ),
    chooses=(r"\b(?:us(?:e|ing)|prefer|stick (?:to|with)|go with) (?:just |only )?",),
    standing=(
        r"<clause>(?:always|never),? (?!(?:mind|being|having|nice|good|great|fun|lovely)\b)<no_tale>\w+",
        # The place where it applies may come first: "on staging never restart the workers".
        (
            r"^(?:on|in|for|inside|outside|during) (?:(?:the|our|this|any|every|each) )?(?!me\b|us\b)"
            r"[\w./-]+,? (?:always|never) <no_tale>\w+"
        ),
        r"\byou (?:must|should) (?:always|never)\b",
        r"\bfrom now on\b",
        r"\bunder no circumstances\b",
        r"\bat all times\b",
        r"<clause><do_not> ever\b",
        r"\bmust (?:always|never)\b",
        r"\bunder any circumstances?\b",
    ),
    experiences=(
        (
            r"(?:\b(?:have|has|had|haven't|hasn't|ive|weve)|'ve) (?:almost |really )?(?:always|never) "
            r"(?!(?:to|(?:like|love|want|prefer|hate|enjoy)\w*)\b)\w+"
        ),
        r"'s (?:always|never) (?:been|\w+ed)\b",
        r"\b(?:always|never) (?:nice|good|great|fun|lovely|a pleasure) (?:to|when|how|that)\b",
        r"\bI never (?:got|had|saw|did|made|went|knew|found|thought|tried|used|needed|heard)\b",
    ),
    own_habits=(
        r"\bI(?:'d|'ll)? (?:almost |nearly )?(?:always|never) (?!accept|allow|want (?:you|to see))\w+",
    ),
    demands=(
        (
            r"<clause><do_not> (?!know|think|understand|see|worry|get\b|have|remember|"
            r"mind|hesitate|forget|care|like|want|need|bother|panic)\w+"
        ),
        (
            r"\b(?:must|mustn't|must not)\b(?! (?:say|admit|confess|be (?:because|a |an |some|due|wrong|"
            r"the |related|caused|something|missing|that|broken|coming)|have (?:been|had|\w+(?:ed|en|wn|"
            r"ne|ght|st))\b))"
        ),
        (
            r"\b(?:you|they|it|this|that|we|everything|\w+s) (?:can't|cannot|may not|are not allowed to|"
            "is not allowed to) (?:use|add|change|touch|break|depend|exceed|install|modify|rely|"
            r"require)\b"
        ),
        r"<clause>(?:make sure|be sure to|ensure)\b",
        r"<clause>only use\b",
        r"\buse only\b",
        r"\bonly ever\b",
        r"\bat all costs\b",
        "<clause>avoid ",
        r"^(?:every|each|all) .{1,80}? (?:needs?|should|has to|have to) (?!we\b|to do)",
        (
            r"\b(?:need|ha)s? to (?:stay|remain|keep|be compatible|work (?:on|with|without|in|offline)|"
            r"run (?:on|in|offline)|support|fit)\b"
        ),
        (
            r"<clause>no (?!problem|worries|idea|need|rush|wait|luck|way|one|no\b|doubt|change yet|errors?\b|"
            r"longer|it|that|thanks|matter|i\b|we\b|error|\w+ed\b)(?:new |more |extra |external |"
            r"third-party |global )?\w+s?\b(?=[^.]{0,60}$|[^.]{0,80}[,;.])(?=.{0,120}$)(?! (?:is|was|were|"
            r"are|works?|happens?|appears?|found|shows?)\b)"
        ),
        (
            r"\bwithout (?:adding|updating|upgrading|removing|using|changing|touching|breaking|modifying|"
            r"introducing|(?:any )?(?:\w+ )?(?:downtime|dependenc\w+|librar\w+|regressions?|"
            r"frameworks?))\b"
        ),
        (
            r"\b(?:at most|no more than|not more than|max(?:imum)?) \d[\d,. ]*\s?(?:ms|s|seconds?|"
            r"minutes?|kb|mb|gb|lines?|characters?|columns?|%|percent|requests?)(?!\w)"
        ),
        r"\bI <do_not> want (?:you to|any|to see)\b",
        r"\bleave .{1,60} (?:alone|as (?:it is|they are)|untouched)\b",
        (
            r"\b(?:is|are) (?:off[- ]limits|forbidden|not allowed|mandatory|required|not negotiable|"
            r"non-negotiable)\b"
        ),
        (
            r"(?<!we )(?<!I )(?<!you )\b(?:has|needs) to be (?!an? (?:bug|problem|reason|mistake)|some|"
            "because|the |done|fixed)"
        ),
        r"<clause>(?:stay|stick|keep) (?:within|to|below|under|inside|out of)\b",
        r"(?:,|\bbut|\band|\bso) nothing (?:in|outside|else|from|under|that)\b",
    ),
    who_since=(
        r"\b(?:it's|it is|that's|with) (?-i:[A-ZÀ-Þ][\w-]+)(?: \w+){0,4} from now on\b",
        r"\bfrom now on,? (?:it's|it is|that's) (?-i:[A-ZÀ-Þ][\w-]+)",
        r"(?:^|[,;:.!] )(?-i:[A-ZÀ-Þ][\w-]+) (?:leads|handles|reviews|reads|translates|"
        r"takes (?:over|care)|looks after)\b[^,;:.!]* from now on\b",
    ),
    requires=(
        r"^(?:(?:<openings>|well|ok|okay),? )*no ((?:[\w'-]+ ){1,4}?)"
        r"(?:(?:less|more|longer|later|earlier|fewer) than|under|over|above|below|before|after) (?:the )?\d",
        r"[,;:] ()must (?:also |still )?(?:be|fit|handle|keep|last|load|run|scale|stay|support|survive|"
        r"work)\b",
        r"^(?:(?:<openings>|well|ok|okay),? )*((?:[\w'-]+:? ){1,6}?)"
        r"(?:(?:must|should|shall|may|can)(?:n't| not)?|cannot|(?:has|have|needs?) to)\b",
    ),
    rule_subjects="""
        i we you all any each every no anything nobody answer answers branch branches change changes class
        classes code comment comments commit commits diff diffs doc docs docstring docstrings documentation
        everything explanation explanations file files function functions import imports line lines message
        messages method methods migration migrations module modules name names nothing plan plans pr prs
        pull reply replies script scripts summary summaries test tests type types variable variables
    """,
    of_talking=(
        r"\b(?:your (?:tone|summary|summaries)|answers?|repl(?:y|ies)|explanations?|"
        r"emojis?|essays?|recaps?|bullet points?|call me|jargon|spelling|commit messages?|docstrings?|"
        r"comments|names of (?:variables|functions))\b(?! (?:from|of|to)\b)",
    ),
    releases=(
        r"\b(?:no need|(?:don't|doesn't|do not|does not|needn't|no longer|not) (?:have|need|needs|required?|"
        r"necessary)?) (?:to|for|you)\b|\bno longer needs?\b|\bneedn't\b",
    ),
    kinds_of_work="""
        api apis assertion assertions branch branches caching changelog changelogs ci code comment comments
        commit commits component components coverage dates dependencies dependency deploy deploys diagram
        diagrams diff diffs directories docs docstring docstrings documentation emoji emojis endpoint
        endpoints enums error errors exceptions figures fixture fixtures folders functions headers
        identifiers imports indentation interfaces linter log logging logs macros merge merges messages
        methods migration migrations mock mocks module modules naming notebook notebooks numbers output
        pipeline plan plans plot plots pr prs queries query readme release releases requests schema schemas
        screenshots script scripts secrets service shaders slides snapshots spelling staging stylesheets
        summaries summary tables tags test tests ticket tickets timestamps translations types units
        variables warnings
    """,
    of_working=(
        r"\b(?:explain\w*|summari[sz]\w+|apologi\w+|reasoning)\b",
        r"\b(?:code|codebase|coding|comments?|docstrings?|identifiers?|variables?|functions?|methods?|"
        r"type hints?|imports?|globals?|snake_case|camelCase|indent\w*|tabs|semicolons?|naming|exceptions?|"
        r"asserts?|print statements?|stack ?traces?|regex\w*|boolean\w*|floats?|integers?|ints?|"
        r"decimals?|doubles?|utc|iso 8601|timestamps?|null|sql|orm|docs?|documentation|readme|changelog|"
        r"config\w*|env|secrets?|credentials?|api keys?)\b",
        r"<clause>(?:hash|mask|redact|encrypt|scrub|hide) (?:[\w-]+ ){0,3}(?:passwords?|tokens?)\b",
        r"\b(?:tests?|testing|mocks?|mocking|fixtures?|snapshots?|lint\w*|typecheck\w*|type checker|"
        r"coverage|ci|pipeline|warnings?)\b",
        r"\b(?:commits?|commit(?:ted|ting)|branch(?:es)?|prs?|pull requests?|merg\w+|rebas\w+|squash\w*|"
        r"push(?:es|ed|ing)?|diffs?|tags?|git|deploy\w*|release[sd]?|migrations?|scripts?|shell|commands?|"
        r"reboots?)\b",
        r"\b(?:dependenc(?:y|ies)|deps?|packages?|librar(?:y|ies)|frameworks?|lock ?files?|plugins?|"
        r"logs?|logging|logged|files?|folders?|director(?:y|ies)|repo(?:sitory)?|tickets?|staging|prod|"
        r"production)\b",
    ),
    addresses=(
        r"\byou(?:'re)? (?:(?:also|just|still|only|please) )?(?:must|should|shouldn't|mustn't|can't|cannot|"
        r"may (?:not|never|only)|never|always|do not|don't|have to|need to|can only|first|ask|tell|show|"
        r"write|open|run|leave|keep|use|check|stop|wait|say|are not|aren't|not)\b",
        r"\b(?:ask|asks|tell|tells|asking|telling|show|showing|check with|warn|warning|checking with) "
        r"(?:me|us)\b|\b(?:ask|check) (?:first|before)\b",
        r"\b(?:my|our|(?-i:[A-ZÀ-Þ]\w+)'s) (?:ok|okay|approval|permission|sign-?off|go-ahead|review|"
        r"consent|blessing)\b",
        r"\b(?:off limits|hands off|read[- ]only)\b",
        r"\bwithout (?:asking|telling|me|us)\b|\bI want you to\b|\b(?:before|until|unless) I\b",
    ),
    prefers=(
        r"\bI (?:(?:really|always|much|do|strongly|generally) )?(?:prefer|like|love|hate|dislike|"
        r"can't stand)\b(?! (?:it|that|this|what|how|where|the idea|to (?:see|hear)|being)\b)",
    ),
    orders_always=(
        r"<clause>from (?:now|here) on,? (?!the\b|our\b|it\b|we\b|they\b|he\b|she\b|an?\b|there\b)\w+",
        r"<clause>(?:use|keep|put|write|call|name|add|run|send|make|give|start|end|show|leave|skip|stop) "
        r"[^.;:!?]+ from (?:now|here) on\b",
        r"<clause>(?:only )?(?:always|never),? (?!(?:more|less|fewer|over|under|above|below|before|after|"
        r"again|mind|being|having|nice|good|great|fun|lovely|the|an?|in|on|at)\b)<no_tale>\w+",
        r"<clause><do_not> (?:ever )?\w+",
        r"<clause>no [^,;.]+, (?:please|ever|thanks)\b",
    ),
    in_general=(
        r"\b(?:always|never|ever|every|each|any|all|anywhere|everywhere|whenever|throughout|nothing|nobody|"
        r"no (?!idea|problem|worries|need|way|one|longer|more)\w+|none|neither|only|without|whole|across|"
        r"in general|generally|as a rule|by default|from (?:now|here) on|at all times)\b",
    ),
    all_done=(
        (
            r"\b(?:last|end|rest) (?:one |item |point |thing )?(?:of|on|from) (?:the |our |my )?(?:\w+ )?"
            r"(?:(?:todo|to-do) )?list\b"
        ),
        (
            r"\b(?:all|everything) (?:of it |\w+ )?(?:on|from) (?:the|our|my) (?:(?:todo|to-do) )?list "
            r"(?:is|are)(?: now)? (?:done|finished)\b"
        ),
        r"\blast (?:one )?of the (?:two|three|four|five|six|todos|to-dos|tasks|items)\b",
    ),
    leaves_open=(
        r"\b(?:that|this|it|which) (?:only |just )?leaves ([^.!?]+)",
        r"\b(?:still|only) (?:open|left|missing|to do)(?: is| are|:)? ([^.!?]+)",
    ),
    to_do=(r"\b(?:todo|to-do)\b|\bon the list\b",),
    makes=(
        r"\b(?:do|make|build|add|write|implement|start (?:with|on)|go on with|let's|please|now|next|then|ok|"
        r"okay)\b",
    ),
    done=(
        r"^(?:all )?done\b(?= ?[.,:;!–—-])",
        (
            r"\b(?:that|this|which|it)(?:'s| is| was| makes| were)? (?:the )?(?:first|second|third|last|next|"
            r"number \w+|item \w+|point \w+)\b[^.?!]{0,20}\blist\b"
        ),
        r"\b(?:tick|check|cross|strike) (?:\w+ ){1,4}off\b|\b(?:is|went|has gone|was sent) out\b|"
        r"\b(?:(?:ticked|checked|crossed|struck) off|(?:is|are|it's|that's|all) done|finished|completed|"
        r"in place now)\b",
    ),
    of_the_user=(
        r"\b<person>(?:'s|s'|s)? (?:(?:has|have|is) )?<wills>\b",
        r"\b<person> is <name>",
        r"\b<wills> of the <person>\b",
        r"^\W*(?:i|i'm|my|please|kindly)\b",
        r"\b(?:standing|permanent) (?:rule|order|instruction)s?\b",
        # Who is in charge, and what they may do.
        r"\b(?:maintainer|owner|admin(?:istrator)?|lead|boss)s? (?:of .{2,40} )?(?:is|are) <name>",
    ),
    binds=(
        # Misspelt as people type it: Wikipedia, "Lists of common misspellings".
        r"\b(?:al+[wasy]{3,5}|never(?! mind)|nev(?:r|re)|nver|must|mustn't|shall not|"
        r"from now on|from here on|every time|"
        r"not (?:ok|okay|allowed|acceptable))\b",
    ),
    obliges=(
        r"(?<!don't )(?<!doesn't )(?<!not )(?<!\bI )\b(?:has|have) to\b|"
        r"\b(?:you|u|we|it|they) gotta\b",
        r"\bmay (?:only|not|never)\b|\b(?:is|are|you're) (?:not|never) (?:to|supposed to|allowed)\b",
        r"\b(?:nothing|nobody|no one|neither|not (?:a single|one))\b(?: [^\s,;.]+){0,7} "
        r"(?:may|can|gets?|goes|lands?|leaves?|ships?|touches|changes|edits|moves|is|are)\b",
        r"\bonly (?:(?:the |our |by |to )?\w+ ){1,3}(?:may|can|is allowed|are allowed)\b",
        r"(?:^|[,:;] )(?:\w+ )?only\b(?! (?:if|when) (?:possible|needed|useful))|\bonly(?=[,.]|$)|"
        r"\bonly (?:the|what|where|when|if) \w+ (?:you|I|we)\b",
        r"\b(?:frozen|hands off|your hands off|off[- ]limits|read[- ]only|strictly|strict limit|"
        r"without exception|no exceptions?|no excuses|full stop|mandatory|by law|"
        r"(?:that's|it's|is) (?:the )?law|legally|by contract|solely|or nothing|"
        r"zero (?!or\b|based\b|to\b|in\b)[a-z]\w+ (?:in|on|under|for))\b",
        r"\b(?:every|each|all|any|anything|everything|whatever|new)\b.{1,60}"
        r"\b(?:needs?|requires?|goes through|go through)\b",
        r"\b(?:stays?|remains?) (?:below|under|above|within|out of|off|inside|unmodified|unchanged|untouched)"
        r"\b",
        r"\b(?:at least|at most|no more than|never more than) (?:one|two|three|four|\d)",
        r"\bneeds? (?:my|our|the|an?) (?:ok|okay|approval|permission|sign-?off|go)\b|\bneed my ok\b",
        r"\bor (?:we|it|they|you|I|the \w+|our \w+)(?:'ll)? (?:\w+ )?"
        r"(?:gets? |needs? |fails?|breaks?|cuts?|loses?|dies|stutters?|crash|lock|ban|pay|sue)",
        r"\b(?:keep|stay|get)\b(?: [^\s,;]+){0,5} (?:out of|away from|off)\b",
        r"\b(?:no[- ]go|no[- ]no|taboo|unacceptable|zero tolerance|out of the question|not optional|"
        r"not negotiable|non-negotiable|not an option|hard limit|nowhere else|no matter what|byte for byte|"
        r"at the latest|don'?t you dare)\b",
        r"\b(?:is|are)(?:n't| not) (?:allowed|permitted|negotiable|optional|acceptable|an option|"
        r"tolerated)\b",
        r"\b(?:gets?|is|are) (?:rejected|refused|bounced|reverted|thrown out)\b|"
        r"\b(?:doesn't|don't|does not|do not) (?:get|go|ship|belong|land)\b",
        r"\b(?:nobody|no one) (?:but|except|other than)\b|\breserved (?:for|to)\b|"
        r"\b(?:isn't|aren't|is not|are not|is none of|are none of) (?:ours?|yours?|my|mine|for us|for you)\b",
        r"\b(?:I|we) (?:forbid|insist|refuse|won't (?:accept|have|merge)|will not (?:accept|have|merge))\b",
        # About a thing, the same words say what fails: "our CI can't run docker".
        r"\b(?:you|we) (?:can't|cannot)\b(?! (?:go wrong|find|get|hurt|read|see))|"
        r"\b(?:can't|cannot) (?:be|change|contain|depend|go|leave|move)\b",
        r"\b(?:need|are|is) to be \w+(?:ed|en|t)\b",
        r"\bit(?:'s| is) (?:essential|vital|crucial|critical|imperative|compulsory)\b",
        r"\b(?:obliged|legally bound|contractually bound|bound by)\b|"
        r"\b(?:law|gdpr|regulations?|regulators?|contracts?|compliance(?: \w+)?|auditors?|policy|"
        r"guidelines?|standards?|linter) "
        r"(?:says?|requires?|demands?|insists?|forbids?|wants?|prescribes?|mandates?|rejects?)\b",
        r"\bneither\b[^,;.]+\bnor\b",
        r"(?<!to )\bask (?:me |us )?(?:first|before)\b|\bwithout (?:asking|telling) (?:me|us)\b",
    ),
    condition=(
        r"^(?:<openings>,? |please )*(?:when(?:ever)?|if|while|every time|each time|anytime|before|after|"
        r"for|in|"
        r"inside|within|with|on) (?!(?:general|future|fact|doubt|short|now|order|case|all|any case|principle|"
        r"addition)\b)([^,;:.]{3,80}?)(?:[,:] | (?=(?:always|never|please|do not|don't|make sure|use|you "
        r"(?:must|should))\b))",
        r"\b(?:when(?:ever)?|if|every time|each time) ([^,;:.]{3,80})[.!]?$",
    ),
    softens=(
        r"\b(?:prefer|rather|like|love|better|ideally|nice (?:to|if)|if possible|if you can|"
        r"when(?:ever)? you can|try to|as a rule|usually|normally|generally|mostly|tend to|feel free)\b",
    ),
    manners=(
        r"\b(?:answers?|repl(?:y|ies)|explanations?|explain\w*|apolog\w+|emojis?|humou?r|jokes?|sugarcoat\w*|"
        r"flatter\w*|greetings?|pleasantr\w+|summary|summaries|summaris\w+|summariz\w+|bullet points?|"
        r"snippets?|"
        r"abbreviat\w+|alias(?:es)?|charts?|titles?|headings?|exclamation marks?|sentences?|paragraphs?|"
        r"polite|tone|style|comments?|names|clever|what i didn't ask|i (?:can|have to) (?:not )?(?:read|"
        r"maintain)|when(?:ever)? (?:you|u) (?:show|tell|write to|talk to) me)\b",
        r"(?:<clause>(?:just |please )?|\b(?:pls|plz|please|can (?:you|u)|could (?:you|u)) )stop \w+ing\b",
    ),
    forbids=(
        r"\b(?:never|don'?t|do not|must not|mustn'?t)(?: ever)? \w+ (?:anything|things|stuff|packages) "
        r"(?:with|via|through|using) ",
        (
            r"\b(?:never(?: ever)*|(?:don'?t|do not|must not|mustn'?t|can'?t|cannot|may not|shall not)"
            r"(?: ever| you dare(?: to)?)?|"
            r"not allowed to|forbidden to|refrain from|(?<!\bI )avoid|stop)\s+"
            r"(?!(?:be|mind|care|like|love|enjoy|need|have|bother|worry|know|get|stand|understand|"
            r"hesitate)\b)"
            r"(?=[\w`\"'])"
        ),
        r"\bwithout (?=(?:using|adding|touching|changing)\b)",
        r"\b(?:I|we) forbid (?:you to |you |to )?",
        r"\bout of the question to ",
        r"(?<!to )\bask (?:me |us )?(?:first )?before (?:you (?:ever )?)?",
        r"\b(?:need|have|has|got) to ask (?:me|us) (?:first )?(?:before|b4) (?:you |u )?",
        r"\b(?:before|b4) (?:you|u) (?=[^.;]{2,60}\b(?:ask|check with|tell) (?:me|us)\b)",
        r"\bunder no circumstances?(?: (?:do|may|should|can|must|shall))?(?: (?:you|u|we))? "
        r"(?=\w)(?!(?:may|is|are|should|must|can)\b)",
        r"\b(?:nobody|no one) (?:may |can |ever )?"
        r"(?=(?:touch|edit|chang|modif|delete|deletes|deleting|remov|(?:force[- ])?push|merg|deploy|"
        r"writes? to|commits?\b|install)\w* (?!.*\b(?:any ?more|these days)\b))",
        r"\b(?:only|nobody but|no one but) (?:(?-i:[A-ZÀ-Þ])[\w-]+|me|the (?:[\w-]+ ){1,2}(?:team|people|"
        r"admins?)|"
        r"(?:the )?[\w-]+ (?=(?:may|can) )) ?(?:may |can )?"
        r"(?=(?:touch|edit|chang|modif|delete|deletes|deleting|remov|push|merg|deploy|runs?\b|writes? to|"
        r"commits?\b|install)\w* )",
    ),
    bans=(
        r"(?:^|[,;:.(—–-]\s*|\b(?:and|so|but|or|please|with|from (?:now|here) on) )(?:absolutely )?"
        r"(?:no|zero) (?!need\b|reason\b|rush\b|based\b|or\b|to\b|in\b)(?:more )?",
    ),
    forbidden=(
        r"^(?:the )?(.{1,60}?)(?: folder| directory| files?)? (?:is|are) "
        r"(?:off[- ]limits|forbidden|banned|not allowed|a no[- ]go|a no[- ]no|taboo|out of the question|"
        r"reserved (?:for|to)|none of your business)\b",
        r"^(.{1,60}?) (?:must|may|should|can)(?:n't| not| never) (?:ever )?be (?:\w+ or )?"
        r"(?:chang|edit|touch|modif|writt|mov|renam|delete|remov|overwr)\w*",
        r"<path>[^.;!?]{0,60}?\b(?:must|may|should|can|is|are)(?:n't| not| never| under no \w+)(?: to)? "
        r"(?:ever )?be (?:\w+[ -]){0,2}(?:chang|edit|touch|modif|writt|mov|renam|delete|remov|overwr|"
        r"regenerat|rebuild|rebuilt|reformat)\w*",
        r"[,;:] (?:the )?(\S+(?: \S+)?) (?:is|are) (?:strictly |absolutely )?(?:off[- ]limits|forbidden|"
        r"banned|prohibited|not allowed|taboo)\b",
        r"^(.{1,40}?) (?:is|are) (?:strictly |absolutely )?(?:prohibited|no no|verboten)\b",
        r"([\w.:]+(?:\(\))?)(?:, [^,;.]{1,40},)? (?:may|must|can|should) ?(?:not|never) (?:ever )?"
        r"(?:appear|be used|show up|turn up|occur)\b",
        r"\bnever (?:go|land|end up|belong)(?:e?s)? in(?:to)? (?:the )?<path>",
        r"<path> (?:is|are) (?:only )?(?:edited|changed|written) (?:only )?(?:w/|with|by|through|via) ",
        r"\b(?:stay|keep|get) (?:out of|away from|off|clear of) (?:the )?<path>",
        r"\bkeep ((?:[^\s/]+ ){0,2}[^\s/]+) out of (?:the|our|this) (?:code\w*|app\w*|library|project)\b",
        r"<path>[^.!?]*, (?:so )?(?:hands|fingers) off\b",
        r"^(.{0,20}\b(?:dependenc(?:y|ies)|packages?|librar(?:y|ies)))\b[^.]{0,20} (?:needs?|requires?|"
        r"goes through|"
        r"go through) (?:me|my|our|an?|the)\b",
        r"\b(?:leave|keep) (.{1,60}?) (?:alone|untouched|as (?:it|they|is)\b)",
        r"^(.{1,60}?) (?:stays?|remains?|must stay) (?:exactly )?(?:as|untouched|unchanged)\b",
        r"\b(?:hands|fingers) off (?:of )?(?:the )?<path>",
        r"\bnothing (?:under|in|inside|below) <path>,? (?:(?:(?:may|can|must|should) (?:be )?|gets? |is "
        r"(?:to be |ever )?)(?:chang|edit|touch|modif|mov|writ|remov)\w*|changes)\b",
        r"<path>(?: folder| directory)? (?:is|are) (?:append[- ]only|read[- ]only|frozen|locked|(?:auto-?|"
        r"code-?)?"
        r"generated|vendored)\b",
        r"<path> (?:must|has to|have to|needs? to|should) (?:remain|stay|be left) "
        r"(?:untouched|unmodified|unchanged|intact|as (?:it|they) (?:is|are))\b",
        r"\bin <path> you (?:may|can) (?:only )?read\b",
        r"\bonly (?:touch|edit|change|modify) <path> (?:when|if|after)\b",
        r"^(.{1,40}?) is (?:done |run )?(?:by|for|reserved (?:for|to)) humans\b",
    ),
    uncommitted=(
        r"\b(?:never(?: ever)?|don'?t(?: ever)?|do not(?: ever)?) commit (?:anything|stuff|files?) "
        r"(?:from|in|under|inside) <path>",
        r"<path>(?: files?)? (?:must |has to |should )?(?:stays?|remains?|is kept) out of (?:git|"
        r"version control|(?:the|our|this) repo\w*)\b",
        r"\bkeep (?:the |our |any |every )?<path>(?: files?)? out of (?:git|version control|(?:the|our|"
        r"this) repo\w*)\b",
        r"<path>(?: files?)? (?:(?:must|may|should|can)(?:n't| not| never)|never|doesn't|does not|don't) "
        r"(?:ever )?"
        r"(?:be (?:committed|checked in)|(?:go|goes|belong) (?:in|into|to) (?:git|version control|(?:the|"
        r"our|this) "
        r"repo\w*))\b",
    ),
    confines=(
        r"\bonly (?:ever )?(?:edit|chang\w+|write|touch|modify|work|create)(?: \w+){0,2}? "
        r"(?:in|to|under|inside|within|below) (?:the )?(?=\S*/)",
        r"\b(?:stay|keep) (?:inside|within|under|below) (?:the )?(?=\S*/)",
        r"(?:\bnever|<do_not>)(?: ever)? (?:edit|change|write|touch|modify|create) (?:anything|any files?|"
        r"files) "
        r"(?:outside(?: of)?|except (?:in|under)) (?:the )?(?=\S*/)",
    ),
    over=(
        r"\b(?:instead of|rather than|in place of) (?:using )?",
        r", (?:and )?not (?:with )?(?=\S)",
    ),
    deeds={
        "change": (
            r"touch|edit|modif(?:y|ies)|chang|alter|overwrit|rewrit|reformat|renam|patch|mess with|update\b|"
            r"(?:put|add|stuff) (?:it|that|this|them|things?|anything|more) (?:in|into|to)\b|"
            r"writ(?:e|ing) (?:in)?to\b|writ(?:e|ing) any"
        ),
        "delete": r"delete|deleting|remov|eras|wip(?:e|ing)|rm\b",
        "use": (
            r"us(?:e|es|ing)\b|wants?\b|set\b|pass\b|run|call|execute|executing|start|launch|invok|"
            r"install|import|add|"
            r"put\b|"
            r"introduc|depend"
        ),
    },
    object_ends="""
        in into on onto under within inside outside except unless without for from to with by at before
        after until because since against over across through as so it its it's we you they i use but
        that which who please pls ever anymore here there directly yourself everywhere anywhere anyway
        again is are was when while if just only all yourself myself himself herself
    """,
    quantifiers="each every any all single",
    determiners="""
        the a an any anything every each this that these those our my your its new more extra other
        further existing files file folder folders directory directories dir code library package tool
        command module statement statements call calls keyword keywords comments always only just rather
        branch straight directly
    """,
    within=r"in|into|inside|within|under|on|to|for|against",
    acts={
        "force-push": "git push --force",
        "force push": "git push --force",
        "force pushes": "git push --force",
        "force pushing": "git push --force",
        "force-pushing": "git push --force",
        "push --force": "git push --force",
        "push -f": "git push --force",
        "push": "git push",
        "commit": "git commit",
        "commits": "git commit",
        "amend": "git commit --amend",
        "rebase": "git rebase",
    },
    tabs=(r"tabs?(?: characters?)?$",),
    places="here box machine repo repository project server laptop codebase",
    product="library app application production prod",
    outside=r"outside(?: of)?|except (?:in|for|under)|but (?:in|for)",
    dependencies="dependency dependencies library libraries lib libs package packages dep deps",
    instead=(
        (
            r"\b(?:instead of|rather than|in place of|no longer|over to|away from|replac\w+|drop(?:ping)?|"
            r"abandon\w+)\b"
        ),
        r"\binstead\b",
    ),
    changed_mind=(
        (
            r"\b(?:chang(?:ed|e|ing) (?:my|our) minds?|on second thoughts?|scrap that|forget (?:that|"
            "about)|actually|no,? wait|on reflection|change of plans?|after all|scratch that|finally,? "
            r"let's)\b"
        ),
    ),
    goes=(
        r"\b(?:instead of|rather than|in place of|in lieu of) (?:using )?<thing>",
        r"(?<!n't )(?<!not )(?<!never )\b(?:replac(?:e|es|ed|ing)) (?:the |our )?<thing> (?:with|by)\b",
        r"(?<!n't )(?<!not )(?<!never )\b(?:swap|trade|exchange|we (?:swapped|traded|exchanged)) "
        r"(?:the |our )?<thing> (?:for|against)\b",
        r"\b(?:switch|mov|migrat|chang|go|went)\w* (?:[\w'-]+ ){0,5}?from <thing> to\b",
        r"(?:^|[,;:] )([\w.+#-]*[\w+#]) (?:is|was|feels|has become|turned out) (?:\w+ )?too \w+[,;:]? "
        r"(?:and |so )?"
        r"(?=(?:let's |please |we(?:'ll)? )?(?:use|take|go|switch|try|make|move)\b)",
        r"\b(?:drop|forget|scrap|ditch|dump) (?:about )?<thing>(?=[,;:]? (?:and )?(?:let's |please |"
        r"we(?:'ll)? )?"
        r"(?:use|take|go|switch|try|do|make|move)\b)",
        r"\b(?:was|used to be) <thing>(?=[,;] (?:and |but )?(?:now|it's|it is))",
        ", (?:and )?not <thing>[.!]?$",
        r"\b(?:actually|after all|on second thoughts?|on reflection),? not (?:the |a )?<thing>"
        r"(?=[,;:]| but\b)",
        r"\bno longer (?:us(?:e|es|ed|ing)|rel(?:y|ies) on|runs? on) (?:the |our )?<thing>",
        r"\b(?:don't|doesn't|do not|does not) (?:use|rely on|run on) (?:the |our )?<thing>"
        r"(?=[^.;:!?]{0,100}\bany ?(?:more|longer)\b)",
    ),
    gone=(
        (
            r"\b(?:forget(?: about)?|scrap|ditch|drop|dump|abandon|get rid of|no more|remov(?:e|"
            r"ed|ing)|"
            r"deleted?|deleting|dropp(?:ed|ing)|took out|throw out|replac(?:es|ed|ing)|"
            r"t(?:akes|ook|aking) the place of|(?:good)?bye|farewell) (?:the |our |all )?"
            r"((?:[\w.+#/-]+[ ,]*){1,4})"
        ),
        r"\b(?:we|we're|we are|let's) (?:leav(?:e|ing)|quit(?:ting)?|mov(?:e|ing) (?:off|away from)) "
        r"(?=(?-i:[A-Z])|<known>)(?!<weekday>|<month>)((?:[\w.+#/-]+[ ,]*){1,4})",
    ),
    removed=(
        (
            r"(?<![\w.+#/-])((?:[\w.+#/-]+ ){0,4}?[\w.+#/-]+) (?:is|are|was|were|has been|have been) "
            r"(?:now |all |both )?(?:gone|removed|deleted|dropped|uninstalled|retired|off the table|history|"
            r"(?:dead|toast) (?:for|to) us\b|out(?=[,.;!]|$))"
        ),
        (
            r"\b(?:removed|deleted|dropped|uninstalled|ripped out|took out|threw out|got rid of) "
            r"(?:the |all |our |both )?((?:[\w.+#/-]+ ?){1,4})"
        ),
    ),
    built_on=(
        (
            r"`([\w./-]+)` (?:now |again |still )?(?:is|sits|works|runs|lives|stores|writes|reads|points|"
            r"talks|goes|uses|comes|moved|renders?) ([^.;]{1,60})"
        ),
        (
            r"^(?:the |our )?([^\W\d_]{3,}) (?:is|runs|sits|lives|uses|goes to|on) "
            r"((?:(?:now|again|back|still|on|in|a|an) )*[\w`]\S*)"
        ),
    ),
    picks=(
        r"(?:^|[,;:.!?] |[–—-] )((?:[\w+#/.-]+ ?){1,3}?) it is\b(?= ?(?:[,;:.!–—-]|$|then\b|for\b))",
        (
            r"\b(?:went|going|go|gone|decided|opted|settled|agreed) (?:with|for|on) (?:the |an? )?"
            r"((?:[\w+#/.-]+ ?){1,3})"
        ),
        (
            r"\b(?:switch(?:ed|ing)?|mov(?:e|ed|ing)|migrat(?:e|ed|ing)) (?:(?:everything|it|all|this|them|"
            r"over|the \w+) )*to (?:the |an? )?((?:[\w+#/.-]+ ?){1,3})"
        ),
        r"\blet's (?:use|take|go with|do) (?:the |an? )?((?:[\w+#/.-]+ ?){1,3})",
    ),
    changes=(
        (
            r"\b(?:no longer|any ?more|instead|scrap|ditch|forget (?:the|about)|after all|actually|back to|"
            r"it is|went with|from (?:here|now) on|removed|deleted|replaced|renamed|moves? to|moved|"
            r"switch(?:ed)?)\b"
        ),
    ),
    moves_on=(
        (
            r"\b(?:now|no longer|any ?more|instead|mov(?:e[sd]?|ing)|chang(?:e[sd]?|ing)|finally|after all|"
            r"from (?:here|now) on|scrap|drop(?:ped)?|ditch|forget|done|finished|shipped|closed|gone|removed|"
            r"deleted|replaced?|renamed|switch(?:ed)?|back to|it is|went with|actually|turns out|as of|since|"
            r"new|raised?|lower(?:ed)?|bump(?:ed)?|only|just|until|over|left)\b"
        ),
    ),
    eases=(
        (
            r"\b(?:fine|ok|okay|all ?right|may|can|allowed|permitted|free|needn't|no need|need not|"
            r"enough|plenty|when(?:ever)?|wherever|whatever|whichever|yourself|on your own|without|drop|stop|"
            r"forget|skip|scrap|lift(?:ed)?|relax(?:ed)?|care|matters?|harm|nice|welcome|trusts?|good|"
            r"go ahead|agree[sd]?|yes)\b"
        ),
    ),
    remains=(r"\b(?:stays?|keeps?|remains?|still|untouched|as (?:it|they) (?:is|are|was|were))\b",),
    returns=(
        (
            r"\b(?:back to|(?:went|going|go|goes|move[ds]?|moving|switch(?:ed|ing)?) back to|(?:brought|"
            r"bring|"
            r"put|take) back|restored?|restoring|revert(?:ed|ing)? to|return(?:ed|ing)? to) (?:the |our )?"
            r"((?:[\w.+#/-]+ ?){1,4})"
        ),
        r"\b(<known>)(?: \w+)? again\b",
        r"\b(?:actually|after all|no,? wait|on second thoughts?|nah)\b[^.;!?]{0,20}?\b(?:keep|stick "
        r"(?:with|to)|"
        r"stay (?:with|on)) (?:the |our |using )?((?:[\w.+#/-]+ ?){1,3})",
        r"\b(?:keep|stick (?:with|to)|stay (?:with|on)) (?:the |our )?(<known>)(?: \w+)? (?:after all|then|"
        r"anyway)\b",
    ),
    promises=(
        r"\bI(?:'ll| will| won't) |\bfrom (?:now|here) on\b",
        r"^(?:ok(?:ay)?|understood|noted|got it|clear|sure|agreed|good|right|will do)\b[,.:;!–—-]* ",
    ),
    drops_what_was_asked=(
        r"\b(?:the|my|that|this) ((?:[\w'-]+ ){1,5}?)(?:thing|rule|bit|habit|business|stuff|request|wish)\b"
        r"(?: (?:that |which )?(?:I|we)(?:'d|'ve| had| have)? "
        r"(?:asked|wanted|wished|mentioned|told|gave|said|set)\b[^,;.!?:]*)?[,;.!?:–—-]+ "
        r"(?:you can |just |please |let's |we can )?"
        r"(?:drop|forget|scrap|skip|ditch|lose|stop|cancel) (?:it|that|about it)\b",
    ),
    drops_it=(
        r"\b(?:away with|scrap|ditch|drop|dump|get rid of|throw out) (?:it|that|them|all of it)\b(?! \w+ing)",
    ),
    suffices=(
        r"\b([\w.+#/-]*[\w+#]) (?:is|would be|will be|'s) (?:enough|plenty|sufficient|all (?:I|we) need|"
        r"fine)\b|"
        r"\b([\w.+#/-]*[\w+#]) (?:will do|does the job|suffices)\b",
    ),
    settles=(
        r"\b(<known>)(?: \w+)? it is\b",
        r"\b(?:go(?:ing)?|went|gone) (?:with|for) (<known>)\b",
        r"\b(?:we|let's|I|they)(?:'re|'ve|'ll| are| have| will)? (?:now )?(?:us(?:e|ed|ing)|mov(?:e|ed|ing)|"
        r"switch(?:ed|ing)?|migrat(?:e|ed|ing)|took|take|chose|picked)(?: over)?(?: to)? (<known>)\b",
    ),
    on_leave=(
        r"<who> (?:no longer|doesn't|does not|won't) "
        r"(?:(?:do|look|handle|take|lead|deploy|review|run)\w*)\b(?:[^.;!?]{0,40}\bany ?more)?",
    ),
    permits_it=(r"^(?:\w+ ){0,2}(?:it|them|some|one|ones|those)(?: again| now| too)?$",),
    permits=(
        r"\b(?:you|we|agents) (?:may|can|are (?:now )?(?:allowed|free) to)(?: now| again| also)? "
        r"(?!(?:now )?(?:stop|skip|drop|forget|see|find|imagine|leave out)\b)([^,;.!?]+)",
        r"\b(\w+ing\b[^,;.!?]{0,60}? (?:is|are) (?:fine|ok|okay|allowed)\b[^,;.!?]*)",
        r"\b(?:feel free to|(?:it's|it is|is) (?:ok|okay|fine|allowed)(?: now)? to|go ahead and|you're "
        r"(?:free|"
        r"welcome) to|(?:no need|needn't|don't (?:need|have)) to ask (?:me )?(?:before|for|to)) ([^,;.!?]+)",
        r"<phrase> (?:is|are) (?:(?:fine|ok|okay|good)(?: by| with| for) (?:me|us)|(?:free|open)(?: for you)?"
        r"(?: again| now)?|fair game|allowed|permitted|open for business|(?:fine|ok|okay) after all|"
        r"yours)\b[^,;.!?]*",
        r"<phrase> (?:may|can) (?:now )?(?:change|move|go|be touched|be edited)(?: again| now| "
        r"freely)\b[^,;.!?]*",
        r"<phrase> (?:without asking|yourself|on your own)\b[^,;.!?]*",
        r"<phrase> (?:is|are) (?:good|fine|ok|okay) (?:for [^,;.!?]+ )?(?:as well|too)\b[^,;.!?]*",
        r"<phrase> you (?:can|may) (?!(?:now )?(?:stop|skip|drop|forget|see|find|imagine|leave out)\b)\w+",
        r"\b(?:you )?(?:don't|do not) need my (?:ok|okay|approval|permission) (?:to|for|on) ([^,;.!?]+)",
        r"<phrase> (?:may|can) (?:now |again )?be [\w]+ed\b[^,;.!?]*",
    ),
    asks_first=(r"\bask (?:me|us|her|him|them|(?-i:[A-ZÀ-Þ][\w-]+)) (?:before|first)\b|\bwithout asking\b",),
    limits=(
        r"\b(?:for|when|whenever|if|only|unless|during|in|on|inside|within|after|before|while|except) "
        r"(?!now\b|good\b|general\b)([^,;.!?]+)",
    ),
    answers_in=(
        r"\b(?:answer|reply|respond|speak|talk|write|stick|stay)(?:ing)?(?: to)?(?: me| us)?(?: only| just)?"
        r"(?: in| with| to)? <tongue>\b",
        r"\b(?:your |the |all )?(?:answers|replies|responses)\b[^.;:!?]{0,20}? in <tongue>\b",
        r"<clause>(?:only |just |back to |in )*<tongue>(?: again)?(?:,? please)?,? "
        r"(?:from (?:here|now) on|for (?:the )?answers|only|again|please)\b",
    ),
    answers_as_asked=(
        r"\b(?:in|use|match|follow|mirror) (?:the|whatever|any|whichever|my) language(?: that)?"
        r"(?: I(?:'m| am)? (?:use|using|write|writing|speak|ask|type|wrote)| of (?:my|the) (?:message|"
        r"question)s?)?\b",
        r"\bthe (?:same )?language (?:that )?I (?:use|write|speak|ask|am using)\b",
        r"\bin the same language (?:as|that) (?:me|I|my|mine)\b",
    ),
    in_tongue=(r"\b(?:in|to) <tongue>\b", r"(?:^|[,:] )<tongue> \w+"),
    unwanted=(
        r"n't\b|\b(?:no|not|never|without|stop\w*|drop\w*|skip\w*|scrap|forget|ditch|avoid|hate|dislike|"
        r"enough of|"
        r"(?:sick|tired) of|nerves|too (?:many|much|long|short)|"
        r"(?:gets?|getting|becom\w+) (?:so |very )?(?=long|short|wordy|verbose)|spare me|leave out|(?:is|"
        r"are|be) over)\b",
    ),
    now_wanted=(
        r"\b(?:now|from (?:here|now) on|instead|no longer|any ?more|only|just|enough|plenty|rather|forget|"
        r"drop|"
        r"scrap|skip|no more|after all|does the (?:same|rest)|that's what you)\b",
    ),
    wishes={
        "length": (
            r"\b(?:answers?|repl(?:y|ies)|responses?|explanations?|explain|messages? to me|keep it|be|talk|"
            r"sentences)\b",
        ),
        "length/short": (
            r"\b(?:short(?:er)?|brief(?:er|ly)?|concise|terse|succinct|to the point|one[- ]liners?|"
            r"in (?:one|a) (?:line|sentence)|(?:a )?few (?:words|lines|sentences)|less (?:text|verbose|"
            r"wordy)|"
            r"(?:two|three|2|3) (?:lines|sentences))\b",
        ),
        "length/long": (
            r"\b(?:long(?:er)?|detailed|more details?|in (?:more )?depth|in full|thorough|elaborate|"
            r"verbose|at length|"
            r"wordy)\b",
        ),
        "lists/bullets": (r"\b(?:bullets?(?: points?| lists?)?|bulleted(?: lists?)?)\b",),
        "lists/prose": (
            r"\b(?:prose|paragraphs|full sentences|running text|(?:just|simply) (?:talk|write) to me|"
            r"talk (?:to me )?like a (?:human|person))\b",
        ),
        "emojis/emojis": (r"\b(?:emojis?|smileys?|emoticons?)\b",),
        "recaps/recaps": (r"\b(?:recaps?|summary|summaries|wrap-?ups?)\b",),
        "recaps": (r"\b(?:answers?|end|done|changed|did|recaps?|every time|each)\b",),
        "order/code first": (r"\bcode (?:comes )?first\b",),
        "order/explanation first": (r"\b(?:explanations?|explain|reasoning|plan) (?:comes )?first\b",),
        "explanations/code alone": (
            r"\b(?:(?:just|only) (?:the |show (?:me )?the )?(?:code|diff|patch|command|result)|(?:code|"
            r"diff) only)\b",
        ),
        "explanations/explained": (
            r"\b(?:explanations?|explain(?:ed|ing)?|reasoning|(?:tell|show) me why|walk me through)\b",
        ),
        "pace/one": (r"\bone (?:step|thing|question|change) at a time\b|\bstep by step\b",),
        "pace/all": (r"\b(?:all at once|in one go|all in one)\b",),
        "options/several": (
            r"\b(?:(?:two|three|several|a few|2|3) (?:options|alternatives|ways)|give me options)\b",
        ),
        "options/one": (
            r"\b(?:one recommendation|just your pick|(?:just|only) the best one|just pick one)\b",
        ),
        "questions/ask": (
            r"\bask (?:me )?(?:questions|when in doubt|if (?:you're )?(?:unsure|in doubt|not sure))\b",
        ),
        "questions/decide": (
            r"\b(?:just decide|decide (?:for |by )?yourself|use your (?:own )?judgment|use your (?:own )?"
            r"judgement|don't ask so much)\b",
        ),
        "edits/diffs": (
            r"\b(?:(?:only|just) (?:show me |give me |send )?(?:the )?(?:diffs?|patch(?:es)?|changed lines)|"
            r"as (?:a )?diffs?)\b",
        ),
        "edits/whole files": (r"\b(?:whole|full|complete|entire) files?\b",),
        "tone/formal": (r"\b(?:formal(?:ly)?|business ?like)\b",),
        "tone/informal": (r"\b(?:informal(?:ly)?|casual(?:ly)?|relaxed)\b",),
        "tone": (r"\b(?:tone|answers?|talk|speak|write|be|with me|to me)\b",),
        "spelling/british": (r"\bbritish\b",),
        "spelling/american": (r"\bamerican\b",),
        "spelling": (r"\b(?:spell\w*|english)\b",),
        "branch/main": (
            r"\b(?:(?:straight|direct(?:ly)?|commit\w*|push\w*|work\w*) (?:\w+ )?(?:to|on|onto|into) "
            r"(?:main|master|trunk))\b",
        ),
        "branch/branches": (
            r"\b(?:PRs|a PR|(?:pull|merge) requests?|MRs|(?:feature |own |separate )?branch(?:es)?(?= "
            r"(?:per|for each|"
            r"for every))|(?:feature|own|separate) branch(?:es)?)\b",
        ),
        "commit messages": (r"\b(?:commits?|commit messages?|messages|prefix(?:es)?|subject lines?)\b",),
        "commit messages/form": (
            r"\b(?:conventional(?: commits?)?|prefix(?:es|ed)?|imperative|lower ?case|past tense|ticket|"
            r"gitmoji|"
            r"feat/fix|one[- ]liners?|plain (?:\w+ ){0,2}sentences?)\b|\bfeat:",
        ),
        "committer/assistant": (
            r"\b(?:you (?:can |may |should )?commit|commit (?:it |things |everything )?yourself|commit as "
            r"you go|"
            r"commit after (?:each|every))\b",
        ),
        "committer/user": (
            r"\b(?:I(?:'ll| will)? commit|leave (?:the )?commit\w* to me|commits? (?:is|are) mine)\b",
        ),
        "checks/before commit": (
            r"\b(?:before|ahead of|prior to|with|at) (?:you )?(?:(?:every|each|any|a|all|the) )?"
            r"commit(?:s|ting)?\b",
        ),
        "checks/before done": (
            r"\bbefore (?:you )?(?:say|tell|report|call|claim|hand|mark|consider|anything)\b[^.;!?]*"
            r"\b(?:done|finished|ready|complete)\b",
        ),
        "checks/any": (
            r"<clause>(?:(?:from (?:now|here) on|so|you) )*(?:(?:just|only) )(?:run )?(?:the )?(?:tests|"
            r"specs)\b",
        ),
        "checks": (r"\b(?:run|runs|running|rerun|execute|tests?|suite|specs|clean|green)\b",),
        "tongue of comments": (r"\b(?:comments?|docstrings?)\b",),
        "tongue of commit messages": (r"\b(?:commits?|commit messages?)\b",),
        "tongue of names": (
            r"\b(?:identifiers|(?:variable|function|class) names|names of (?:variables|functions))\b",
        ),
        "tongue of documents": (r"\b(?:docs|documentation|readme|changelog)\b",),
        "tongue of the interface": (r"\b(?:ui|interface|labels|buttons|error messages|texts)\b",),
    },
    restricts=(
        r"(?<!not )\b(?:only|just|solely)(?: (?:needed|necessary|required|run|worth it|write to it|once))? "
        r"(?:when|if|before|for|in|on|after|where|with|the ones?)\b",
        r"\b(?:rule|ban|limit|restriction|policy|wish|thing)s? (?:is|are|was|now)? ?(?:now )?only\b",
    ),
    tongues={
        each: each
        for each in (
            *(
                "arabic",
                "chinese",
                "czech",
                "danish",
                "dutch",
                "english",
                "finnish",
                "french",
                "german",
                "greek",
            ),
            *("italian", "japanese", "korean", "norwegian", "polish", "portuguese", "russian", "spanish"),
            *("swedish", "turkish", "ukrainian"),
        )
    },
    now_so=(r"\b(?:now|no longer|from now on|instead|enough|plenty|make it)\b",),
    totals=(
        r"\b(?:\d+|another|an additional) (?:more |new |other |further )?(\w+)\b[^.!?]*?\b"
        r"(?:that's|that makes|makes|so we have|we have|are|now) (?:it |them )?(\d+)\b"
        r"(?= (?:in total|in all|altogether|now)|[.!]?$)",
    ),
    ordinals_from_two="second third fourth fifth sixth seventh eighth ninth tenth",
    comes=(
        r"\b(?:arriv\w+|com(?:es|ing)|came|join\w+|(?:was|is|were) (?:added|bought|installed|hired)|"
        r"we (?:got|get|bought|added|hired))\b",
    ),
    only_for=(r"\b(?:but )?only (?:for|in|on|with)\b",),
    becomes=(
        r"\bfrom (\d[\d.,:]*)(?: ?[^\W\d]{1,12})? to \d",
        r"(?<![\d.,])(\d[\d.,:]*)(?: ?[^\W\d]{1,12})? (?:becomes?|became|are now|is now|→|->) \d",
    ),
    asks_to_change=(
        (
            r"\b(?:raise|increase|lower|reduce|decrease|change|bump|double|halve|extend|shorten|widen|"
            r"loosen|tighten) (?:it|that|this|them|the (?:limit|value|number))\b"
        ),
        (
            r"\b(?:is|would) (?:it|that|this) (?:be )?(?:enough|too (?:low|high|short|long|few|many|small|"
            r"big|much))\b"
        ),
    ),
    switches=(
        r"(?:(?:so|then|please|ok|let's|we(?:'ll)?),? )*(?:switch|move|migrate|change|go)(?: over)? to "
        r"(?=(?-i:[A-ZÀ-Þ])|<known>)",
        r"(?:(?:so|then|please|ok|let's|we(?:'ll)?),? )*(?:use|take) (?=(?-i:[A-ZÀ-Þ][\w.+#-]*)|<known>)"
        r"(?=[^.!?]*\binstead\b)",
    ),
    sets=(
        r"^((?:[\w'-]+ ?){1,4}?) ?: ?(?:rather |now |make it |better |no,? |instead )(?=\d)",
        (
            r"\b(?:bump|raise|lower|increase|reduce|decrease|set|change|cut|extend|shorten|limit|move|shift|"
            r"postpone|delay)(?:e?d|s)? ((?:[\w'-]+ ){1,5}?)to (?=\d)"
        ),
        r"((?:[\w'-]+ ){1,5}?)(?:is|are) (?:now|down to|up to) (?=\d)",
        r"\b(?:slow|speed|throttle|space)(?:ed|s)? ((?:[\w'-]+ ){1,6}?)(?:down |up |out )?to "
        r"(?:one |1 |once )?(?:each|every|per|an?) (?=\d)",
    ),
    bounds=(
        r"\b(?:must|at (?:least|most)|above|below|over|under|minimum|maximum|min|max|limit|limits|limited|"
        r"threshold|(?:more|less|fewer) than)\b",
    ),
    to_mend=(
        r"\b(?:bugs?|fail(?:s|ed|ing)?|failures?|wrong(?:ly)?|strange(?:ly)?|weird(?:ly)?|errors?|broken|fix|mend|"
        r"repair|investigate|should (?:be|stay|have)|warn|alert|"
        r"simulat\w+|tests?|expect\w*|assert\w*)\b",
    ),
    rises=(
        r"((?:[\w'-]+ ){1,3}?)(?:now )?(?:go(?:es)?|drops?|falls?|rises?|climbs?|"
        r"com(?:es?|ing)) (?:back )?(?:down |up )?(?:from \d\S* )?to (?=\d)",
        r"((?:[\w'-]+ ){0,2}[\w'-]+),? (?:so |and )?(?:it|they) (?:now )?"
        r"(?:go(?:es)?|drops?|f[ae]lls?|rises?|climbs?|comes?) (?:back )?(?:down |up )?to (?=\d)",
    ),
    names_value=(
        r"^(?:<openings>,? |no,? |actually,? |from now on,? |now,? |well,? |ok(?:ay)?,? )*"
        r"(?:the|our|my|all) <topic> (?:is|are|was|will be|should be|must be|has to be|becomes)(?: now)? "
        r"(?:the |called |named )?<named>(?:,? (?:now|instead|again|from now on))?(?:[.!]?$|, not )",
        r"\b(?:set|change|switch|move|rename|make|turn) (?:the|our|my) <topic>(?: from \S+)? (?:to|into) "
        r"<named>(?:[.!]?$|[,;])",
        r"^(?!note|todo|fyi|btw|ps|edit)<topic>: <named>(?: instead)?[.!]?$",
    ),
    value_of=(
        r"\b(?:use|uses|using|take|go with|have|pick|choose) <named> (?:as|for) (?:the |our |my )?<topic>"
        r"(?:[.!]?$|[,;]| from now on| instead)",
        r"(?:^|[:,] )([\w.+#/-]*\w[+#]*) as (?:the |our |my )?<topic>[.!]?$",
    ),
    renews=(
        r"\b(?:now|instead|no longer|not|from now on|chang(?:e|ed)|switch(?:ed)?|rename|rather|actually|"
        r"changed my mind|becomes|after all)\b|^no\b",
    ),
    name_behind=(
        r"^(?:no,? |hm+,? |actually,? |sorry,? |wait,? |ok(?:ay)?,? |oh,? )*(?:please )?(?:make (?:it|that)|"
        r"change (?:it|that) to|rather|I meant?|I'd rather (?:have|use)|better) <proper>(?:,? please)?[.!]*$",
        r"^(?:no,? |hm+,? |actually,? |sorry,? )*(?:use |take |let's (?:use|take|do|go with) )?<proper> "
        r"instead(?:,? please)?[.!]*$",
        r"^(?:no|nope|actually|no wait|oh no|no no|hm+,? no|no,? actually|let's say|say),? "
        r"<proper>(?:,? please)?[.!]*$",
    ),
    name_for_name=(
        r"^(?:sorry,? |no,? |hm+,? )*not [\w.+#-]+[,;:] (?:but )?<named>[.!]*$",
        r"^(?:no,? |rather )*<named>(?:,? please)?,? (?:(?:and )?not|instead of|rather than) [\w.+#-]+[.!]*$",
        r"^(?:please )?(?:change|replace|swap|turn) [\w.+#-]+ (?:to|with|by|for|into) <named>[.!]*$",
    ),
    value_change_words="""
        a actually after again ah all and at be better bit but change cut decrease down drop enough few fine
        go half have high hm hmm hold i i'd i'll i'm increase instead is it it's just keep large less let
        let's lets little long lower low make many mean meaning meant much nah nevermind no nope not now of
        oh ok okay on oops or pls please prefer put raise rather reduce replace said say says second set
        shall short should slow small fast big sorry still take than that that's the them then this thought
        thoughts to too try typo up us use wait want was way we we'd we'll well will with would wrong yeah
        yes by into back bump swap
    """,
    objects_to_value=(
        r"\b(?:no|nope|nah|not|wrong|typo|sorry|oops|rather|instead|better|actually|meant|too|second "
        r"thoughts?|"
        r"make (?:it|that|this|them)|(?:lower|raise|increase|decrease|reduce|cut|drop|bump|change|replace|"
        r"swap|"
        r"put|set|keep) (?:it|that|this|them|\d)|on (?:the )?second|enough|would be (?:fine|better))\b",
    ),
    gives_value=(r"\b(?:use|take|say|go with|try|set|put|prefer|please|pls|i'd|let's)\b",),
    leaves=(
        (
            r"<who>(?:'s)? (?:has |have |just |already |is )*(?:left|quit|resigned|gone|retire[ds]|leaves|"
            r"leaving|"
            r"no longer (?:here|around|with us|on the (?:team|project))|(?:been )?(?:laid off|let go))"
            r"(?: (?:the (?:team|company|project)|us))?"
            r"(?: (?:(?:at the end of|in|on|last|this|next) (?:<month>|<weekday>|week|month|summer|year)|"
            r"for (?:another|a new|a different) \w+|yesterday|today|for good|\w+ (?:days|weeks|months) ago))?"
            r"(?=\s*(?:[,.;:!(–—]|and\b|so\b|$))"
        ),
        r"<who> (?:isn't|is not) (?:here|around|with us|on the (?:team|project)) any ?more\b",
        r"<who>'s last day (?:here |with us |at work )?(?:was|is)\b",
        r"\b(?:said|say) (?:good)?bye to <who>",
        r"<who> (?:is|goes|went) on (?:\w+ )?leave\b",
        r"\b(?:replaces|(?:takes|took) over from|succeeds) <who>",
    ),
    stops_doing=(
        r"(?<!n't )(?<!never )(?<!not )(?<!without )\b(?:stop|quit) (?=\w+ing\b|with\b)",
        r"(?:<clause>|\bplease )no more (?!than\b|of (?:that|this)\b)",
        r"<clause>no (?=[^.!?,;:]{3,60} (?:any ?more|any longer)\b)",
    ),
    stops=(
        (
            r"\b(?:no (?:more |longer )?need|no longer (?:need|want|have|necessary|required)|"
            r"not? (?:needed|necessary|required) (?:any ?more|any longer|now))\b"
        ),
        (
            r"\b(?:don't|do not|needn't|isn't|aren't|doesn't|won't)\b(?=[^.!?]{0,40}\b"
            r"(?:any ?more|any longer)\b)"
        ),
        r"\byou (?:can|may|could) (?:now )?(?:stop|skip|drop|forget|leave out)\b",
        (
            r"\b(?:forget|ignore|drop|cancel|scrap) (?:about |what I said about |my |the |that |our )?"
            r"(?:rule|ban|wish)\b"
        ),
        r"\bforget (?:about|what I said)\b",
        r"\b(?:is|are) (?:enough|fine|ok|okay|allowed)(?: again)?(?: from (?:now|here) on| again| after "
        r"all)\b",
        r"\b(?:is|are) (?:enough|allowed) now\b",
        r"<clause>(?:forget|scrap|drop|skip|ditch|cancel|lose) (?:about )?(?:the|my|that|those|these|"
        r"all(?: the)?) "
        r"(?:thing|bit|part|idea)?\b",
        r"\b(?:is|are) (?:too strict|overkill|over(?= *(?:$|now))|off(?= *$)|lifted|history|pointless)\b",
        r"\b(?:get|gets|getting|got) on (?:my|our) nerves\b|\b(?:tired|sick) of\b|\btoo many\b",
        r"\bno (?:more )?need for\b|\bnot needed\b",
        r"\byou (?:needn't|(?:don't|do not) (?:need|have) to)\b",
        r"\benough (?:from (?:now|here) on|of)\b",
    ),
    finishes=(
        r"\b(?:tick|check|cross|strike) (?:it|that|this|them) off\b",
        r"\b(?:is|are|was|were|been|got|all|now|it's|that's)(?: now| finally| all)? (?:done|finished|"
        r"completed?|ready|live|"
        r"merged|fixed|written|sent|in place|sorted|solved|shipped|deployed|renewed|removed|migrated|"
        r"rotated|cleaned up|ordered|booked|bought|paid)\b",
        r"^(?:\W*\w+,? ){0,2}?(?:done|finished|completed|took care of|finally)\b(?! we need)",
        (
            r"\b(?:I|we|I've|we've|I have|we have|they|they've)(?: just| now| finally| already| also)? "
            r"(?:did|done|finished|"
            r"completed|reached|fixed|wrote|written|sent|merged|solved|shipped|deployed|renewed|removed|"
            r"migrated|rotated|"
            r"added|called|asked|moved|updated|cleaned|replaced|hit|met|made|ordered|booked|bought|paid)\b"
        ),
    ),
    value_gone=(
        r"\bfrom (?:the |port )?<number>[ \w%]{0,12}? (?:down |up |back )?to \W?\d",
        r"\b(?:change|move|bump|raise|lower|replace|swap|turn) (?:the |port )?<number>[ \w%]{0,12}? (?:to|"
        r"into|by|with) \W?\d",
        (
            r"\b(?:instead of|rather than|in place of|not|no longer|it was|used to be|was|previously|"
            r"formerly) "
            r"(?:set to |the |every |on |at |port )?<number>(?![\d.]*\w*-)"
        ),
        r"<number> ?\w{0,4} ?(?:->|→|=>) ?\d",
        r"<number>(?: ?[^\W\d]+)? (?:do|does|did|wo|ca|ai|is|are|was|were)(?:n't|nt| not)\b",
        r"<number>(?: ?[^\W\d]+)? (?:is|are|was|were|seems?|feels?|looks?) (?:\w+ ){0,2}?(?:too|not enough|"
        r"wrong|slow|small|short|low|tight|harsh|excessive)\b",
        r"\b(?:forget|scrap|drop) (?:about )?(?:[\w'-]+ ){0,6}?(?:of|at) <number>",
        r"\b(?:forget|scrap|drop) (?:about )?(?:the |our |my |those )?<number>",
        r"<number>(?: ?[^\W\d]+)? (?:hides?|lets?|misses|breaks?|costs?|loses?|fails?|blocks?|floods?|"
        r"wastes?|hurts?|annoys?) [^.;:!?\d]{3,60}?, so [^.;:!?\d]{0,40}\d",
        r"<number>(?: ?[^\W\d]+)? (?:is|are|was|were) (?:never|hardly|barely)\b",
        r"<number> (?:is|was|seems) (?:\w+ )?(?:taken|occupied|in use|blocked|gone)\b",
    ),
    purpose=(r"\bfor ([^,.;:!?]+)",),
    place=(r"\bin (?!place|lieu|fav)([^,.;:!?]+)",),
    negated=(
        r"n't\b",
        r"\b(?:not|never|no longer|without|drop\w*|stop\w*|abandon\w*|remov\w+)\b",
    ),
    starts_using=(
        r"(?:(?:ok|so|then|please|let's|we'll|we),? )*"
        r"(?:set up|install|add|use|take|go with|wire in|plug in|put in) ",
    ),
    in_use=(
        (
            r"\b<users>\b(?: now| currently|'re| are)? (?:uses?|using|runs? on|deploys? (?:with|on|to)) "
            "(?:the |an? )?"
        ),
        r"\bour [\w' -]{1,30}? (?:is|are|uses?|runs? on) (?:the |an? )?",
    ),
    tells=(
        (
            r"\b(?:found|fixed|because|cause[ds]?|due to|turn(?:s|ed) out|root|fail(?:s|ed|ing)?|"
            "pass(?:es|ed)?|broke[n]?|bug|error|wrong|missing|added|removed|changed|replaced|renamed|"
            r"moved|created|decided|now|so that|instead|measured|faster|slower|works|must|leak)\b"
        ),
    ),
    finds=(
        (
            r"\b(?:found|because|cause[ds]? |root cause|due to|turn(?:s|ed) out|the (?:bug|problem|issue|"
            r"reason|fix) (?:is|was)|fail(?:s|ed)|fixed|missing|leak|measured)\b"
        ),
    ),
    fills=(
        (
            r"(?:let me|i'll|i will|i'm going to|sure|great|okay|ok\b|certainly|of course|now i|here(?:'s|"
            " is)|would you)"
        ),
    ),
)
