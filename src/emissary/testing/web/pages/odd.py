"""Pages that are hard to read: other alphabets, broken markup, documents that are not HTML."""

from emissary.testing.web.pages.plain import plain_page

__all__ = ["BAD_HTML", "CHARSETS", "PDF", "app_shell", "foreign_page"]

_RUSSIAN = ("ru", "Паром в Солтмире", "Паром ходит пять раз в неделю. Билеты продаются на причале, у старой таможни.")
_JAPANESE = ("ja", "港の時刻表", "島への船は週に五回出ます。切符は古い税関の前の桟橋で買えます。")
_GERMAN = (
    "de",
    "Der Fährplan für Größe Null",
    "Die Fähre fährt fünfmal wöchentlich. Übergepäck kostet zwölf Kronen extra.",
)
_FRENCH = ("fr", "Horaires du bac", "Le bac part cinq fois par semaine — billets à 12 €, près de l’ancienne douane.")
_CZECH = ("cs", "Jízdní řád", "Přívoz jezdí pětkrát týdně. Žluté lístky se prodávají u staré celnice.")

CHARSETS: dict[str, tuple[str, str, str]] = {
    "windows-1251": _RUSSIAN,
    "koi8-r": _RUSSIAN,
    "shift_jis": _JAPANESE,
    "euc-jp": _JAPANESE,
    "iso-8859-1": _GERMAN,
    "windows-1252": _FRENCH,
    "iso-8859-2": _CZECH,
    "utf-8": _FRENCH,
    "utf-16": _JAPANESE,
}


def foreign_page(charset: str, *, says_so: bool) -> str:
    """A page in the language of a charset; `says_so` puts the charset into its meta element."""
    lang, title, told = CHARSETS[charset]
    return plain_page(title, *[told] * 4, lang=lang, charset=charset if says_so else "")


# Unclosed, crossed and doubled, as found in the wild; the title and the price can still be read.
BAD_HTML = b"""<html><head><title>Clearance & more<title></head>
<body bgcolor=white bgcolor=black><table><tr><td><b><i>Bargains</b></i>
<div class='item><h2>Teapot, chipped</h2></div>
<p>Was 30 <p>now <span class=price>12.50 &euro</span>
<ul><li>one<li>two<ul><li>two and a half</ul><li>three &nosuch; &#0; &#x110000;
<a href=/once href="/twice">A link</a <img src=x.png alt="no end>
<!-- a comment -- that > does --!> go on \x00 and a NUL
<script>if (1 < 2 && "</scr" + "ipt>") { }</script>
<select><option>red<option selected>green</table></body></html></p>trailing words"""


def _pdf() -> bytes:
    drawing = b"BT /F1 18 Tf 60 720 Td (Tide table of Saltmere) Tj ET"
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%b\nendstream" % (len(drawing), drawing),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    )
    out, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    tail = b"xref\n0 6\n0000000000 65535 f \n%btrailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    return out + tail % (table, len(out))


PDF = _pdf()


def app_shell() -> str:
    """A page that is empty until its script has fetched what it shows."""
    return """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Tide board</title>
<style>body{font:16px/1.5 sans-serif;margin:2rem}.item{border-top:1px solid #ccc;padding:.5rem 0}</style>
</head>
<body>
<div id="root"></div>
<noscript>This page needs JavaScript.</noscript>
<script>
fetch('/api/items.json').then(function (answer) { return answer.json(); }).then(function (board) {
  var root = document.getElementById('root');
  var title = document.createElement('h1');
  title.textContent = board.title;
  root.appendChild(title);
  board.items.forEach(function (item) {
    var row = document.createElement('article');
    row.className = 'item';
    row.innerHTML = '<h2></h2><p class="when"></p><p class="left"></p>';
    row.querySelector('h2').textContent = item.name;
    row.querySelector('.when').textContent = item.departs;
    row.querySelector('.left').textContent = item.places + ' places left';
    root.appendChild(row);
  });
  document.title = board.title + ' (' + board.items.length + ')';
  root.setAttribute('data-ready', 'yes');
});
</script>
</body>
</html>
"""
