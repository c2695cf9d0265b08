"""Secrets with a form of their own: a prefix, a length, an alphabet.

The forms of each service's keys are public (their documentation, and the rules of scanners such as gitleaks);
the patterns are ours. Most require the minimum length and then match everything that continues like it, so
that a key which became longer leaves no rest.
"""

from msgspec import Struct


class SecretKind(Struct, frozen=True):
    """A form. Only text with one of the keywords is searched; a group named `value` is what is replaced."""

    name: str
    keywords: tuple[str, ...]
    pattern: str


def _prefixed(prefix: str, rest: str, *, name: str = "") -> SecretKind:
    """Return a pattern for the prefix at the start of a word; `rest` is a pattern."""
    # The prefix first, so that a literal is searched; what must not precede it is checked then.
    begins = _literal(prefix)
    pattern = rf"{begins}(?<![A-Za-z0-9]{begins}){rest}"
    return SecretKind(name or prefix.rstrip("-_."), (prefix,), pattern)


def _either(name: str, prefixes: str, rest: str) -> SecretKind:
    """Return a pattern for one of the prefixes, which are separated by spaces."""
    found = tuple(prefixes.split())
    return SecretKind(name, found, rf"(?<![A-Za-z0-9])(?:{'|'.join(map(_literal, found))}){rest}")


def _literal(text: str) -> str:
    return text.replace(".", r"\.").replace("|", r"\|").replace("+", r"\+")


_ALNUM = "[A-Za-z0-9]"
_WORD = "[A-Za-z0-9_-]"
_HEX = "[a-fA-F0-9]"
_BASE64 = "[A-Za-z0-9+/]"
_UUID = rf"{_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}"
_END = "(?![A-Za-z0-9])"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


KINDS: tuple[SecretKind, ...] = (
    # Key blocks. The end may be missing, cut by an output limit; then it continues like a key.
    SecretKind(
        "private key",
        ("PRIVATE KEY",),
        r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----[A-Za-z0-9+/=:,.\s\\-]{40,}?"
        r"(?:-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|(?![A-Za-z0-9+/=:,.\s\\-]))",
    ),
    SecretKind(
        "json web token", ("eyJ",), rf"(?<!{_WORD})eyJ{_WORD}{{10,}}\.eyJ{_WORD}{{4,}}\.{_WORD}{{10,}}"
    ),
    _prefixed("AGE-SECRET-KEY-1", "[A-Z0-9]{50,}"),
    SecretKind(
        "putty key",
        ("Private-Lines",),
        rf"Private-Lines: \d+\s+(?P<value>(?:{_BASE64}{{20,}}+=*\s*)+)",
    ),
    # Clouds
    _prefixed("AIza", f"{_WORD}{{35,}}", name="google api key"),
    _prefixed("GOCSPX-", f"{_WORD}{{20,}}", name="google client secret"),
    _prefixed("ya29.", f"{_WORD}{{20,}}", name="google access token"),
    _prefixed("1//0", f"{_WORD}{{40,}}", name="google refresh token"),
    _either("aws access key", "AKIA ASIA ABIA ACCA", f"[0-9A-Z]{{16}}{_END}"),
    _prefixed("ABSK", f"{_BASE64}{{100,}}=*", name="aws bedrock key"),
    _prefixed("bedrock-api-key-", f"{_BASE64}{{20,}}=*"),
    SecretKind("azure access key", ("AccessKey=",), rf"AccessKey=(?P<value>{_BASE64}{{20,}}=*)"),
    SecretKind("azure storage key", ("AccountKey=",), rf"AccountKey=(?P<value>{_BASE64}{{40,}}=*)"),
    SecretKind("azure signature", ("sig=",), r"[?&;]sig=(?P<value>[A-Za-z0-9%+/=_-]{30,})"),
    SecretKind("azure ad secret", ("Q~",), r"(?<![\w~.-])[\w~.]{3}\dQ~[\w~.-]{31,40}"),
    _prefixed("LTAI", f"{_ALNUM}{{16,}}", name="alibaba access key"),
    _prefixed("AKID", f"{_ALNUM}{{32,}}", name="tencent secret id"),
    SecretKind("yandex token", ("t1.",), rf"(?<!{_WORD})t1\.{_WORD}+=*\.{_WORD}{{80,}}=*"),
    _prefixed("AQVN", f"{_WORD}{{35,}}", name="yandex api key"),
    _prefixed("YC", f"{_WORD}{{38}}{_END}", name="yandex access key"),
    _prefixed("doo_v1_", f"{_HEX}{{40,}}"),
    _prefixed("dop_v1_", f"{_HEX}{{40,}}"),
    _prefixed("dor_v1_", f"{_HEX}{{40,}}"),
    _prefixed("HRKU-", f"{_WORD}{{30,}}"),
    _either("fly token", "fo1_ fm1a_ fm1r_ fm2_", "[A-Za-z0-9+/_-]{40,}=*"),
    _prefixed("nfp_", f"{_ALNUM}{{36,}}", name="netlify token"),
    _prefixed("rnd_", f"{_ALNUM}{{28,}}", name="render key"),
    _prefixed("sbp_", f"{_HEX}{{40,}}", name="supabase token"),
    _prefixed("sb_secret_", f"{_WORD}{{20,}}"),
    _prefixed("napi_", f"{_ALNUM}{{40,}}", name="neon key"),
    _prefixed("tk-us-", f"{_WORD}{{40,}}", name="scalingo token"),
    _prefixed("pscale_tkn_", r"[\w=.-]{32,}"),
    _prefixed("pscale_oauth_", r"[\w=.-]{32,}"),
    _prefixed("pscale_pw_", r"[\w=.-]{32,}"),
    _prefixed("4b1d", f"{_ALNUM}{{38}}{_END}", name="clickhouse key"),
    SecretKind("cloudflare origin key", ("v1.0-",), rf"(?<!{_WORD})v1\.0-{_HEX}{{24}}-{_HEX}{{100,}}"),
    _prefixed("ATCTT3", r"[\w=-]{60,}", name="atlassian admin token"),
    _prefixed("sha256~", f"{_WORD}{{40,}}", name="openshift token"),
    SecretKind("terraform token", ("atlasv1",), rf"{_ALNUM}{{14}}\.atlasv1\.[\w=-]{{40,}}"),
    # Before Vault 1.10. A method's name can be as long, but has no digit among its letters.
    SecretKind(
        "old vault token",
        ("s.",),
        rf"s\.(?<![\w.-]s\.)(?=[A-Za-z]{{0,23}}\d)(?=[a-z0-9]{{0,23}}[A-Z]){_ALNUM}{{24}}(?![\w.(])",
    ),
    _prefixed("hvs.", f"{_WORD}{{20,}}", name="vault token"),
    _prefixed("hvb.", f"{_WORD}{{20,}}", name="vault batch token"),
    SecretKind(
        "harness key", ("pat.", "sat."), rf"(?<!{_WORD})[ps]at\.{_WORD}{{22}}\.{_ALNUM}{{24}}\.{_ALNUM}{{20}}"
    ),
    _either("doppler token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", r"[A-Za-z0-9_.-]{40,}"),
    _prefixed("pul-", f"{_HEX}{{40,}}", name="pulumi token"),
    _prefixed("ops_eyJ", f"{_BASE64}{{100,}}=*", name="1password service token"),
    SecretKind(
        "1password key",
        ("A3-",),
        rf"(?<!{_WORD})A3-[A-Z0-9]{{6}}-(?:[A-Z0-9]{{5,11}}-){{3,5}}[A-Z0-9]{{5}}{_END}",
    ),
    _prefixed("dnkey-", r"[\w=-]{26}-[\w=-]{40,}", name="defined networking token"),
    _prefixed("tskey-", f"{_WORD}{{20,}}", name="tailscale key"),
    _prefixed("ico-", f"{_ALNUM}{{32,}}", name="infracost token"),
    # Code, packages, builds
    _either("github token", "ghp_ gho_ ghu_ ghs_ ghr_", f"{_ALNUM}{{36,}}"),
    _prefixed("github_pat_", r"\w{22,}"),
    _either(
        "gitlab token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- glwt-",
        r"[\w-]{16,}(?:\.[\w-]{2,})*",
    ),
    _prefixed("GR1348941", f"{_WORD}{{20,}}", name="gitlab runner token"),
    SecretKind("gitlab session", ("_gitlab_session=",), rf"_gitlab_session=(?P<value>{_ALNUM}{{32,}})"),
    _prefixed("ATATT3", r"[\w=-]{60,}", name="atlassian token"),
    _prefixed("ATBB", f"{_ALNUM}{{28,}}", name="bitbucket password"),
    _prefixed("npm_", f"{_ALNUM}{{36,}}"),
    _prefixed("pypi-AgE", f"{_WORD}{{40,}}", name="pypi token"),
    _prefixed("rubygems_", f"{_HEX}{{40,}}"),
    _prefixed("CLOJARS_", f"{_ALNUM}{{50,}}"),
    _prefixed("cio", f"{_ALNUM}{{32}}{_END}", name="crates.io token"),
    _prefixed("dckr_pat_", f"{_WORD}{{20,}}"),
    _prefixed("dckr_oat_", f"{_WORD}{{20,}}"),
    _prefixed("AKCp", f"{_ALNUM}{{60,}}", name="artifactory key"),
    _prefixed("cmVmd", f"{_ALNUM}{{55,}}", name="artifactory reference token"),
    _prefixed("oy2", f"[a-z0-9]{{43}}{_END}", name="nuget key"),
    _prefixed("sgp_", "[A-Za-z0-9_]{40,}", name="sourcegraph token"),
    _either("sonar token", "squ_ sqp_ sqa_", f"{_HEX}{{40,}}"),
    _prefixed("bkua_", f"{_HEX}{{40,}}", name="buildkite token"),
    _prefixed("CCIPAT_", r"[\w-]{20,}", name="circleci token"),
    _prefixed("API-", f"[A-Z0-9]{{26,}}{_END}", name="octopus key"),
    _prefixed("pnu_", f"{_ALNUM}{{36,}}", name="prefect token"),
    _prefixed("PMAK-", f"{_HEX}{{24}}-{_HEX}{{30,}}", name="postman key"),
    _prefixed("rdme_", f"{_ALNUM}{{60,}}"),
    _prefixed("sntrys_", r"[A-Za-z0-9+/=_]{40,}"),
    _prefixed("sntryu_", f"{_HEX}{{40,}}"),
    _prefixed("glsa_", r"\w{32,}", name="grafana service token"),
    _prefixed("glc_", f"{_BASE64}{{32,}}=*", name="grafana cloud token"),
    _prefixed("eyJrIjoi", f"{_BASE64}{{50,}}=*", name="grafana key"),
    _either("new relic key", "NRAK- NRII- NRIQ- NRJS- NRAL- NRRA-", f"{_WORD}{{19,}}"),
    SecretKind("new relic licence", ("NRAL",), rf"(?<!{_WORD}){_HEX}{{36}}NRAL{_END}"),
    _prefixed("dt0c01.", r"[A-Z0-9]{24}\.[A-Z0-9]{60,}", name="dynatrace token"),
    _prefixed("dapi", f"{_HEX}{{32,}}(?:-\\d)?", name="databricks token"),
    _either("launchdarkly key", "sdk- api- mob-", _UUID),
    SecretKind("maxmind key", ("_mmk",), rf"(?<!{_WORD}){_ALNUM}{{6}}_{_ALNUM}{{29}}_mmk"),
    _prefixed("lsv2_", r"(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10,}", name="langsmith key"),
    # Models
    _prefixed("sk-", f"{_WORD}{{20,}}", name="openai or anthropic key"),
    _prefixed("xai-", f"{_ALNUM}{{60,}}"),
    _prefixed("gsk_", f"{_ALNUM}{{40,}}", name="groq key"),
    _prefixed("pplx-", f"{_ALNUM}{{40,}}"),
    _prefixed("hf_", f"[A-Za-z]{{30,}}|(?<![A-Za-z0-9])hf_{_ALNUM}{{34,}}", name="hugging face token"),
    _prefixed("api_org_", f"{_ALNUM}{{30,}}"),
    _prefixed("r8_", f"{_ALNUM}{{36,}}", name="replicate token"),
    _prefixed("pcsk_", r"\w{40,}", name="pinecone key"),
    _prefixed("tvly-", f"{_WORD}{{20,}}"),
    _prefixed("pa-", rf"(?={_WORD}{{0,42}}\d)(?={_WORD}{{0,42}}[A-Z]){_WORD}{{43}}{_END}", name="voyage key"),
    _prefixed("fw_", f"{_ALNUM}{{24}}{_END}", name="fireworks key"),
    _prefixed("jina_", f"{_ALNUM}{{60,}}", name="jina key"),
    _prefixed("csk-", f"{_ALNUM}{{40,}}", name="cerebras key"),
    _prefixed("tgp_v1_", f"{_WORD}{{40,}}", name="together key"),
    _prefixed("sk_", f"{_HEX}{{48}}{_END}", name="elevenlabs key"),
    _prefixed("fc-", f"{_HEX}{{32}}{_END}", name="firecrawl key"),
    _prefixed("apify_api_", f"{_ALNUM}{{30,}}"),
    _prefixed("key_", f"{_HEX}{{64}}{_END}", name="cursor key"),
    _prefixed("nvapi-", f"{_WORD}{{40,}}"),
    # Money
    _either("stripe key", "sk_test_ sk_live_ sk_prod_ rk_test_ rk_live_ rk_prod_", f"{_ALNUM}{{10,}}"),
    _prefixed("whsec_", f"{_BASE64}{{24,}}=*", name="stripe webhook secret"),
    _either("razorpay key", "rzp_live_ rzp_test_", f"{_ALNUM}{{14,}}"),
    _either("polar token", "polar_oat_ polar_pat_ polar_rt_", f"{_ALNUM}{{40,}}"),
    _prefixed("sq0atp-", f"{_WORD}{{22,}}"),
    _prefixed("sq0csp-", f"{_WORD}{{40,}}"),
    _prefixed("EAAA", f"{_WORD}{{60}}(?![A-Za-z0-9_+/=-])", name="square token"),
    _either("flutterwave key", "FLWSECK_TEST- FLWSECK- FLWPUBK_TEST-", f"{_ALNUM}{{12,}}(?:-X)?"),
    _either("shopify token", "shpat_ shpca_ shppa_ shpss_ shptka_", f"{_HEX}{{32,}}"),
    _either("shippo token", "shippo_live_ shippo_test_", f"{_HEX}{{40,}}"),
    _either("duffel token", "duffel_live_ duffel_test_", r"[\w=-]{40,}"),
    _either("easypost key", "EZAK EZTK", f"{_ALNUM}{{54,}}"),
    _either("lob key", "live_ test_", f"(?:pub_)?{_HEX}{{31,}}"),
    SecretKind(
        "adyen key",
        ("AQE",),
        rf"AQE(?<!{_ALNUM}AQE){_BASE64}{{40,}}=*-{_BASE64}{{40,}}=*-[^\s\"'\\]{{8,32}}",
    ),
    SecretKind(
        "braintree token",
        ("access_token$",),
        r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}",
    ),
    SecretKind(
        "plaid token", ("access-",), rf"(?<!{_WORD})access-(?:sandbox|development|production)-{_UUID}"
    ),
    SecretKind(
        "freemius key",
        ("sk_",),
        r"(?P<quote>[\"'])secret_key(?P=quote)\s*=>\s*[\"'](?P<value>sk_[^\s\"']{20,})",
    ),
    # Messaging
    _either(
        "slack token", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs-", r"[A-Za-z0-9.%-]{10,}"
    ),
    _prefixed("xapp-", r"\d-[A-Za-z0-9-]{10,}", name="slack app token"),
    SecretKind(
        "slack hook",
        ("hooks.slack.com",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<value>[A-Za-z0-9+/]{30,})",
    ),
    SecretKind(
        "teams hook",
        ("webhook.office.com",),
        rf"\.webhook\.office\.com/webhookb2/(?P<value>{_UUID}@{_UUID}/IncomingWebhook/{_ALNUM}{{32}}/{_UUID})",
    ),
    SecretKind("discord hook", ("/api/webhooks/",), rf"/api/webhooks/(?P<value>\d{{15,}}/{_WORD}{{40,}})"),
    SecretKind(
        "discord token",
        ("MD", "MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"),
        rf"(?<!{_WORD})(?:M[DTjz]|N[DTjz]|O[DT])[A-Za-z0-9]{{22,24}}\.{_WORD}{{6}}\.{_WORD}{{27,}}",
    ),
    SecretKind("telegram token", (":AA",), rf"(?<!{_WORD})\d{{7,12}}:AA{_WORD}{{32,}}"),
    _prefixed("SG.", r"[\w-]{16,}\.[\w-]{16,}", name="sendgrid key"),
    _prefixed("re_", rf"{_ALNUM}{{8}}_{_ALNUM}{{20,}}", name="resend key"),
    _prefixed("pk_prod_", f"[A-Z0-9]{{28}}{_END}", name="courier key"),
    _either("sendinblue key", "xkeysib- xsmtpsib-", f"{_HEX}{{64}}-{_ALNUM}{{16,}}"),
    SecretKind("mailchimp key", ("-us",), rf"(?<!{_WORD})[0-9a-f]{{32}}-us\d{{1,2}}{_END}"),
    _prefixed("key-", f"{_HEX}{{32}}{_END}", name="mailgun key"),
    _prefixed("SK", f"{_HEX}{{32}}{_END}", name="twilio key"),
    _either("facebook token", "EAAM EAAC EAAG EAAB", f"{_ALNUM}{{100,}}"),
    SecretKind("twitter token", ("AAAAAAAAAAAAAAAAAAAAA",), r"(?<![A-Za-z0-9+/])A{22}[A-Za-z0-9%]{60,}"),
    _prefixed("tfp_", r"[\w.=-]{50,}", name="typeform token"),
    # Documents and design
    _prefixed("figd_", f"{_WORD}{{40,}}", name="figma token"),
    _prefixed("ntn_", f"{_ALNUM}{{40,}}", name="notion token"),
    _prefixed("secret_", f"{_ALNUM}{{43}}{_END}", name="notion secret"),
    _either("linear key", "lin_api_ lin_oauth_", f"{_ALNUM}{{32,}}"),
    SecretKind("clickup token", ("pk_",), rf"(?<!{_WORD})pk_\d{{6,}}_[A-Z0-9]{{32}}{_END}"),
    SecretKind("airtable token", ("pat",), rf"pat(?<!{_WORD}pat){_ALNUM}{{14}}\.{_HEX}{{64}}"),
    _prefixed("CFPAT-", f"{_WORD}{{40,}}", name="contentful token"),
    _prefixed("sl.", r"[\w=-]{100,}", name="dropbox token"),
    _prefixed("fio-u-", r"[\w=-]{50,}", name="frame.io token"),
    _prefixed("p8e-", f"{_ALNUM}{{32,}}", name="adobe secret"),
    SecretKind("mapbox token", ("sk.eyJ",), rf"(?<!{_WORD})sk\.eyJ{_WORD}{{40,}}\.{_WORD}{{20,}}"),
    # Others
    _prefixed("phx_", f"{_ALNUM}{{40,}}", name="posthog key"),
    _either("stytch secret", "secret-live- secret-test-", f"{_WORD}{{36,}}"),
    _prefixed("unkey_", f"{_ALNUM}{{20,}}"),
    SecretKind(
        "authress key",
        (".acc",),
        rf"(?<!{_WORD})(?:sc|ext|scauth|authress)_[a-z0-9]{{5,30}}\.[a-z0-9]{{4,6}}\.acc[_-][\w-]{{10,32}}\.[\w+/=-]{{30,}}",
    ),
    _either("settlemint token", "sm_aat_ sm_pat_ sm_sat_", f"{_ALNUM}{{16,}}"),
    _either("intra42 secret", "s-s4t2ud- s-s4t2af-", f"{_HEX}{{60,}}"),
    SecretKind(
        "sidekiq login",
        ("contribsys",),
        r"://(?P<value>[a-f0-9]{8}:[a-f0-9]{8})@(?:gems|enterprise)\.contribsys\.com",
    ),
    SecretKind(
        "sidekiq key", ("CONTRIBSYS__COM",), r"CONTRIBSYS__COM\W{1,4}(?P<value>[a-f0-9]{8}:[a-f0-9]{8})"
    ),
    # Arguments of programs, and their own files
    SecretKind(
        "netrc password", ("machine ",), r"machine \S+ login \S+ password (?P<value>[^\s\"'\\$<{]{4,})"
    ),
    SecretKind("postgres password file", (":5432:",), r":5432:[\w*-]+:[\w.-]+:(?P<value>[^\s:\"'\\$<{]{6,})"),
    SecretKind(
        "kubernetes client key", ("client-key-data:",), rf"client-key-data:\s+(?P<value>{_BASE64}{{40,}}=*)"
    ),
    SecretKind(
        "one-time password", ("otpauth://",), r"otpauth://\S{1,200}?[?&]secret=(?P<value>[A-Za-z2-7]{16,})"
    ),
    SecretKind("sshpass", ("sshpass",), r"sshpass\s+-p\s*[\"']?(?P<value>[^\s\"'\\$<{]{4,})"),
    SecretKind(
        "redis-cli",
        ("redis-cli",),
        r"redis-cli\b[^\n|;&]{0,80}?\s(?:-a|--pass)\s+[\"']?(?P<value>[^\s\"'\\$<{]{4,})",
    ),
    SecretKind(
        "mysql",
        ("mysql", "mariadb"),
        r"\b(?:mysql|mariadb)(?:dump|admin|-dump|-admin)?\s[^\n|;&]{0,100}?(?<=\s)-p[\"']?(?P<value>[^\s\"'\\$<{]{4,})",
    ),
    SecretKind(
        "registry login",
        (
            *("docker login ", "podman login ", "nerdctl login ", "helm registry login ", "buildah login "),
            *("skopeo login ", "az login ", "acr login ", "oc login "),
        ),
        r"\b(?:docker|podman|nerdctl|registry|buildah|skopeo|az|acr|oc) login [^\n|;&]{0,120}?"
        r"(?<=\s)-p[ =]?[\"']?(?P<value>[^\s\"'\\$<{]{4,})",
    ),
    SecretKind(
        "piped password",
        ("--password-stdin", "--with-token", "chpasswd", "sudo -"),
        r"\b(?:echo|printf)\s+(?:-n\s+|[\"']%s(?:\\n)?[\"']\s+)?[\"']?(?P<value>[^\s\"'\\$<{|`]{4,200})[\"']?\s*"
        r"\|\s*(?:[^\n|;&]{0,120}?--(?:password-stdin|with-token)\b|(?:sudo\s+)?chpasswd\b|sudo\s+(?:-\w+\s+)?-S)",
    ),
    SecretKind(
        "password behind <<<",
        ("--password-stdin", "--with-token"),
        r"--(?:password-stdin|with-token)\s*<<<\s*[\"']?(?P<value>[^\s\"'\\$<{]{4,})",
    ),
    SecretKind(
        "openssl",
        ("openssl",),
        r"\bopenssl\s[^\n|;&]{0,200}?(?<=\s)(?:-k|-pass(?:in|out)?[ \t]+[\"']?pass:)[ \t]*[\"']?"
        r"(?P<value>[^\s\"'\\$<{]{4,})",
    ),
    SecretKind(
        "zip",
        ("zip ",),
        r"\b(?:un)?zip\s[^\n|;&]{0,100}?(?<=\s)-P[ \t]*[\"']?(?P<value>[^\s\"'\\$<{]{4,})",
    ),
    SecretKind(
        "7z",
        ("7z",),
        r"\b7z[azr]?\s[^\n|;&]{0,100}?(?<=\s)-p[\"']?(?P<value>[^\s\"'\\$<{]{4,})",
    ),
    SecretKind(
        "ldap tools",
        ("ldap",),
        r"\bldap(?:add|compare|delete|modify|modrdn|passwd|search|whoami)\s[^\n|;&]{0,200}?(?<=\s)-w"
        r"[ \t]*[\"']?(?P<value>[^\s\"'\\$<{]{4,})",
    ),
    SecretKind(
        "samba tools",
        ("smbclient", "rpcclient", "smbget"),
        r"\b(?:smbclient|rpcclient|smbget)\s[^\n|;&]{0,100}?(?<=\s)-U[ \t]*[\"']?[\w.@\\-]{1,60}%"
        r"(?P<value>[^\s\"'\\$<{]{4,})",
    ),
    SecretKind(
        "keytool",
        ("storepass", "keypass"),
        r"-(?:src|dest)?(?:storepass|keypass)\s+[\"']?(?P<value>[^\s\"'\\$<{:]{4,})",
    ),
)

VENDORS = _words(
    "adafruit adobe airtable algolia alibaba artifactory asana atlassian beamer bintray bitbucket bittrex "
    "cloudflare codecov cohere coinbase confluence confluent contentful datadog digitalocean discord "
    "droneci dropbox etsy facebook fastly finicity finnhub flickr freshbooks gitter gocardless heroku "
    "hubspot intercom jfrog jira kraken kucoin launchdarkly linear linkedin lob looker mailchimp mailgun "
    "mapbox mattermost meraki messagebird netlify newrelic nytimes okta openai plaid privateai rapidapi "
    "sendbird sentry shodan snyk sonar sourcegraph squarespace sumo sumologic telegram travis trello "
    "twilio twitch twitter typeform weather yandex zendesk"
)
"""Services whose keys have no form of their own: a name with one of these and `key` is enough."""
