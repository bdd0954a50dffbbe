import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emissary.reading.charset import charset_of, decode

RUSSIAN = "Привет! Это обычный русский текст, чтобы проверить кодировку страницы. Цена товара сто рублей. " * 3
JAPANESE = "こんにちは、これは日本語のテキストです。文字コードの検出を確認するためのページです。" * 3
KOREAN = "안녕하세요, 이것은 한국어 텍스트입니다. 문자 인코딩을 확인하기 위한 것입니다. 가격은 천원입니다." * 3


def test_a_byte_order_mark_beats_the_header() -> None:
    assert charset_of(b"\xef\xbb\xbfabc", "text/html; charset=windows-1251") == "utf-8"
    assert charset_of("abc".encode("utf-16"), "text/html; charset=utf-8") == "utf-16-le"


def test_the_header_beats_the_meta_element() -> None:
    assert charset_of(b'<meta charset="utf-8">', "text/html; charset=Windows-1251") == "windows-1251"


@pytest.mark.parametrize(
    "markup",
    [
        b'<meta charset="windows-1251">',
        b"<META CHARSET=windows-1251>",
        b"<meta http-equiv='Content-Type' content='text/html; charset=windows-1251'>",
        b"<?xml version='1.0' encoding='windows-1251'?><feed/>",
        b"<!-- <meta charset=koi8-r> --><meta charset=windows-1251>",
    ],
)
def test_the_page_declares_its_own_charset(markup: bytes) -> None:
    assert charset_of(markup + b"\xcf\xf0\xe8", "text/html") == "windows-1251"


def test_a_description_that_speaks_of_charsets_declares_none() -> None:
    assert charset_of(b'<meta name="description" content="charset=koi8-r">', "text/html") == "utf-8"


def test_nobody_declares_utf_16_in_readable_ascii() -> None:
    assert charset_of(b'<meta charset="utf-16">', "") == "utf-8"


def test_a_declaration_after_the_first_kilobyte_is_not_seen() -> None:
    assert charset_of(b" " * 1100 + b"<meta charset=koi8-r>", "") == "utf-8"


@pytest.mark.parametrize("label", ["bogus", "utf-7", "", "\x00", "x" * 5000])
def test_an_unknown_label_falls_through_to_the_next_step(label: str) -> None:
    assert charset_of(b"<meta charset=koi8-r>", f"text/html; charset={label}") == "koi8-r"


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("latin1", "windows-1252"),
        ("ISO-8859-1", "windows-1252"),
        ("us-ascii", "windows-1252"),
        ("gb2312", "gb18030"),
        ("Shift_JIS", "cp932"),
        ("ks_c_5601-1987", "cp949"),
        ('"utf8"', "utf-8"),
    ],
)
def test_labels_mean_what_they_mean_on_the_web(label: str, codec: str) -> None:
    assert charset_of(b"", f"text/html; charset={label}") == codec


@pytest.mark.parametrize(
    ("text", "encoding"),
    [(RUSSIAN, "windows-1251"), (RUSSIAN, "koi8-r"), (JAPANESE, "shift_jis"), (JAPANESE, "euc-jp"), (KOREAN, "euc-kr")],
)
def test_undeclared_text_is_recognised(text: str, encoding: str) -> None:
    body = f"<p>{text}</p>".encode(encoding)
    assert text in decode(body, charset_of(body, "text/html"))


def test_text_that_is_valid_utf_8_is_utf_8() -> None:
    assert charset_of("<p>Grüße</p>".encode(), "text/html") == "utf-8"


def test_decoding_replaces_what_it_cannot_read_and_drops_the_mark() -> None:
    assert decode(b"\xef\xbb\xbfa\xffb", "utf-8") == "a\ufffdb"
    assert decode(b"abc", "no-such-codec") == "abc"


@settings(deadline=None)
@given(st.binary(max_size=300), st.text(max_size=60))
def test_any_bytes_under_any_type_decode(body: bytes, content_type: str) -> None:
    assert isinstance(decode(body, charset_of(body, f"text/html; charset={content_type}")), str)
