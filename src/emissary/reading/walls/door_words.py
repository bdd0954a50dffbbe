"""What sign-in pages and questions about cookies say, the addresses they stand at, and the marks of their makers."""

import re

from emissary.reading.walls.lexicon import Lexicon

__all__ = [
    "ACCEPTS",
    "CLOSED_AREA",
    "CONSENT_ACTION",
    "CONSENT_MAKERS",
    "CONSENT_TITLE",
    "CONSENT_URL",
    "CONSENT_WORDS",
    "GREETS",
    "MUST_SIGN_IN",
    "PROTOCOL",
    "REFUSES",
    "SIGN_IN",
    "SIGN_IN_MAKERS",
    "SIGN_IN_URL",
]

_WORDS = Lexicon("doors")

SIGN_IN = _WORDS.pattern("sign in")
CLOSED_AREA = _WORDS.pattern("closed area")  # a name for what only some may see
MUST_SIGN_IN = _WORDS.pattern("must sign in")  # a purpose near the verb, or a duty
CONSENT_TITLE = _WORDS.pattern("consent title")
CONSENT_WORDS = _WORDS.pattern("consent words")
ACCEPTS = _WORDS.pattern("accepts")
REFUSES = _WORDS.pattern("refuses")
GREETS = _WORDS.pattern("greets")  # what such a page says besides: welcome, choose, for free

SIGN_IN_URL = re.compile(
    r"^https?://(?:login|logon|signin|auth|accounts?|sso|idp|iam|identity|id|adfs|cas|secure-?login)\d?[.-]|"
    r"[/:=](?:[\w-]{0,40}log[-_]?(?:in|on)|sign[-_]?in|anmeld\w*|einloggen|connexion|connect|identification|"
    r"authentification|auth(?:enticate|entication|orize|wall)?|oauth2?|openid-connect|saml2?|sso|adfs|cas|sessions?/new|"
    r"identifi\w*|iniciar-?sesi?on|ingresar|acceso|accedi|accesso|inlog(?:gen)?|aanmelden|logowanie|zaloguj\w*|entrar|"
    r"iniciar-?sess[aã]o|(?:wp-)?login\.\w+|user-?login|account/login)(?:[/.?#&]|$)"
)
# One site asks another who is there: OpenID, OAuth, SAML, WS-Federation, CAS.
PROTOCOL = re.compile(r"[?&](?:client_id|samlrequest|wtrealm|relaystate|response_type|service)=")
# Found in what a page does; pages that one can read without an account seldom have them.
SIGN_IN_MAKERS = (
    ("Okta", ("okta-signin-widget", "#okta-login-container", "#okta-sign-in", "OktaLogin")),
    ("Auth0", ("cdn.auth0.com/ulp", "auth0-lock", "#auth0-", "/js/lock/")),
    ("Microsoft", ("aadcdn.ms", "msauth.net", "msftauth.net", "urlGetCredentialType")),
    ("Keycloak", ("#kc-form-login", "/login-actions/", "#kc-login")),
    ("Google", ("identifierId", "/signin/v2/", "accounts.google.com/gsi")),
    ("Cognito", ("amazoncognito", "cognitoAsfData")),
    ("Shibboleth", ("shibboleth", "/idp/profile/")),
)
_CONSENT = (
    "consen[st]|cookie|zustimm|einwillig|toestemm|zgod|gdpr|dsgvo|rgpd|rodo|lgpd|privacy-?(?:gate|wall|manager|center)"
)
CONSENT_ACTION = re.compile(r"consent|cookie|gdpr|dsgvo|rgpd|privacy|zustimm|einwillig|zgod")
CONSENT_URL = re.compile(
    r"^https?://(?:[\w-]{0,20}consen[st][\w-]{0,20}|guce|privacy|myprivacy|cmp|gdpr|toestemming|zustimmung|einwilligung)"
    rf"[\w-]{{0,20}}\.|/[\w-]{{0,40}}(?:{_CONSENT})[\w-]{{0,40}}(?:[/.?#]|$)|"
    r"/(?:cmp|tcf)(?:[/.?#]|$)|[?&]\w+=cookie-?wall\b"
)
# Those who ask for others. They stand on ordinary pages too, and count only where there is nothing else.
CONSENT_MAKERS = (
    ("Sourcepoint", ("privacy-mgmt.com", "sp-prod.net", "#sp_message")),
    ("OneTrust", ("cookielaw.org", "onetrust")),
    ("Usercentrics", ("usercentrics", "#uc-")),
    ("Cookiebot", ("cookiebot", "#Cybot")),
    ("Didomi", ("didomi", "privacy-center.org")),
    ("consentmanager", ("consentmanager.net", "#cmpbox", "#cmpwrapper")),
    ("InMobi", ("quantcast", "#qc-cmp", "inmobi.com/choice")),
    ("TrustArc", ("trustarc", "truste.com")),
    ("Google", ("fundingchoicesmessages", "/ConsentUi")),
    ("the IAB's framework", ("__tcfapi", "tcfapi", "euconsent")),
)
