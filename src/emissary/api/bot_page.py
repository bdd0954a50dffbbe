"""The page for site owners: who reads their site, how to slow it down, how to keep it away."""

from datetime import timedelta
from html import escape

from emissary.reading.credentials import Credentials
from emissary.reading.identity import PRODUCT_TOKEN
from emissary.reading.owners import OWNER_PATH
from emissary.reading.signing import DIRECTORY_PATH

__all__ = ["render_bot_page"]

_STYLE = """
:root { color-scheme: light dark } body { font: 17px/1.6 system-ui, sans-serif; max-width: 44rem; margin: 3rem auto;
padding: 0 1.2rem } code, pre { font-family: ui-monospace, monospace; font-size: .92em } h2 { margin-top: 2rem }
pre { padding: .8rem 1rem; border: 1px solid color-mix(in srgb, currentColor 20%, transparent); border-radius: .4rem }
label { display: block; margin: .6rem 0 } input { font: inherit; width: 100%; padding: .4rem; box-sizing: border-box }
button { font: inherit; padding: .4rem 1.2rem; margin-top: .6rem }
""".strip()


def render_bot_page(credentials: Credentials, gap: timedelta) -> str:
    """The page, as plain as it can be: no script, nothing from elsewhere."""
    identity = credentials.identity
    keys = f"<a href={DIRECTORY_PATH}>our keys</a>"
    signed = f"<p>Every request is signed (Web Bot Auth, RFC 9421): {keys}.</p>" if credentials.key_id else ""
    email = escape(identity.email or "")
    contact = f"<p>Write to <a href='mailto:{email}'>{email}</a>.</p>" if email else ""
    return f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>{PRODUCT_TOKEN} for site owners</title>
<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>
<h1>{PRODUCT_TOKEN} has read your site</h1>
<p>It reads pages that somebody asked it for, openly and under one name:</p>
<pre>{escape(identity.agent)}</pre>{signed}{contact}
<h2>What it does</h2>
<p>It asks for your robots.txt first and keeps to it. It makes one request at a time, {gap.total_seconds():g} seconds
apart unless you ask for more, and slows down when your site does. When you answer 401, 403, 429 or 451, it stops and
says so to whoever asked. It does not solve challenges, change its address or its name to get past a refusal, sign in,
or buy.</p>
<h2>Slow it down, or keep it out of a part</h2>
<pre>User-agent: {PRODUCT_TOKEN}
Crawl-delay: 10
Disallow: /private/</pre>
<p>It reads the file anew once a day. <code>Retry-After</code> with a 429 or 503 works at once.</p>
<h2>Keep it away</h2>
<form method="post" action="/bot/opt-out"><label>Your host, such as example.org<input name="host" required></label>
<label>How we may reach you, if you like<input name="contact"></label>
<label>Why, if you like<input name="reason"></label><button>Stay away</button></form>
<p>It takes effect within a minute, for the host and everything below it.</p>
<h2>Is it your own site?</h2>
<p>The operator of this installation can read a site of their own faster, once a token stands at
<code>{OWNER_PATH}</code>.</p>"""
