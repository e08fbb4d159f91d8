"""No secret of a url gets into a message or a record."""

import pytest

from reseed.base.errors import SourceError
from reseed.base.urls import expand, require_no_secret, shown, without_values

MARK = "s3cr3t-mark of/the+auditor"


@pytest.mark.parametrize(
    "uri",
    [
        "https://s3cr3t@example.org/reef.zip",
        "https://me:s3cr3t@example.org/reef.zip",
        "sftp://me:s3cr3t@example.org/reef.zip",
        "https://me%3As3cr3t@example.org/reef.zip",
        "https://example.org/reef.zip?token=s3cr3t",
        "https://example.org/reef.zip?sig=s3cr3t",
        "https://example.org/reef.zip?%73%69g=s3cr3t",
        "https://example.org/reef.zip?v=1&X-Amz-Signature=s3cr3t&X-Amz-Expires=300",
        "https://example.org/reef.zip?se=2027-01-01&sv=s3cr3t-s3cr3t-s3cr3t",
        "https://example.org/reef.zip?s3cr3t-s3cr3t",
        "https://example.org/reef.zip?v=s3cr3t-s3cr3t$TAIL",
        "https://example.org/reef.zip;token=s3cr3t",
        "https://example.org/reef.zip#s3cr3t",
        "https://example.org/reef.zip?a=1;apikey=s3cr3t",
    ],
)
def test_a_secret_that_is_written_out_is_refused_and_not_repeated(uri: str) -> None:
    with pytest.raises(SourceError) as caught:
        require_no_secret(uri)
    assert "s3cr3t" not in str(caught.value)
    if ";token" not in uri:  # a path is shown as it is
        assert "s3cr3t" not in shown(f"got {{'uri': {uri!r}}}; allowed: a url")


@pytest.mark.parametrize(
    "uri",
    [
        "https://example.org/records/1/heron_2024.zip?token=${TOKEN}",
        "https://example.org/reef.zip?download=1",
        "https://example.org/get?persistentId=doi:10.7910/DVN/ABCDEF&file=reef_2024.tar.gz",
        "https://example.org/reef.zip?sig=$SIG&se=$EXPIRY&sv=v$VERSION",
        "https://$HOST/reef%20heron.zip",
        "abfs://container@account.dfs.core.windows.net/reef.zip",
        "sftp://diver@example.org/reef.zip",
        "$URL",
    ],
)
def test_what_is_open_or_in_a_variable_is_taken_and_shown(uri: str) -> None:
    require_no_secret(uri)
    if "@" not in uri:
        assert shown(uri) == uri


@pytest.mark.parametrize(
    "message",
    [
        MARK,
        "s3cr3t-mark%20of/the%2Bauditor",
        "s3cr3t-mark+of%2Fthe%2Bauditor",
        "S3CR3T-MARK%20OF%2FTHE%2BAUDITOR",
        f"https://example.org/{MARK}?x=1",
        "at the+auditor",
    ],
)
def test_what_a_variable_holds_is_in_no_message(monkeypatch: pytest.MonkeyPatch, message: str) -> None:
    monkeypatch.setenv("TOKEN", MARK)
    told = without_values(f"failed: {message}", "https://example.org/$TOKEN/reef.zip")
    assert "auditor" not in told.casefold()
    assert "$TOKEN" in told


def test_a_variable_that_holds_the_whole_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("URL", "https://example.org/dl/s3cr3t-s3cr3t/reef.zip?sig=abcdefgh")
    told = without_values("HEAD /dl/s3cr3t-s3cr3t/reef.zip?sig=abcdefgh failed on example.org", "$URL")
    assert told == "HEAD /dl/$URL/$URL?sig=$URL failed on $URL"


def test_a_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NONE", raising=False)
    with pytest.raises(SourceError, match="variable NONE is not set"):
        expand("https://example.org/?v=$NONE")
