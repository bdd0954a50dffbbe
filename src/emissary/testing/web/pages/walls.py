"""What some sites put in place of a page, in the shape of those who make it: their public marks and our own words."""

from emissary.testing.web.answers import Headers, html, text
from emissary.testing.web.pages.plain import plain_page

__all__ = ["CHALLENGES", "ORDINARY", "WALLS", "article_about_captchas"]


def _bare(title: str, body: str, head: str = "") -> str:
    head = f'<head><meta charset="utf-8"><title>{title}</title>{head}</head>'
    return f'<!doctype html>\n<html lang="en">{head}\n<body>{body}</body></html>\n'


_NO_SCRIPT = "<noscript>Enable JavaScript and cookies to continue</noscript>"
_CLOUDFLARE = _bare("Just a moment...", f"{_NO_SCRIPT}<script>window._cf_chl_opt={{cType:'managed'}}</script>")
_AKAMAI = _bare(
    "&nbsp;",
    "<script src='/akam/13/1' defer></script>",
    "<meta http-equiv=refresh content=\"5; URL='/?bm-verify=AA'\">"
    "<script>var to='/_sec/verify?provider=interstitial'</script>",
)
_DATADOME = _bare(
    "walls",
    "<p id=cmsg>Please enable JS and disable any ad blocker</p>"
    "<script>var dd={'host':'geo.captcha-delivery.com'}</script>",
)
_HUMAN = _bare(
    "Access to this page has been denied",
    "<p>Press &amp; Hold to confirm you are a human (and not a bot).</p><div id=px-captcha></div>"
    "<script>window._pxAppId='PXtest'</script>",
)
_IMPERVA = _bare(
    "", "<iframe src='/_Incapsula_Resource?SWUDNSAI=31&amp;incident_id=1'>Incapsula incident ID: 1</iframe>"
)
_AWS = _bare("", "<div id=challenge-container></div><script>window.gokuProps={}</script>")
_KASADA = _bare("", "<script>window.KPSDK={};KPSDK.start=0</script><script src='/149e/2d20/ips.js?x=1'></script>")
_ANUBIS = _bare(
    "Making sure you're not a bot!",
    "<h1>Making sure you're not a bot!</h1><p>Loading...</p><noscript>You must enable JavaScript.</noscript>"
    "<script type=module src='/.within.website/x/cmd/anubis/static/js/main.mjs'></script>",
    "<script id=anubis_challenge type='application/json'>{}</script>",
)
_GATE = _bare(
    "Security check",
    "<h1>Security check</h1><p>Please show that you are not a robot.</p><form action='/verify' method=post>"
    "<div class={widget} data-sitekey=1></div><button>Continue</button></form>",
)
_SUCURI = _bare(
    "You are being redirected...",
    "<noscript>Javascript is required.</noscript><script>var sucuri_cloudproxy_js='';</script>",
)
_DDOS_GUARD = _bare(
    "DDoS-Guard",
    "<h1>Checking your browser before accessing walls</h1>"
    "<script src='/.well-known/ddos-guard/js-challenge/index.js'></script>",
)
_VERCEL = _bare(
    "Vercel Security Checkpoint",
    "<p>We're verifying your browser</p>"
    "<script src='/.well-known/vercel/security/static/challenge.v2.min.js'></script>",
)
_FASTLY = _bare(
    "Client Challenge",
    "<p>A required part of this site couldn't load.</p><script src='/_fs-ch-1/script.js'></script>"
    "<noscript>Please enable JavaScript to proceed.</noscript>",
)

CHALLENGES = {
    "cloudflare": html(_CLOUDFLARE, status=403, headers=(("cf-mitigated", "challenge"),)),
    "akamai": html(_AKAMAI),
    "datadome": html(_DATADOME, status=403, headers=(("X-DataDome", "protected"),)),
    "human": html(_HUMAN, status=403),
    "imperva": html(_IMPERVA),
    "aws": html(_AWS, status=202, headers=(("x-amzn-waf-action", "challenge"),)),
    "kasada": html(_KASADA, status=429),
    "anubis": html(_ANUBIS),
    "hcaptcha": html(_GATE.format(widget="h-captcha"), status=403),
    "recaptcha": html(_GATE.format(widget="g-recaptcha")),
    "sucuri": html(_SUCURI),
    "ddos-guard": html(_DDOS_GUARD, status=403),
    "vercel": html(_VERCEL, status=429, headers=(("x-vercel-mitigated", "challenge"),)),
    "fastly": html(_FASTLY),
}

_LINE = _bare(
    "Waiting room",
    "<h1>You are now in line</h1><p>Your estimated wait time is 7 minutes. Please do not close this window.</p>",
)
_ACCOUNT = _bare(
    "Sign in",
    "<h1>Sign in</h1><form action='/login' method=post><input name=user><input type=password name=pw>"
    "<button>Sign in</button></form>",
)
_CONSENT = _bare(
    "Before you continue",
    "<h1>Before you continue</h1><p>We and our 812 partners use cookies for personalised advertising.</p>"
    "<form action='/consent' method=post><button>Accept all</button><button>Reject all</button></form>",
)
_REFRESH: Headers = (("Refresh", "20"),)

WALLS = {
    "/waiting-room": ("a place in line, with a Refresh", html(_LINE, headers=_REFRESH)),
    "/login": ("a sign-in page; a page of its own to whoever asks for it", html(_ACCOUNT)),
    "/consent": ("a question about cookies", html(_CONSENT)),
    "/soft-404": (
        "200, and the page says that it is not there",
        html(plain_page("Page not found", "The page you are looking for does not exist.")),
    ),
    "/denied": (
        "200, and a firewall's no",
        html(plain_page("Access denied", "This request was blocked. Incident ID: 7-1.")),
    ),
}


def article_about_captchas() -> str:
    """An ordinary page that has every word of a wall, and a comment form with a captcha."""
    return plain_page(
        "Verify you are human: a history",
        "A CAPTCHA is a small examination that a web page sets its visitor. The first showed letters bent out of "
        "shape, because people read crooked writing better than programs did. That held for ten years.",
        "Then came the pictures of traffic lights. Whoever has been asked to confirm that they are not a robot by "
        "clicking on every square with a bicycle knows the doubt about the handlebar that reaches into the next.",
        "The newest fashion is proof of work: just a moment, says the page, checking your browser, and the machine "
        "does a sum that costs one visitor a second and those who want a million pages a fortnight.",
        "Site owners have their reasons. A library that served two thousand readers a day found itself answering two "
        "million requests. Those who cannot see the pictures or hear the sounds have theirs, and object to all of it.",
        "<form action='/comment' method='post'><textarea name='t'></textarea><div class='g-recaptcha'></div></form>",
    )


_BANNER = "<button>Accept all</button><button>Reject all</button>"
_WISHES: Headers = (("X-Robots-Tag", "noarchive"), ("Content-Usage", "train-ai=n"), ("tdm-reservation", "1"))

ORDINARY = {
    "/article-about-captchas": ("a long article with all the words of a wall", html(article_about_captchas())),
    "/banner": (
        "a page under a cookie banner",
        html(plain_page("Opening hours", "Monday to Friday, nine to five.", _BANNER)),
    ),
    "/404-songs": (
        "an article whose title begins with 404",
        html(plain_page("404 songs about the sea", "Grey Tide. Salt Hill.")),
    ),
    "/preferences": (
        "a page with X-Robots-Tag, Content-Usage and a TDM reservation",
        text("Read me, keep no copy, train nothing.\n", headers=_WISHES),
    ),
}
