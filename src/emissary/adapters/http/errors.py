"""Why an exchange was broken off, each reason with its code and whether the same request may go better later."""

from typing import ClassVar

from emissary.model.pages import Code

__all__ = ["BadAnswer", "BadEncoding", "BadHead", "BrokenOff", "BrokenTls", "Lost", "Silent", "TooLarge", "TooSlow"]


class BrokenOff(Exception):
    """The exchange ended without an answer that can be used. What it says names no address."""

    code: ClassVar[Code]
    passing: ClassVar[bool] = True


class BadAnswer(BrokenOff):
    """What came is not HTTP as it has to be."""

    code = Code.BAD_RESPONSE


class BadHead(BrokenOff):
    """More came around the body than anybody needs to say about it."""

    code = Code.BAD_RESPONSE
    passing = False


class BadEncoding(BrokenOff):
    """The body is not what its Content-Encoding says."""

    code = Code.BAD_RESPONSE


class TooLarge(BrokenOff):
    """More came than was wanted."""

    code = Code.TOO_LARGE
    passing = False


class TooSlow(BrokenOff):
    """It comes, but so slowly that it only keeps a connection busy."""

    code = Code.TIMEOUT


class Silent(BrokenOff):
    """The time was up, or nothing came any more."""

    code = Code.TIMEOUT

    def __init__(self) -> None:
        super().__init__("the site took too long")


class BrokenTls(BrokenOff):
    """The connection was secure and is no more."""

    code = Code.TLS

    def __init__(self) -> None:
        super().__init__("the secure connection broke")


class Lost(BrokenOff):
    """The connection is no more; `stale`, if it was kept from before and nothing came over it this time."""

    code = Code.CONNECT

    def __init__(self, *, stale: bool) -> None:
        super().__init__("the connection was lost before the answer was whole")
        self.stale = stale
