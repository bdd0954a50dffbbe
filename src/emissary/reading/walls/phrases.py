"""The words of walls, in the languages we know them in. Each list is one sign among several."""

import re

__all__ = [
    "ACCEPTS",
    "ASKS_FOR_SCRIPT",
    "CHALLENGE_TEXT",
    "CHALLENGE_TITLE",
    "CONSENT_TITLE",
    "CONSENT_WORDS",
    "DENIED_TEXT",
    "DENIED_TITLE",
    "IN_LINE",
    "LOST_SENTENCE",
    "LOST_TITLE",
    "MUST_SIGN_IN",
    "REFUSES",
    "SIGN_IN",
    "SIGN_IN_URL",
    "WAITING_TITLE",
    "found",
    "plain",
]

_STRAIGHT = (("’", "'"), ("‘", "'"), ("…", "..."))


def plain(text: str) -> str:
    """As the patterns expect it: lower case, straight quotes, single spaces."""
    for curly, straight in _STRAIGHT:  # several times faster than `translate`
        text = text.replace(curly, straight)
    return " ".join(text.lower().split())


def found(pattern: re.Pattern[str], text: str) -> str | None:
    """The words that matched, for the evidence."""
    match = pattern.search(text)
    return None if match is None else match[0][:80]


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives))


CHALLENGE_TITLE = _any(
    r"^just a moment\b", r"^(?:please wait|hold on|one more step)\b", r"are you (?:a )?(?:robot|human|bot)\b",
    r"(?:robot|bot|human|browser|security|captcha) (?:check|verification|challenge|page|interception)\b",
    r"client challenge", r"challenge validation", r"security checkpoint", r"attention required!", r"captcha$",
    r"not a (?:bot|robot)", r"prove (?:your humanity|you)", r"pardon our interruption", r"you are being redirected",
    r"access to this page has been denied", r"checking your browser", r"verify(?:ing)? (?:that )?you", r"^ddos-guard$",
    r"nur einen moment", r"sicherheits(?:prüfung|überprüfung)", r"un instant", r"pas un robot", r"un momento",
    r"comprobación de seguridad", r"verificación de seguridad", r"controllo di sicurezza", r"один момент",
    r"проверка браузера", r"しばらくお待ちください", r"请稍候", r"establishing a secure connection",
)  # fmt: skip
CHALLENGE_TEXT = _any(
    r"(?:checking|verifying) (?:that |if )?(?:you|your (?:browser|connection)|the site connection)",
    r"(?:verify|confirm|prove|show|sure)\b.{0,25}\b(?:you(?:'re| are)|your) (?:a )?(?:human|not a (?:ro)?bot)",
    r"you(?:'re| are) (?:a )?(?:real person|not a (?:ro)?bot)", r"and not a (?:ro)?bot", r"unusual traffic",
    r"made us think (?:that )?you (?:might be|are) a bot", r"complet\w+ the (?:security check|challenge|action below)",
    r"solve this captcha", r"characters you see", r"slide to verify", r"press & hold", r"hold the button",
    r"enable js and disable any ad blocker", r"robot or human", r"sind sie ein mensch", r"kein roboter",
    r"pas un robot", r"no (?:eres|es|soy) un robot", r"non sei un robot", r"не робот", r"проверка браузера",
    r"many requests from your (?:network|address)", r"a required part of this site couldn't load",
    r"powered by crowdsec",
)  # fmt: skip
ASKS_FOR_SCRIPT = _any(
    r"javascript", r"enable js\b",
)  # fmt: skip
WAITING_TITLE = _any(
    r"waiting room", r"queue-it", r"virtual queue", r"(?:in|wait in) (?:line|the queue)\b", r"warteraum",
    r"warteschlange", r"file d'attente", r"salle d'attente", r"sala de espera", r"sala d'attesa", r"fila virtual",
)  # fmt: skip
IN_LINE = tuple(
    _any(*group)
    for group in (
        (r"you(?:'re| are)(?: now)? in (?:the )?(?:line|queue)", r"placed you in a (?:virtual )?(?:queue|waiting room)",
         r"been placed in (?:a|the) (?:virtual )?(?:queue|line|waiting room)",
         r"sie (?:stehen|sind) in der warteschlange",
         r"vous êtes dans la file", r"está en la (?:fila|cola)", r"sei in (?:coda|fila)", r"you have to wait",
         r"thank you for (?:waiting|your patience)"),
        (r"(?:your )?(?:estimated|approximate|expected) wait(?:ing)?(?: time)?\b", r"(?:minutes|min) to go",
         r"voraussichtliche wartezeit", r"temps d'attente estimé", r"tiempo de espera estimado", r"attesa stimata"),
        (r"your (?:number|position|place)\b", r"position in (?:the )?(?:queue|line)",
         r"number \d+ in (?:line|the queue)",
         r"ihre nummer", r"votre position", r"su turno",
         r"(?:people|users?|persons|visitors)(?: in line)? ahead of you",
         r"personnes devant vous"),
        (r"(?:when|until) it(?:'s| is) your turn", r"you will be (?:let in|redirected when)", r"keep your place",
         r"(?:do not|don't) (?:close|refresh)", r"automatically refresh", r"ne fermez pas", r"no cierre",
         r"let(?:s)? people in", r"s'actualise automatiquement"),
    )
)  # fmt: skip
DENIED_TITLE = _any(
    r"access denied", r"request rejected", r"^blocked\b", r"(?:has|have) been (?:blocked|limited by)", r"403 forbidden",
    r"zugriff verweigert", r"accès refusé", r"acceso denegado", r"accesso negato",
)  # fmt: skip
DENIED_TEXT = _any(
    r"url was rejected", r"you don't have permission to access", r"request was blocked", r"blocked this request",
    r"have been blocked", r"has been limited by the site owner", r"security service to protect itself",
    r"(?:incident|support|block|reference) id\b", r"reference #", r"generated by wordfence",
)  # fmt: skip
SIGN_IN = _any(
    r"\b(?:sign|log)(?:ged)?[ -]?(?:in|on|into)\b", r"\blogin\b", r"\banmeld(?:en|ung)\b", r"\beinloggen\b",
    r"\bconnexion\b", r"\bse connecter\b", r"identifi(?:ez|er|cation)", r"iniciar sesión", r"\binicia sesión",
    r"\bacced[ie]r?\b", r"\baccesso\b", r"\bentrar\b", r"inloggen", r"logga in", r"logg inn", r"zaloguj",
    r"\bвход\b", r"\bвойти\b", r"ログイン", r"登录", r"登入", r"로그인",
)  # fmt: skip
MUST_SIGN_IN = _any(
    r"(?:must|need to|have to|please) (?:be registered and |first )?(?:be )?(?:logged|log|sign|signed)[ -]?in",
    r"(?:log|sign) in to (?:continue|view|read|see)", r"before continuing", r"for members", r"to continue to",
    r"already (?:on|a member|have an account)", r"connectez-vous pour", r"(?:debes|debe) iniciar sesión",
    r"bitte (?:melden|loggen) sie sich", r"inicie sesión para",
)  # fmt: skip
SIGN_IN_URL = re.compile(
    r"^https?://(?:login|signin|auth|accounts?|sso|idp|id)\.|"
    r"/(?:[\w-]{0,40}log-?in|log-?on|sign[-_]?in|anmeld\w*|connexion|connect|auth|oauth2?|session/new|identifiant|"
    r"iniciar-sesion|accedi|inloggen|authwall|wp-login\.php|ucp\.php)(?:[/.?#]|$)"
)
CONSENT_TITLE = _any(
    r"before you continue", r"bevor sie fortfahren", r"avant de continuer", r"(?:value|respect) your privacy",
    r"your privacy", r"jouw privacy", r"privacy[ -]?instellingen", r"vie privée", r"datenschutz", r"zustimmung",
    r"(?:cookie|data protection|privacy) (?:choices|consent|settings|wall)", r"cookies (?:op|on|bei)\b", r"consent\b",
    r"privacidad", r"la tua privacy",
)  # fmt: skip
CONSENT_WORDS = re.compile(
    r"\bcookies?\b|consent|partners?\b|partenaires|partnern?\b|personali[sz]ed|personal data|données|privacy|"
    r"vie privée|datenschutz|einwilligung|tracking|advertis|werbung|annonces|advertenties|store and access"
)
ACCEPTS = _any(
    r"accept", r"agree\b", r"akzeptier", r"zustimmen", r"einverstanden", r"j'accepte", r"akkoord", r"allow all",
    r"aceptar", r"accett",
)  # fmt: skip
REFUSES = _any(
    r"reject", r"refuse", r"declin", r"manage", r"more options", r"ablehn", r"einstellung", r"refuser", r"paramétr",
    r"sans accepter", r"weiger", r"instell", r"do not agree", r"disagree", r"customi[sz]e", r"settings", r"rechazar",
    r"rifiut", r"abonnieren", r"options", r"only necessary", r"subscribe", r"without",
)  # fmt: skip
# A whole part of a title or a whole heading: "404 songs" and "404 Not Found T-Shirt" are none.
LOST_TITLE = re.compile(
    r"(?:(?:errore?|erro|fehler|erreur|fout|http|ошибка|oops|whoops|sorry)[!:,. -]*)*404"
    r"(?:[ :,!.-]*(?:error|(?:page |file )?not found|oops)?)[!.]?|"
    r"(?:(?:oops|sorry|uh[- ]oh|whoops)[!,. -]*)?(?:error 404[: -]*)?(?:(?:this|that|the|your) )?"
    r"(?:page|product|file|item|article|url|content|site|listing|post)? ?(?:was |is |could )?"
    r"(?:not (?:be )?found|(?:not|no longer|isn't|is no longer) available|can't be found|cannot be found|"
    r"doesn't exist|does not exist|"
    r"no longer exists|not here)[!.]?|"
    r"(?:we )?(?:can't|couldn't|cannot) find (?:that|this|the) page[!.]?|nothing found|"
    r"(?:diese |die )?seite (?:wurde )?nicht gefunden|page (?:introuvable|non trouvée)|página no encontrada|"
    r"pagina non trovata|pagina niet gevonden|página não encontrada|sidan hittades inte|nie znaleziono strony|"
    r"страница не найдена|ページが見つかりません(?:でした)?|页面不存在|페이지를 찾을 수 없습니다"
)
LOST_SENTENCE = _any(
    r"(?:page|product|topic|link|article|item|address|url|document|file)\b.{0,60}(?:does(?:n't| not) exist|"
    r"(?:could )?not (?:be )?found|(?:been|was) (?:moved|removed|deleted)|no longer exists?|be broken|mistyped|"
    r"not here)",
    r"nothing was found at this", r"may have been (?:moved|sold|removed|deleted)", r"página .{0,40}não existe",
    r"pagina .{0,20}(?:bestaat niet|niet gevonden)", r"seite existiert", r"page que vous .{0,40}(?:introuvable|"
    r"supprimée|n'existe)", r"página .{0,40}no (?:existe|se encuentra)", r"pagina .{0,40}(?:non esiste|spostata)",
    r"страница не найдена", r"お探しのページ", r"we looked everywhere",
)  # fmt: skip
