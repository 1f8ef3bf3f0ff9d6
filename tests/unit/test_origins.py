"""Origins of pages: one spelling each, and no text that only begins like one."""

from __future__ import annotations

from tests.support.cases import for_each

from analytics_core._engine.rights.origins import allows_origin, read_origin


@for_each(
    ("text", "origin"),
    [
        ("https://shop.example", "https://shop.example"),
        ("HTTPS://Shop.Example:443/", "https://shop.example"),
        ("http://shop.example:443", "http://shop.example:443"),
        ("http://localhost:8080", "http://localhost:8080"),
        ("https://[2001:DB8::1]", "https://[2001:db8::1]"),
        ("https://[::1]:443", "https://[::1]"),
        ("https://[::1]:8443", "https://[::1]:8443"),
    ],
)
def test_an_origin_has_one_spelling(text: str, origin: str) -> None:
    assert read_origin(text) == origin


@for_each(
    "text",
    [
        "", "null", "*", "shop.example", "//shop.example", "https:shop.example", "https:///shop.example",
        "ftp://shop.example", "https://shop.example/page", "https://shop.example?", "https://shop.example#",
        "https://user@shop.example", "https://shop.example:", "https://shop.example:65536", "https://shop.example.",
        "https://shop..example", "https://*.shop.example", "https://shop.example\\.evil.example", "https://shop.example\t",
        "https://shop\u3002example", "https://[::1]evil.example", "https://[::1]evil.example:443", "https://[::1",
        "https://[::1]:", "https://[fe80::1%25eth0]", "https://[v1.x]", "https://[]", "https://a" + "a" * 300, None, 5,
    ],
)  # fmt: skip
def test_what_is_no_origin_is_none_and_shows_nothing(text: object) -> None:
    assert read_origin(text) is None
    assert not allows_origin(("https://[::1]", "https://shop.example"), text)  # type: ignore[arg-type]
