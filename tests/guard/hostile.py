"""Ways in which a private address has been spelled to get past somebody's check."""

__all__ = ["HOSTILE", "HOSTILE_NAMES", "PUBLIC", "PUBLIC_NAMES"]

# Names that lead where they should not; the local resolver knows them.
HOSTILE_NAMES: dict[str, list[str]] = {
    "127.0.0.1.nip.io": ["127.0.0.1"],
    "10.0.0.1.nip.io": ["10.0.0.1"],
    "7f000001.nip.io": ["127.0.0.1"],
    "169-254-169-254.sslip.io": ["169.254.169.254"],
    "--1.sslip.io": ["::1"],
    "localtest.me": ["127.0.0.1", "::1"],
    "lvh.me": ["127.0.0.1"],
    "spoofed.burpcollaborator.net": ["127.0.0.1"],
    "metadata.google.internal": ["169.254.169.254"],
    "kubernetes.default.svc": ["10.96.0.1"],
    "router.lan": ["192.168.1.1"],
    "mixed.example": ["8.8.8.8", "10.0.0.1"],
    "mixed-last.example": ["8.8.8.8", "1.1.1.1", "9.9.9.9", "8.8.4.4", "10.0.0.1"],
    "mixed-six.example": ["8.8.8.8", "::1"],
    "mapped.example": ["::ffff:10.0.0.1"],
    "mapped-public.example": ["::ffff:8.8.8.8"],
    "compatible.example": ["::127.0.0.1"],
    "nat64.example": ["64:ff9b::a00:1"],
    "nat64-local.example": ["64:ff9b:1::a00:1"],
    "sixtofour.example": ["2002:7f00:1::1"],
    "teredo.example": ["2001:0:4136:e378:8000:63bf:80ff:fffe"],
    "ula.example": ["fd00::1"],
    "linklocal.example": ["fe80::1%eth0"],
    "sitelocal.example": ["fec0::1"],
    "multicast.example": ["224.0.0.1"],
    "broadcast.example": ["255.255.255.255"],
    "zero.example": ["0.0.0.0"],
    "zero-six.example": ["::"],
    "cgnat.example": ["100.64.0.1"],
    "azure.example": ["168.63.129.16"],
    "not-an-address.example": ["127.1"],
    "xn--bcher-kva.example": ["10.0.0.1"],
    "a.b.c.internal": ["172.16.0.1"],
}

_LITERALS = [
    # loopback, as plain and as strange as IPv4 can be written
    *("http://127.0.0.1/", "http://127.1/", "http://127.0.1/", "http://127.255.255.254/", "http://2130706433/"),
    *("http://0x7f000001/", "http://0x7F.0x00.0x00.0x01/", "http://0x7f.1/", "http://017700000001/"),
    *("http://0177.0.0.1/", "http://0177.0000.0000.0001/", "http://00000177.1/", "http://127.0.0.1./"),
    *("http://0x7f.0.0.0x1/", "http://127.0.0.0x1/", "http://0x0000007f.1/", "http://127.00.00.01/"),
    *("http://0/", "http://0.0.0.0/", "http://0x0/", "http://00/", "http://0.0/", "http://0x/"),
    # other private, link-local and cloud addresses
    *("http://10.0.0.1/", "http://167772161/", "http://0xa000001/", "http://012.0.0.1/", "http://10.1/"),
    *("http://172.16.0.1/", "http://172.31.255.255/", "http://192.168.0.1/", "http://3232235521/", "http://192.168.1/"),
    *(
        "http://169.254.169.254/latest/meta-data/",
        "http://2852039166/",
        "http://0xA9FEA9FE/",
        "http://0251.0376.43518/",
    ),
    *("http://169.254.43518/", "http://100.64.0.1/", "http://168.63.129.16/", "http://192.0.0.192/"),
    *("http://224.0.0.1/", "http://255.255.255.255/", "http://4294967295/", "http://240.0.0.1/", "http://198.18.0.1/"),
    # IPv6, and IPv4 inside it
    *("http://[::1]/", "http://[::]/", "http://[0:0:0:0:0:0:0:1]/", "http://[0000::0001]/", "http://[::127.0.0.1]/"),
    *("http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[0:0:0:0:0:ffff:127.0.0.1]/"),
    *("http://[::ffff:10.0.0.1]/", "http://[::ffff:169.254.169.254]/", "http://[::ffff:0:127.0.0.1]/"),
    *("http://[64:ff9b::127.0.0.1]/", "http://[64:ff9b::a00:1]/", "http://[64:ff9b:1::7f00:1]/"),
    *("http://[2002:7f00:1::]/", "http://[2002:a00:1::1]/", "http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/"),
    *(
        "http://[fe80::1]/",
        "http://[fe80::1%25eth0]/",
        "http://[fe80::1%eth0]/",
        "http://[::1%25lo]/",
        "http://[::1%lo]/",
    ),
    *("http://[fd00::1]/", "http://[fc00::1]/", "http://[fec0::1]/", "http://[ff02::1]/", "http://[100::1]/"),
    *("http://[5f00::1]/", "http://[2001:db8::1]/", "http://[3fff::1]/", "http://[4000::1]/"),
    # localhost by any name
    *("http://localhost/", "http://LOCALHOST/", "http://LocalHost./", "http://localhost../", "http://foo.localhost/"),
    *("http://a.b.localhost./", "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", "http://local%68ost/", "http://l\u00adocalhost/"),
    *("http://ｌｏｃａｌｈｏｓｔ/", "http://loc\u200balhost/", "http://localhost:80/", "http://localhost%00.example/"),
    # digits and dots of other scripts
    *(
        "http://①②⑦.⓪.⓪.①/",
        "http://１２７.０.０.１/",
        "http://127。0。0。1/",
        "http://127．0．0．1/",
        "http://127｡0｡0｡1/",
    ),
    *("http://𝟏𝟐𝟕.𝟎.𝟎.𝟏/", "http://¹²⁷.0.0.1/", "http://１0.0.0.1/", "http://0ｘ7f000001/", "http://١٢٧.٠.٠.١/"),
    "http://[::ﬀff:127.0.0.1]/",
]

_DISGUISED = [
    # who is host and who is user?
    *("http://example.org@127.0.0.1/", "http://127.0.0.1@example.org/", "http://a:b@127.0.0.1/", "http://@127.0.0.1/"),
    *(
        "http://example.org:80@127.0.0.1/",
        "http://example.org%40127.0.0.1/",
        "http://127.0.0.1%40example.org@10.0.0.1/",
    ),
    *("http://127.0.0.1#@example.org/", "http://127.0.0.1?@example.org/", "http://127.0.0.1\\@example.org/"),
    *("http://example.org\\@127.0.0.1/", "http:\\\\127.0.0.1/", "http:/\\127.0.0.1/", "http:127.0.0.1/"),
    *("http:/127.0.0.1/", "http:////127.0.0.1/", "http:///127.0.0.1/", "\\\\127.0.0.1\\x", "//127.0.0.1/"),
    *("http://127.0.0.1\\.example.org/", "http://127.0.0.1%5c@example.org/", "http://[::1]@example.org/"),
    *("http://example.org@@127.0.0.1/", "http://a@b@127.0.0.1/", "http://127.0.0.1%2f@example.org/"),
    # characters that some strip and others do not
    *(
        "http://127.0.0.1\t/",
        "http://127.0\t.0.1/",
        "h\tttp://127.0.0.1/",
        "http://127.0.0.1\n/",
        "http://12\n7.0.0.1/",
    ),
    *(" http://127.0.0.1/ ", "\x00http://127.0.0.1/", "http://127.0.0.1\x00/", "http://127.0.0.1\x00.example.org/"),
    *("http://127.0.0.1\r\nHost: example.org/", "http://127.0.0.1 /", "http://127.0.0.1%20/", "http://127.0.0.1%09/"),
    *("http://127%2e0%2e0%2e1/", "http://%31%32%37.0.0.1/", "http://%6c%6f%63alhost/", "http://127.0.0.1%00/"),
    *("http://127.0.0.1,example.org/", "http://127.0.0.1;example.org/", "http://127.0.0.1|/", "http://127.0.0.1^/"),
    *("http://[127.0.0.1]/", "http://[::1/", "http://::1/", "http://[::1]example.org/", "http://[::1].example.org/"),
    *("http://256.256.256.256/", "http://127.0.0.1.1/", "http://0x100000000/", "http://08.0.0.1/", "http://1.2.3/.4"),
    # ports: of other services, out of range, in disguise
    *("http://127.0.0.1:22/", "http://127.0.0.1:6379/", "http://127.0.0.1:065535/", "http://127.0.0.1:00080/"),
    *("http://127.0.0.1:65536/", "http://127.0.0.1:-80/", "http://127.0.0.1:80:80/", "http://127.0.0.1:８０/"),
    *("https://127.0.0.1:443/", "https://[::1]:8443/", "HTTP://127.0.0.1/", "hTTps://localhost/"),
]

_SCHEMES = [
    *("file:///etc/passwd", "file:/etc/passwd", "file:etc/passwd", "FILE:///etc/passwd", "file://localhost/etc/passwd"),
    *(
        "file://127.0.0.1/etc/passwd",
        "source:file:///etc/passwd",
        "view-source:file:///etc/passwd",
        "netdoc:///etc/hosts",
    ),
    *("gopher://127.0.0.1:6379/_INFO", "dict://127.0.0.1:11211/stat", "ftp://127.0.0.1/", "sftp://127.0.0.1/"),
    *(
        "tftp://127.0.0.1/x",
        "ldap://127.0.0.1/",
        "telnet://127.0.0.1:23/",
        "smb://127.0.0.1/c$",
        "jar:http://127.0.0.1!/",
    ),
    *("data:text/html,x", "javascript:alert(1)", "blob:http://127.0.0.1/x", "about:blank", "ws://127.0.0.1/"),
    *(
        "wss://127.0.0.1/",
        "unix:/var/run/docker.sock",
        "http+unix://%2fvar%2frun%2fdocker.sock/",
        "urn:x:y",
        "mailto:a@b",
    ),
    *(
        "php://filter/resource=x",
        "expect://id",
        "chrome://version",
        "filesystem:http://127.0.0.1/t/x",
        "",
        "http://",
        "/",
    ),
]

HOSTILE: list[str] = [
    *_LITERALS,
    *_DISGUISED,
    *_SCHEMES,
    *(f"http://{name}/" for name in HOSTILE_NAMES),
    *(f"https://{name}.:8443/" for name in HOSTILE_NAMES if not name.startswith("--")),
]

PUBLIC_NAMES: dict[str, list[str]] = {
    "example.org": ["93.184.216.34"],
    "xn--bcher-kva.example.org": ["93.184.216.35"],
    "xn--fiqs8s": ["203.119.25.1"],
    "six.example.org": ["2606:4700:4700::1111"],
    "both.example.org": ["93.184.216.36", "2606:4700:4700::1001"],
    "127.0.0.1.example.org": ["93.184.216.37"],
    "localhost.example.org": ["93.184.216.38"],
    "10.in.the.name.example.org": ["93.184.216.39"],
    "nolocalhost": ["93.184.216.40"],
}

# What is public must be dialled, however it is spelled: at exactly this address and port.
PUBLIC: dict[str, tuple[str, int]] = {
    "http://1.1.1.1/": ("1.1.1.1", 80),
    "https://8.8.8.8/": ("8.8.8.8", 443),
    "http://134744072/": ("8.8.8.8", 80),
    "http://0x08080808/": ("8.8.8.8", 80),
    "http://010.010.010.010/": ("8.8.8.8", 80),
    "http://8.8.2056/": ("8.8.8.8", 80),
    "http://9.9.9.9:8080/": ("9.9.9.9", 8080),
    "http://8.8.8.8./": ("8.8.8.8", 80),
    "http://11.0.0.1/": ("11.0.0.1", 80),
    "http://126.255.255.255/": ("126.255.255.255", 80),
    "http://128.0.0.1/": ("128.0.0.1", 80),
    "http://172.32.0.1/": ("172.32.0.1", 80),
    "http://192.169.0.1/": ("192.169.0.1", 80),
    "http://100.128.0.1/": ("100.128.0.1", 80),
    "http://169.253.0.1/": ("169.253.0.1", 80),
    "http://223.255.255.255/": ("223.255.255.255", 80),
    "http://[2606:4700:4700::1111]/": ("2606:4700:4700::1111", 80),
    "https://[2a00:1450:4001:0:0:0:0:1]:8443/": ("2a00:1450:4001::1", 8443),
    "http://[2001:4860:4860::8888]/": ("2001:4860:4860::8888", 80),
    "http://example.org/": ("93.184.216.34", 80),
    "http://EXAMPLE.org./": ("93.184.216.34", 80),
    "https://example.org:8443/x?y=http://127.0.0.1/": ("93.184.216.34", 8443),
    "http://bücher.example.org/": ("93.184.216.35", 80),
    "http://中国/": ("203.119.25.1", 80),
    "http://six.example.org/": ("2606:4700:4700::1111", 80),
    "http://both.example.org/": ("93.184.216.36", 80),
    "http://127.0.0.1.example.org/": ("93.184.216.37", 80),
    "http://localhost.example.org/": ("93.184.216.38", 80),
    "http://10.in.the.name.example.org/": ("93.184.216.39", 80),
    "http://nolocalhost/": ("93.184.216.40", 80),
}
