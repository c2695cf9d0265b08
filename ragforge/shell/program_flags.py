"""The table of tools that a rule may leave open: their subcommands, and the flags that a rule never covers.

A flag is listed if it runs a program, loads code or settings from elsewhere, or writes or reads where
it is told. Spellings are as in the tool's help, without the dashes; other forms (`-exec`, `--exec=x`,
`--test-runner` and `--testRunner`, abbreviations, clusters) are up to the matching.
Sources: the help of each tool, and GTFOBins.
"""

from msgspec import Struct


class Program(Struct, frozen=True):
    """What is known about a tool. Names are separated by spaces.

    always: the subcommands that "always" offers, with any further words; `*` stands for any name, and an
    empty one for the tool alone. exact: subcommands that are only ever allowed as the whole command.
    names: long flags that no open rule covers; letters: short ones, first_letters: those with the value
    in the same word (`-Dx=y`). harmless: names that look like one of them or like its abbreviation.
    values, value_letters: harmless flags whose value is not a path, task or flag, and is never omitted:
    after `make -j` the next word may be an assignment.
    tasks: further words name more tasks, or reach a shell. scripts: further words go to a script.
    source: the first further word names where something is fetched from or sent to; switches: the long
    flags without a value in the next word, so that the first further word can be found.
    remote: a word with a colon names another machine. argument_files: `@x` reads the file x.
    globs: it expands braces and brackets itself, after which a word may be another.
    bare_cluster: the first word is a cluster of short flags without a dash, as in `tar xf`.
    """

    always: tuple[str, ...] = ()
    exact: str = ""
    names: str = ""
    letters: str = ""
    first_letters: str = ""
    harmless: str = ""
    values: str = ""
    value_letters: str = ""
    tasks: bool = False
    scripts: bool = False
    source: bool = False
    switches: str = ""
    bare_cluster: bool = False
    remote: bool = False
    one_dash_names: bool = False
    clusters: bool = True
    abbreviates: bool = False
    argument_files: bool = False
    globs: bool = False


_SCRIPTS = (
    *("test", "start", "stop", "restart", "build", "lint", "format", "check", "typecheck", "type-check"),
    *("coverage", "dev", "run *", "list", "ls", "outdated"),
)
_NODE_EXACT = (
    "install i add ci install-clean clean-install install-test it cit "
    "install-ci-test clean-install-test update up upgrade upgrade-interactive link ln unlink init create "
    "exec x dlx explore config set c audit rebuild rb "
    "edit node global workspace workspaces import plugin policies patch patch-commit deploy env setup fetch "
    "prune dedupe self-update approve-builds store help"
)
_NPM_FLAGS = (
    "script-shell shell prefix node-options userconfig globalconfig global location call package git "
    "viewer editor browser init-module cafile ca cert key cache logs-dir registry proxy https-proxy "
    "node-gyp onload-script tmp pack-destination provenance-file replace-registry-host npm-version "
    "allow-scripts dangerously-allow-all-scripts foreground-scripts"
)
_NODE = (
    "experimental-loader inspect inspect-brk inspect-port inspect-wait inspect-publish-uid env-file "
    "env-file-if-exists experimental-config-file cpu-prof cpu-prof-dir cpu-prof-name heap-prof heap-prof-dir "
    "heap-prof-name heapsnapshot-signal diagnostic-dir redirect-warnings report-dir report-directory "
    "report-filename report-on-signal trace-event-file-pattern openssl-config icu-data-dir snapshot-blob"
)
"""Flags of Node.js that a tool hands on to it."""
_PIP_EXACT = "install download wheel uninstall config sync compile lock"
_PIP_FLAGS = (
    "python log cert client-cert cache-dir proxy index-url extra-index-url find-links path keyring-provider "
    "trusted-host requirement config-file directory project target prefix"
)
_CARGO = (
    "config codegen manifest-path target-dir artifact-dir out-dir lockfile-path emit logfile config-path "
    "print-config backup fix open"
)
_GRADLE = (
    "init-script project-dir build-file settings-file include-build gradle-user-home project-cache-dir "
    "system-prop project-prop write-locks update-locks write-verification-metadata export-keys scan"
)
_PYTEST = (
    "config-file rootdir confcutdir basetemp override-ini junit-xml junitxml log-file pdbcls pastebin debug "
    "tx px rsyncdir import-mode pyargs snapshot-default-extension looponfail cov-config cov-report html "
    "json-report-file report-log resultlog self-contained-html benchmark-json benchmark-storage alluredir "
    "trace-config plugin"
)
_DOCKER_READS = (
    *("ps", "images", "logs", "inspect", "version", "info", "top", "port", "history", "diff"),
    *("image ls", "container ls", "volume ls", "network ls"),
)
_DOCKER_EXACT = (
    "run exec compose build buildx builder pull push load import create cp commit export save login plugin "
    "context swarm stack service config secret system machine kube play volume network container image "
    "attach manifest trust"
)

_GIT_COMMON = (
    *("add", "commit", "fetch", "pull", "switch", "stash", "merge", "cherry-pick", "mv", "status"),
    *("log", "diff", "show", "blame", "ls-files"),
)
_FETCH_VALUES = "depth deepen jobs"
_FETCH_SWITCHES = (
    "all append atomic prune prune-tags tags no-tags force keep dry-run quiet verbose progress no-progress "
    "unshallow update-shallow update-head-ok porcelain set-upstream ipv4 ipv6 refetch recurse-submodules "
    "no-recurse-submodules rebase no-rebase ff no-ff ff-only commit no-commit edit no-edit stat no-stat log "
    "squash no-squash autostash no-autostash signoff verify no-verify allow-unrelated-histories"
)
_PUSH_SWITCHES = (
    "all branches mirror tags follow-tags no-follow-tags delete dry-run force force-with-lease porcelain "
    "quiet verbose progress no-progress prune set-upstream atomic no-atomic thin no-thin verify no-verify "
    "ipv4 ipv6 signed no-signed force-if-includes no-force-if-includes no-recurse-submodules"
)

_PROGRAMS: dict[str, Program] = {
    "git": Program(
        always=_GIT_COMMON,
        exact="bisect submodule rebase filter-branch config difftool mergetool daemon for-each-repo hook "
        "remote send-email clone init archive instaweb credential help shell upload-pack receive-pack "
        "upload-archive fast-import svn p4 cvsserver web--browse var",
        names="exec exec-path ext-diff textconv upload-pack receive-pack output output-directory no-index "
        "open-files-in-pager extcmd config-env git-dir work-tree contents pathspec-from-file "
        "ignore-revs-file exclude-from exclude-per-directory template file trailer strategy gpg-sign "
        "show-signature verify-signatures alternate-refs",
        letters="O",
        harmless="text exclude ignore-rev verify",
        values="message author date grep",
        abbreviates=True,
    ),
    "git commit": Program(letters="FtS", value_letters="mcCu", values="fixup squash cleanup"),
    "git merge": Program(letters="FsS", value_letters="mX"),
    "git pull": Program(
        letters="sS", value_letters="Xoj", values=_FETCH_VALUES, source=True, switches=_FETCH_SWITCHES
    ),
    "git fetch": Program(
        names="multiple",
        letters="m",
        value_letters="oj",
        values=_FETCH_VALUES,
        source=True,
        switches=_FETCH_SWITCHES,
    ),
    "git push": Program(names="repo", value_letters="o", source=True, switches=_PUSH_SWITCHES),
    "git cherry-pick": Program(letters="S", value_letters="mX"),
    "git blame": Program(letters="S", value_letters="L"),
    "git log": Program(value_letters="SGnL"),
    "git show": Program(value_letters="SGnL"),
    "git diff": Program(value_letters="SG"),
    "git ls-files": Program(letters="X", value_letters="x"),
    "git stash": Program(value_letters="m"),
    "git switch": Program(value_letters="cC"),
    "find": Program(
        names="exec execdir ok okdir delete fprint fprint0 fprintf fls files0-from",
        one_dash_names=True,
        clusters=False,
    ),
    "fd": Program(
        names="exec exec-batch ignore-file base-directory search-path",
        letters="xX",
        value_letters="etEdcjSo",
    ),
    "ag": Program(names="pager path-to-ignore", letters="p", value_letters="ABCgGm", abbreviates=True),
    "ack": Program(
        names="pager ackrc files-from create-ackrc output",
        letters="x",
        value_letters="ABCgm",
        abbreviates=True,
    ),
    "rg": Program(names="pre hostname-bin search-zip ignore-file file", letters="zf"),
    "sort": Program(
        names="compress-program output files0-from temporary-directory",
        letters="To",
        value_letters="kSt",
        abbreviates=True,
    ),
    "tar": Program(
        names="to-command checkpoint-action use-compress-program rsh-command rmt-command info-script "
        "new-volume-script files-from absolute-names",
        letters="IFTP",
        bare_cluster=True,
        remote=True,
        abbreviates=True,
    ),
    "tree": Program(letters="o"),
    "curl": Program(
        names="engine config output output-dir remote-name remote-name-all remote-header-name cookie-jar "
        "dump-header trace trace-ascii stderr upload-file form data-binary data libcurl hsts alt-svc "
        "netrc-file unix-socket abstract-unix-socket etag-save json data-ascii data-urlencode url-query "
        "cookie write-out variable cert key netrc netrc-optional ssl-sessions proxy proxy1.0 preproxy socks4 "
        "socks4a socks5 socks5-hostname resolve connect-to doh-url dns-servers proto-default quote",
        letters="KoOJcDTFdbwEnxQ",
        globs=True,
        argument_files=True,
        abbreviates=True,
    ),
    "wget": Program(
        names="use-askpass config execute output-document output-file append-output directory-prefix "
        "input-file post-file body-file load-cookies save-cookies warc-file rejected-log",
        letters="eOoaPi",
        abbreviates=True,
    ),
    "zip": Program(names="unzip-command test out output-file", letters="TO", abbreviates=True),
    "make": Program(
        always=("*",),
        names="eval file makefile directory include-dir temp-stdin",
        letters="fCIE",
        tasks=True,
        abbreviates=True,
    ),
    "rake": Program(
        always=("*",),
        names="require rakefile libdir execute execute-print execute-continue rakelibdir rakelib directory "
        "system",
        letters="rfIepECRg",
        values="jobs",
        value_letters="j",
        tasks=True,
        abbreviates=True,
    ),
    "just": Program(
        always=("*",),
        names="shell shell-arg shell-command command set justfile justfile-name working-directory "
        "dotenv-path "
        "dotenv-filename dotenv-command dump edit choose chooser cygpath global-justfile init tempdir fmt",
        letters="fdcegEF",
        values="color",
        tasks=True,
    ),
    "task": Program(
        always=("*",),
        exact="execute exec",
        names="taskfile dir entrypoint global init remote-cache-dir",
        letters="tdgi",
        tasks=True,
    ),
    "gradle": Program(
        always=("*",),
        names=_GRADLE,
        first_letters="DPIpbcgF",
        harmless="DskipTests parallel profile console continue",
        values="tests exclude-task max-workers console warning-mode priority",
        value_letters="x",
        tasks=True,
        clusters=False,
    ),
    "mvn": Program(
        always=("*",),
        names="define file settings global-settings project-settings install-settings gs gt ps toolchains "
        "global-toolchains install-toolchains activate-profiles log-file encrypt-master-password "
        "encrypt-password emp ep builder",
        first_letters="DPfstlbi",
        harmless="fae ff fn llr Dtest Dit.test DskipTests DskipITs Dmaven.test.skip batch-mode fail-at-end "
        "fail-fast fail-never B",
        values="projects pl threads T resume-from rf color",
        tasks=True,
        one_dash_names=True,
        clusters=False,
        abbreviates=True,
    ),
    "tox": Program(
        always=("run", "run-parallel", "p", "r", "list", "l"),
        exact="exec devenv quickstart e q de d",
        names="override conf config workdir work-dir root root-dir result-json installpkg develop runner "
        "discover default-runner",
        letters="cx",
        value_letters="emf",
        abbreviates=True,
        scripts=True,
        harmless="color colored",
    ),
    "nox": Program(
        names="noxfile envdir extra-python extra-pythons force-python force-pythons python pythons report "
        "default-venv-backend force-venv-backend script-venv-backend download-python",
        letters="fpP",
        harmless="ts force-color forcecolor",
        value_letters="skt",
        abbreviates=True,
        scripts=True,
    ),
    "eslint": Program(
        always=("",),
        names="config rulesdir parser parser-options resolve-plugins-relative-to plugin format output-file "
        "cache-file cache-location suppressions-location inspect-config init mcp rule ignore-path "
        "stdin-filename global",
        letters="cofp",
        abbreviates=True,
        harmless="fix fix-type fix-dry-run ext cache ignore-pattern flag stats",
    ),
    "prettier": Program(
        always=("",),
        names="config plugin plugin-search-dir ignore-path cache-location find-config-path file-info "
        "config-precedence parser stdin-filepath",
    ),
    "jest": Program(
        always=("",),
        names="config root-dir roots runner test-runner test-environment test-environment-options "
        "global-setup global-teardown globals setup-files setup-files-after-env "
        "setup-test-framework-script-file "
        "resolver reporters transform preset filter haste module-name-mapper module-directories module-paths "
        "module-loader dependency-extractor output-file coverage-directory coverage-reporters "
        "coverage-provider cache-directory prettier-path projects snapshot-serializers snapshot-resolver "
        "test-results-processor test-sequencer test-url env watch-plugins init",
        letters="c",
        value_letters="tw",
        values="test-name-pattern",
    ),
    "vitest": Program(
        always=("",),
        names="config config-loader root dir reporter reporters output-file pool exec-argv environment "
        "browser "
        "global-setup setup-files runner diff typecheck project workspace ui api open inspect inspect-brk "
        "attachments-dir merge-reports reports-directory snapshot-environment sequencer provider "
        "custom-provider-module experimental execute vite-node",
        letters="cr",
        value_letters="t",
        values="test-name-pattern",
    ),
    "rspec": Program(
        always=("",),
        names="require default-path out options init drb drb-port",
        letters="rIoOX",
        value_letters="fetj",
        values="example tag seed order format",
        abbreviates=True,
    ),
    "mocha": Program(
        always=("",),
        names=f"require import loader config opts package node-option file spec-file ui reporter "
        f"reporter-option reporter-options compilers {_NODE}",
        letters="rnuRO",
        value_letters="gfjt",
        values="grep fgrep timeout jobs",
    ),
    "rubocop": Program(
        always=("",),
        names="require plugin config out format formatter server start-server cache-root init "
        "auto-gen-config",
        letters="rcof",
        abbreviates=True,
        harmless="only",
    ),
    "pylint": Program(
        always=("",),
        names="init-hook load-plugins rcfile output-format output source-roots import-graph "
        "ext-import-graph int-import-graph spelling-private-dict-file unsafe-load-any-extension "
        "extension-pkg-allow-list extension-pkg-whitelist",
        letters="f",
        values="disable enable jobs",
        value_letters="jde",
        abbreviates=True,
    ),
    "coverage": Program(
        always=("report", "combine"),
        exact="run erase debug help",
        names="rcfile data-file directory source",
        letters="do",
        abbreviates=True,
    ),
    "mypy": Program(
        always=("",),
        names="python-executable install-types config-file config cache-dir custom-typing-module "
        "custom-typeshed-dir shadow-file any-exprs-report cobertura-xml-report html-report linecount-report "
        "linecoverage-report lineprecision-report txt-report xml-report xslt-html-report xslt-txt-report "
        "memory-xml-report junit-xml package-root command timing-stats line-checking-stats quickstart-file "
        "dump-build-stats pdb",
        letters="cp",
        value_letters="On",
        abbreviates=True,
        argument_files=True,
        harmless="python-version no-incremental package",
    ),
    "ruff": Program(
        always=("check", "format", "rule", "linter", "version"),
        exact="server clean analyze",
        names="config output-file cache-dir stdin-filename extension",
        letters="o",
        argument_files=True,
    ),
    "pytest": Program(
        always=("",),
        names=_PYTEST,
        letters="pcof",
        value_letters="kmnWr",
        values="maxfail durations tb",
        argument_files=True,
    ),
    "ctest": Program(
        always=("",),
        names="script script-new-process build-and-test test-command build-makeprogram build-exe-dir "
        "build-run-dir build-generator build-options build-config-sample output-log output-junit test-dir "
        "add-notes extra-submit dashboard test-action test-model resource-spec-file preset overwrite SP SA "
        "SN http1.0 interactive-debug-mode build-target build-project tests-information version help-full "
        "help-manual help-manual-list help-command help-command-list help-commands help-module "
        "help-module-list help-modules help-policy help-policy-list help-policies help-property "
        "help-property-list help-properties help-variable help-variable-list help-variables",
        letters="SODTMAI",
        value_letters="jREL",
        harmless="LE FA FS FC VV N",
        values="label-exclude tests-regex exclude-regex label-regex",
        one_dash_names=True,
        clusters=False,
    ),
    "cargo": Program(
        always=("build", "b", "test", "t", "check", "c", "clippy", "fmt", "doc", "bench", "tree", "metadata"),
        exact="install uninstall add remove update fetch vendor run r new init publish package login owner "
        "fix "
        "search config report rustc rustdoc watch script generate",
        names=_CARGO,
        letters="CZ",
        value_letters="pjF",
    ),
    "go": Program(
        always=("test", "build", "vet", "fmt", "list", "version", "doc"),
        exact="get install run tool generate env mod work clean bug telemetry fix",
        names="exec toolexec vettool fixtool modfile overlay pkgdir pgo o c C outputdir artifacts cpuprofile "
        "memprofile mutexprofile blockprofile coverprofile trace testlogfile gocoverdir fuzzcachedir fuzz "
        "ldflags gcflags asmflags gccgoflags compiler linkshared fix http args test.outputdir w",
        values="run skip bench tags timeout parallel count cpu",
        one_dash_names=True,
        clusters=False,
    ),
    "gotestsum": Program(
        names="post-run-command raw-command junitfile jsonfile jsonfile-timing-events watch-chdir "
        "rerun-fails-report packages exec toolexec vettool o C",
        values="format",
        value_letters="f",
        one_dash_names=True,
        clusters=False,
    ),
    "golangci-lint": Program(
        always=("run", "linters", "version"),
        exact="custom migrate config cache",
        names="config out-format output cpu-profile-path mem-profile-path trace-path path-prefix "
        "modules-download-mode",
        letters="c",
        value_letters="ED",
    ),
    "gofmt": Program(always=("",), names="cpuprofile", values="r", one_dash_names=True, clusters=False),
    "rustfmt": Program(always=("",), names="config-path config backup print-config emit"),
    "docker": Program(
        always=_DOCKER_READS,
        exact=_DOCKER_EXACT,
        names="config host tlscacert tlscert tlskey context cidfile iidfile",
        letters="H",
        value_letters="nf",
    ),
    "npm": Program(
        always=("t", "tst", *_SCRIPTS, "run-script *"),
        exact=_NODE_EXACT,
        names=_NPM_FLAGS,
        letters="Cgc",
        harmless="silent test",
        values="loglevel workspace",
        value_letters="w",
        scripts=True,
        one_dash_names=True,
        abbreviates=True,
    ),
    "pnpm": Program(
        always=("t", *_SCRIPTS),
        exact=_NODE_EXACT,
        names=f"{_NPM_FLAGS} dir shell-emulator store-dir virtual-store-dir modules-dir lockfile-dir "
        "global-dir config",
        letters="Cgc",
        value_letters="Fw",
        scripts=True,
    ),
    "yarn": Program(
        always=_SCRIPTS,
        exact=_NODE_EXACT,
        names=f"{_NPM_FLAGS} cwd use-yarnrc modules-folder cache-folder global-folder preferred-cache-folder "
        "mutex binaries require inspect inspect-brk",
        letters="C",
        scripts=True,
    ),
    "pip": Program(
        always=("list", "show", "freeze", "check"),
        exact=_PIP_EXACT,
        names=_PIP_FLAGS,
        letters="rif",
        abbreviates=True,
        harmless="pre",
    ),
    "uv": Program(
        always=("pip list", "pip show", "pip freeze", "pip check", "pip tree", "tree", "version"),
        exact="run tool add remove sync lock build publish init venv python cache self "
        "pip+install pip+uninstall pip+sync pip+compile",
        names=f"{_PIP_FLAGS} index default-index with with-requirements script env-file output-file "
        "allow-insecure-host",
        letters="pfiCo",
    ),
    "poetry": Program(
        always=("show", "check"),
        exact="run install add update remove lock build publish config init new self env shell source sync "
        "cache python",
        names="directory project config",
        letters="CP",
        abbreviates=True,
    ),
    "pdm": Program(
        always=("list", "show"),
        exact="run install add update remove lock build publish config init new self sync use plugin cache "
        "python py fix import export completion outdated",
        names="project config python",
        letters="pc",
        abbreviates=True,
    ),
    "hatch": Program(
        always=("test", "fmt", "version"),
        exact="run shell env build publish new config self python dep clean project",
        names="config data-dir cache-dir cover-xml-output output publisher",
        letters="dp",
        scripts=True,
    ),
    "pyright": Program(
        always=("",),
        names="project pythonpath typeshedpath venvpath venv-path createstub watch lib",
        letters="ptv",
        argument_files=True,
    ),
    "tsc": Program(
        always=("",),
        names="project p build b out-dir out-file out declaration-dir root-dir root-dirs base-url "
        "ts-build-info-file generate-trace generate-cpu-profile plugins type-roots source-root map-root "
        "watch "
        "w init paths",
        one_dash_names=True,
        clusters=False,
        argument_files=True,
    ),
    "black": Program(always=("",), names="config code cache-dir stdin-filename", letters="c"),
    "isort": Program(
        always=("",),
        names="settings-path settings-file settings sp config-root cr virtual-env conda-env formatter "
        "filename src src-path sort-order ext-format",
        abbreviates=True,
        harmless="src fs only-modified check-only check diff stdout skip profile force-sort-within-sections",
    ),
    "flake8": Program(
        always=("",),
        names="output-file config append-config enable-extensions require-plugins format tee install-hook "
        "bug-report",
        value_letters="j",
        values="max-line-length max-complexity ignore select extend-ignore extend-select per-file-ignores",
        abbreviates=True,
        harmless="exclude extend-exclude extend-ignore",
    ),
    "phpunit": Program(
        always=("",),
        names="bootstrap configuration include-path prepend extension printer loader log-junit log-teamcity "
        "log-events-text log-events-verbose-text testdox-html testdox-text testdox-xml log-debug "
        "coverage-clover coverage-cobertura coverage-crap4j coverage-html coverage-php coverage-text "
        "coverage-xml coverage-cache cache-directory cache-result-file generate-configuration "
        "migrate-configuration generate-baseline use-baseline no-configuration stderr dump-xdebug-filter "
        "warm-coverage-cache test-files-file log-otr",
        letters="cd",
        values="filter group",
        abbreviates=True,
        harmless="stop-on-failure",
    ),
    "composer": Program(
        always=("test", "lint", "check", "validate", "show", "run-script *"),
        exact="exec install require update upgrade u r i global config create-project init remove reinstall "
        "self-update archive browse home bump dump-autoload clear-cache",
        names="working-dir",
        letters="d",
        scripts=True,
        abbreviates=True,
    ),
    "bundle": Program(
        always=("list", "show", "info", "outdated"),
        exact="exec install add update config plugin open gem init package cache binstubs remove lock "
        "console "
        "viz doctor clean inject check pristine",
        names="gemfile path",
        abbreviates=True,
    ),
    "swift": Program(
        always=("build", "test"),
        exact="run package repl sdk",
        names="package-path build-path scratch-path cache-path config-path security-path swift-sdks-path "
        "toolchain sdk destination swift-sdk disable-sandbox netrc-file pkg-config-path xunit-output Xcc "
        "Xcxx Xlinker Xswiftc Xmanifest Xbuild-tools-swiftc Xxcbuild toolset show-bin-path "
        "attachments-path chdir experimental-event-stream-output event-stream-output-path",
        letters="C",
        one_dash_names=True,
        clusters=False,
    ),
    "zig": Program(
        always=("build", "fmt"),
        exact="run cc c++ test build-exe build-lib build-obj init fetch ar dlltool lib ranlib objcopy rc",
        names="build-file build-runner zig-lib-dir prefix prefix-lib-dir prefix-exe-dir prefix-include-dir "
        "cache-dir global-cache-dir sysroot search-prefix libc system fork glibc-runtimes stdin "
        "libc-runtimes",
        letters="p",
        first_letters="D",
        tasks=True,
    ),
    "dotnet": Program(
        always=("test", "build", "format", "list"),
        exact="run exec tool add remove new nuget msbuild publish pack fsi script watch vstest restore "
        "workload "
        "package reference sln solution store dev-certs user-secrets clean build-server",
        names="property p logger l settings s collect diag d output o artifacts-path results-directory r "
        "test-adapter-path a additionalprobingpath bl binary-logger fl file-logger fileloggerparameters flp "
        "dl distributed-logger target t environment e blame-crash-collect-always report binarylog source "
        "configfile lf",
        values="configuration framework filter verbosity c f v",
        one_dash_names=True,
        clusters=False,
        argument_files=True,
    ),
    "gh": Program(exact="extension ext alias codespace cs config gpg-key ssh-key auth api browse"),
    "kubectl": Program(
        exact="exec run cp attach debug apply create replace edit plugin config proxy port-forward",
        names="kubeconfig as token server certificate-authority client-key client-certificate filename "
        "kustomize",
        letters="sfk",
    ),
}
PROGRAMS: dict[str, Program] = {
    **_PROGRAMS,
    "pip3": _PROGRAMS["pip"],
    "podman": _PROGRAMS["docker"],
    "nerdctl": _PROGRAMS["docker"],
    "gmake": _PROGRAMS["make"],
    "gradlew": _PROGRAMS["gradle"],
    "mvnw": _PROGRAMS["mvn"],
    "py.test": _PROGRAMS["pytest"],
    "gtar": _PROGRAMS["tar"],
    "bsdtar": _PROGRAMS["tar"],
    "gsort": _PROGRAMS["sort"],
    "gfind": _PROGRAMS["find"],
    "fdfind": _PROGRAMS["fd"],
    "bundler": _PROGRAMS["bundle"],
    "dmypy": Program(exact="run start restart"),
}

PASSED_ON = Program(
    names=" ".join(
        PROGRAMS[name].names
        for name in (
            *("pytest", "jest", "vitest", "eslint", "prettier", "mypy", "tsc", "rspec", "phpunit", "go"),
            *("npm", "cargo"),
        )
    )
    + " require import loader experimental-loader node-option exec eval print package file spec-file "
    "ui reporter reporter-option reporter-options compilers",
    letters="rcoO",
    values="test-name-pattern grep filter",
    value_letters="tgk",
    harmless="watch w version c check-only p",
)
"""The flags of programs that a package's script may start, which the words after its name may reach."""
