"""Static websites: `$web` through its own port, as the service's properties say."""

import re
import urllib.error
import urllib.request

import pytest
from azure.storage.blob import BlobServiceClient, ContentSettings, StaticWebsite

from server import ACCOUNT


def visit(url, method="GET", **headers):
    request = urllib.request.Request(url, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read(), error.headers


@pytest.fixture
def site(own, tmp_path):
    server = own(tmp_path / "data")
    base = re.search(r"Website +(http://\S+)", "".join(server.banner)).group(1)
    service = BlobServiceClient.from_connection_string(server.connection_string, retry_total=0)
    html = ContentSettings(content_type="text/html")
    web = service.create_container("$web")
    for name in ("index.html", "docs/index.html", "404.html", "page"):
        web.upload_blob(name, name.encode(), content_settings=html)
    return service, base


def enable(service, **named):
    service.set_service_properties(static_website=StaticWebsite(enabled=True, **named))


def test_pages(site):
    service, base = site
    assert visit(base + "/")[0] == 404, "not enabled yet"
    enable(service, index_document="index.html", error_document404_path="404.html")
    for path, status, body in [
        ("", 200, b"index.html"), ("/", 200, b"index.html"), ("/docs/", 200, b"docs/index.html"),
        ("/docs", 200, b"docs/index.html"), ("/page", 200, b"page"), ("/missing", 404, b"404.html"),
    ]:
        assert visit(base + path)[:2] == (status, body), path
    status, body, headers = visit(base + "/page")
    assert headers["Content-Type"] == "text/html" and headers["ETag"] and "x-ms-blob-type" not in headers
    assert visit(base + "/page", **{"If-None-Match": headers["ETag"]})[0] == 304
    assert visit(base + "/page", Range="bytes=1-2")[:2] == (206, b"ag")
    assert visit(base + "/missing", Range="bytes=1-2")[:2] == (404, b"404.html")
    status, body, headers = visit(base + "/page", method="HEAD")
    assert (status, body, headers["Content-Length"]) == (200, b"", "4")
    assert visit(base + "/page", method="DELETE")[0] == 405
    host = re.match(r"http://(\S+?)/", base + "/").group(1)
    assert visit(f"http://{host}/docs/", Host=f"{ACCOUNT}.web.localhost")[1] == b"docs/index.html"


def test_without_an_error_document_and_with_a_default_page(site):
    service, base = site
    enable(service, default_index_document_path="docs/index.html")
    assert visit(base + "/")[:2] == (200, b"docs/index.html")
    status, body, headers = visit(base + "/missing")
    assert status == 404 and b"WebContentNotFound" in body and headers["x-ms-error-code"] == "WebContentNotFound"


def test_websites_do_not_open_the_container(site):
    service, base = site
    enable(service, index_document="index.html")
    endpoint = service.url.rstrip("/")
    assert visit(f"{endpoint}/$web/index.html")[0] in (401, 404)
    assert visit(base.replace(ACCOUNT, "stranger1") + "/")[0] == 404
