"""What the makers of walls say in public about how to tell them: headers, cookies, script paths, ids."""

__all__ = [
    "BARE_CHALLENGES",
    "CAPTCHA_WIDGETS",
    "CHALLENGES",
    "CHALLENGE_HEADERS",
    "HINTS",
    "QUEUES",
    "QUEUE_HINTS",
    "QUEUE_HOSTS",
    "maker",
]

# A header that says it itself: nothing else has to agree.
CHALLENGE_HEADERS = {
    "cf-mitigated": ("Cloudflare", frozenset({"challenge"})),
    "x-amzn-waf-action": ("AWS WAF", frozenset({"challenge", "captcha"})),
    "x-vercel-mitigated": ("Vercel", frozenset({"challenge"})),
    "sg-captcha": ("SiteGround", frozenset({"challenge"})),
}
# Headers that come with refusals, and with some pages too.
HINTS = {"x-kpsdk-ct": "Kasada", "x-dd-b": "DataDome", "x-vercel-challenge-token": "Vercel"}

# Found in what a page does (scripts, frames, forms, ids), not in what it says. What the same makers put on ordinary
# pages is not here: /cdn-cgi/challenge-platform/scripts/jsd, js.datadome.co, client.px-cloud.net, sdk.awswaf.com, p.js.
CHALLENGES = (
    ("Cloudflare", ("_cf_chl_opt", "/orchestrate/chl_page", "#challenge-error-text", "__cf_chl_", "cf_captcha_kind")),
    ("Akamai", ("bm-verify", "/_sec/verify", "#sec-if-cpt-container", "#sec-cpt-if", "/_sec/cp_challenge")),
    ("DataDome", ("captcha-delivery.com",)),
    ("HUMAN", ("#px-captcha", "captcha.px-cdn.net", "captcha.px-cloud.net", "/captcha/captcha.js")),
    ("Imperva", ("_Incapsula_Resource?SWUDNSAI", "_Incapsula_Resource?CWUDNSAI", "onProtectionInitialized")),
    ("AWS WAF", ("gokuProps", ".captcha.awswaf.com")),
    ("Kasada", ("/ips.js?", "KPSDK.start")),
    ("Anubis", ("#anubis_challenge", "/.within.website/x/cmd/anubis")),
    ("Sucuri", ("sucuri_cloudproxy_js",)),
    ("DDoS-Guard", ("ddos-guard/js-challenge", "check.ddos-guard.net", "#link-ddg")),
    ("Vercel", ("/.well-known/vercel/security/",)),
    ("Fastly", ("/_fs-ch-",)),
    ("F5", ("/TSPD/", "bobcmn")),
    ("SiteGround", ("/.well-known/sgcaptcha",)),
    ("Qrator", ("/__qrator/",)),
    ("Alibaba", ("/_____tmd_____/punish",)),
    ("Radware", ("validate.perfdrive.com",)),
    ("Reblaze", ("rbzns", "winsocks(")),
    ("Azure", ("/.azwaf/",)),
    ("BasedFlare", ("/.basedflare/",)),
    ("go-away", ("go-away/cmd/go-away",)),
    ("bunny.net", ("/.bunny-shield/",)),
    ("Google", ("/sorry/index",)),
    ("an image test", ("/validateCaptcha",)),
)
# Stands on ordinary pages too, and says something only where there is nothing else.
BARE_CHALLENGES = (*CHALLENGES, ("Imperva", ("/_Incapsula_Resource",)))
# Weak by themselves: comment forms have them too.
CAPTCHA_WIDGETS = (
    ".g-recaptcha, .h-captcha, .cf-turnstile, .frc-captcha, .geetest_captcha, #nocaptcha, #captcha-container,"
    "iframe[src*='captcha'], img[src*='captcha' i], [class*='captcha' i], [id*='captcha' i], altcha-widget, cap-widget"
)

QUEUE_HOSTS = (".queue-it.net", "wait.crowdhandler.com")
QUEUES = (
    ("Queue-it", ("#MainPart_lbQueueNumber", "#queue-it_log", "#MainPart_divProgressbar", ".queue-it.net%2F%3Fc%3D")),
    ("CrowdHandler", ("wait.crowdhandler.com",)),
)
# Cookies that those who wait are given, and those who have been let in keep.
QUEUE_HINTS = {"__cfwaitingroom": "Cloudflare Waiting Room", "akavpwr_": "Akamai", "waiting_room=": "Fastly"}


def maker(table: tuple[tuple[str, tuple[str, ...]], ...], works: str) -> tuple[str | None, list[str]]:
    """Whose marks are found in what a page does, and which."""
    for vendor, signs in table:
        if there := [sign for sign in signs if sign in works]:
            return vendor, there
    return None, []
