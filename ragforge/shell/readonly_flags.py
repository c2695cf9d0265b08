"""The flags with which commands only read: GNU coreutils, grep, findutils, ripgrep, tree and git.

If a program of the same name on another system (BSD, macOS) gives a letter another meaning, the letter
still only reads there.
"""

from msgspec import Struct


class Flags(Struct, frozen=True):
    """The known flags of a command.

    short, long: without a value; short_values, long_values: with one. A long one in both, and those of
    short_optional, may have one, written in the same word.
    numeric: `-20` is a flag. first_is_pattern: the first operand is a pattern, unless a flag gives one.
    """

    short: str = ""
    short_values: str = ""
    long: frozenset[str] = frozenset()
    long_values: frozenset[str] = frozenset()
    numeric: bool = False
    first_is_pattern: bool = False
    operands_are_paths: bool = True
    operands_max: int | None = None
    files_only: bool = False
    short_optional: str = ""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_HASH = Flags("bt")
_GREP = Flags(
    short="EFGPivwxcLlqsoHhnrbzZTyaIU",
    short_values="emABC",
    long=_names(
        "extended-regexp fixed-strings basic-regexp perl-regexp ignore-case no-ignore-case invert-match "
        "word-regexp line-regexp count files-without-match files-with-matches quiet silent no-messages "
        "only-matching with-filename no-filename line-number recursive text null null-data byte-offset "
        "color colour initial-tab"
    ),
    long_values=_names(
        "regexp max-count after-context before-context context include exclude exclude-dir color colour "
        "binary-files"
    ),
    numeric=True,
    first_is_pattern=True,
)

PROGRAMS: dict[str, Flags] = {
    "ls": Flags(
        short="aAlhrtSRF1dpsicgGnoQqxmNbBCkuvUXZ",
        short_values="Iw",
        long=_names(
            "all almost-all human-readable reverse recursive directory size inode classify color "
            "group-directories-first full-time no-group si numeric-uid-gid"
        ),
        long_values=_names("color sort time time-style format hide ignore width"),
    ),
    "cat": Flags(
        "AbeEnstTuv",
        long=_names("number number-nonblank squeeze-blank show-all show-ends show-tabs show-nonprinting"),
    ),
    "head": Flags(
        "qvz", "nc", _names("quiet silent verbose zero-terminated"), _names("lines bytes"), numeric=True
    ),
    "tail": Flags(
        "qvz", "nc", _names("quiet silent verbose zero-terminated"), _names("lines bytes"), numeric=True
    ),
    "wc": Flags("clmwL", long=_names("bytes chars lines words max-line-length"), long_values=_names("total")),
    "pwd": Flags("LP", operands_max=0),
    "which": Flags("as", operands_are_paths=False),
    "file": Flags("bi0hN", long=_names("brief mime mime-type mime-encoding")),
    "stat": Flags("t", "c", long=_names("terse"), long_values=_names("format printf")),
    "du": Flags(
        "ahscbkmx0",
        "dt",
        _names("all human-readable summarize total apparent-size bytes si null time"),
        _names("max-depth exclude threshold block-size time"),
    ),
    "df": Flags("hHTikaPl", long=_names("human-readable si print-type inodes all local total")),
    "date": Flags("uR", "d", _names("utc universal rfc-email iso-8601"), _names("date iso-8601 rfc-3339")),
    "uname": Flags("asnrvmpio", long=_names("all"), operands_max=0),
    "whoami": Flags(operands_max=0),
    "nproc": Flags(long=_names("all"), operands_max=0),
    "id": Flags("ugnGrz", operands_are_paths=False),
    "grep": _GREP,
    "egrep": _GREP,
    "fgrep": _GREP,
    "rg": Flags(
        short="FivwxcloHNnSsuUaIqpP0",
        short_values="egtTmABCMjdr",
        long=_names(
            "fixed-strings ignore-case invert-match word-regexp line-regexp count files-with-matches "
            "files-without-match only-matching with-filename no-filename line-number no-line-number "
            "smart-case case-sensitive multiline text quiet pretty hidden no-ignore no-ignore-vcs heading "
            "no-heading column json vimgrep stats trim count-matches pcre2 null no-messages version"
        ),
        long_values=_names(
            "regexp glob iglob type type-not max-count after-context before-context context max-columns "
            "threads max-depth color colors sort sortr replace engine max-filesize"
        ),
        first_is_pattern=True,
    ),
    "sort": Flags(
        "bdfghiMnrRsuVzcCm",
        "kt",
        _names(
            "reverse numeric-sort general-numeric-sort human-numeric-sort version-sort month-sort unique "
            "stable check ignore-case ignore-leading-blanks dictionary-order zero-terminated random-sort"
        ),
        _names("key field-separator sort"),
    ),
    # A second operand would be written.
    "uniq": Flags(
        "cdDuiz",
        "fsw",
        _names("count repeated unique ignore-case zero-terminated"),
        _names("skip-fields skip-chars check-chars"),
        operands_max=1,
    ),
    "cut": Flags(
        "snz",
        "bcdf",
        _names("complement only-delimited zero-terminated"),
        _names("bytes characters delimiter fields output-delimiter"),
    ),
    "tr": Flags(
        "cCdst", long=_names("complement delete squeeze-repeats truncate-set1"), operands_are_paths=False
    ),
    "diff": Flags(
        "uqsbBwiEZaNpytc",
        "UCW",
        _names(
            "unified brief report-identical-files ignore-all-space ignore-space-change ignore-blank-lines "
            "ignore-case text new-file side-by-side color strip-trailing-cr minimal suppress-common-lines "
            "context"
        ),
        _names("unified color width context label"),
        files_only=True,
    ),
    "cmp": Flags("bls", "n", _names("silent quiet verbose print-bytes"), _names("bytes"), operands_max=2),
    "basename": Flags("az", "s", _names("multiple zero"), _names("suffix"), operands_are_paths=False),
    "dirname": Flags("z", long=_names("zero"), operands_are_paths=False),
    "realpath": Flags("emLPsqz", long=_names("canonicalize-existing canonicalize-missing no-symlinks quiet")),
    "readlink": Flags("femnqsz", long=_names("canonicalize no-newline quiet")),
    "tree": Flags(
        "adfishpugDFtrUCNnvQAS",
        "LIP",
        _names("dirsfirst noreport gitignore du prune filelimit inodes device sort"),
        _names("sort filelimit"),
    ),
    "md5sum": _HASH,
    "sha1sum": _HASH,
    "sha256sum": _HASH,
    "sha512sum": _HASH,
    "seq": Flags("w", "sf", operands_are_paths=False),
}

FIND_TESTS = _names(
    "-print -print0 -prune -empty -readable -writable -executable -true -false -o -or -a -and -not ! ( ) "
    "-ls -depth -mount -xdev -daystart -nouser -nogroup -noleaf -quit"
)
FIND_TESTS_WITH_VALUE = _names(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -mtime "
    "-mmin -atime -amin -ctime -cmin -newer -anewer -cnewer -maxdepth -mindepth -perm -user -group -uid "
    "-gid -links -inum -printf"
)

_DIFF_LONG = (
    "stat shortstat numstat name-only name-status no-color color color-words word-diff no-ext-diff "
    "no-textconv patch no-patch cached staged minimal histogram patience ignore-all-space "
    "ignore-space-change ignore-space-at-eol ignore-blank-lines summary raw find-renames exit-code quiet "
    "no-renames text check abbrev full-index relative merge-base dirstat compact-summary no-prefix "
    "function-context unified"
)
_DIFF_VALUES = (
    "stat color word-diff unified diff-filter find-renames abbrev inter-hunk-context diff-algorithm"
)
_LOG_LONG = (
    "oneline graph decorate no-decorate all branches tags remotes merges no-merges first-parent reverse "
    "follow abbrev-commit no-abbrev-commit left-right cherry-pick date-order topo-order author-date-order "
    "regexp-ignore-case all-match invert-grep fixed-strings extended-regexp ignore-case source "
    "no-notes full-history simplify-merges ancestry-path count no-walk boundary relative-date pretty"
)
_LOG_VALUES = (
    "since until after before author committer grep format pretty date max-count skip decorate branches "
    "tags remotes decorate-refs exclude min-parents max-parents glob"
)
_DIFF = Flags("puwbaRzMCDWs", "GSl", _names(_DIFF_LONG), _names(_DIFF_VALUES), short_optional="UX")
_LOG = Flags(
    "puwbaRzMCDWsiEFgcm",
    "GSln",
    _names(f"{_DIFF_LONG} {_LOG_LONG}"),
    _names(f"{_DIFF_VALUES} {_LOG_VALUES}"),
    numeric=True,
    short_optional="U",
)

GIT: dict[str, Flags] = {
    "status": Flags(
        "sbz",
        long=_names(
            "short branch porcelain long untracked-files ignored ahead-behind no-ahead-behind renames "
            "no-renames show-stash no-column"
        ),
        long_values=_names("porcelain untracked-files ignored"),
    ),
    "diff": _DIFF,
    "log": _LOG,
    "show": _LOG,
    "rev-list": _LOG,
    "shortlog": Flags(
        "sne", long=_names("summary numbered email all no-merges"), long_values=_names("since")
    ),
    "branch": Flags(
        "avrl",
        long=_names(
            "list all remotes verbose show-current no-color color no-column contains merged no-merged "
            "ignore-case abbrev"
        ),
        long_values=_names("sort format contains merged no-merged points-at color no-contains abbrev"),
    ),
    "tag": Flags(
        "l",
        long=_names("list no-column ignore-case contains merged no-merged"),
        long_values=_names("sort format contains merged no-merged points-at"),
    ),
    "rev-parse": Flags(
        "q",
        long=_names(
            "show-toplevel abbrev-ref short verify quiet git-dir absolute-git-dir git-common-dir show-prefix "
            "show-cdup is-inside-work-tree is-bare-repository is-inside-git-dir symbolic-full-name symbolic "
            "all branches tags remotes revs-only no-revs show-superproject-working-tree is-shallow-repository"
        ),
        long_values=_names("short abbrev-ref"),
    ),
    "ls-files": Flags(
        "cdmoskutz",
        "x",
        _names(
            "cached deleted modified others stage unmerged exclude-standard ignored full-name "
            "error-unmatch deduplicate directory no-empty-directory killed eol"
        ),
        _names("exclude format"),
    ),
    "ls-tree": Flags("drtlz", long=_names("name-only name-status full-name full-tree long")),
    "cat-file": Flags("pste", operands_max=2),
    "merge-base": Flags("a", long=_names("all is-ancestor octopus independent fork-point")),
    "describe": Flags(
        # Without `dirty`, which writes the index, and runs a hook for that.
        long=_names("tags always long all contains exact-match first-parent abbrev"),
        long_values=_names("abbrev match exclude candidates"),
    ),
    "blame": Flags(
        "slwefntcbMC",
        "L",
        _names("porcelain line-porcelain incremental root show-email show-name show-number abbrev"),
        _names("date since abbrev"),
    ),
    "grep": Flags(
        "inwlLcEFGPvqIphaWH",
        "eABCm",
        _names(
            "ignore-case line-number word-regexp files-with-matches name-only files-without-match count "
            "extended-regexp fixed-strings basic-regexp perl-regexp invert-match quiet heading break "
            "show-function function-context cached column text no-color"
        ),
        _names("max-count max-depth after-context before-context context threads"),
        numeric=True,
        first_is_pattern=True,
    ),
    "remote": Flags("v", long=_names("verbose"), operands_max=0),
    "remote get-url": Flags(long=_names("push all"), operands_max=1),
    "stash list": Flags("p", long=_names("stat oneline name-only"), operands_max=0),
    "stash show": Flags("pu", long=_names("stat patch name-only name-status"), operands_max=1),
    "worktree list": Flags("v", long=_names("porcelain verbose"), operands_max=0),
    "reflog": Flags("", "n", _names("oneline all"), _names("date max-count format"), True, operands_max=0),
    "reflog show": Flags("", "n", _names("oneline all"), _names("date max-count format"), numeric=True),
}
