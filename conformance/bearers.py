"""Bearer tokens for recordings whose own were taken out.

A recording does not say which of its requests had one. It shows that there were tokens by fetching them, by an answer that only a token gets, or by
a header that only goes with one; this tells from these which requests to send with a token. It is one for a server started with
`--oauth basic`, in which nobody signs, with the object id that the recorded answers name.
"""
import base64
import datetime as dt
import json
import re
from urllib.parse import urlsplit

import replay

UNREAD, SEVERAL_WORDS = "unreadable", "these are several words"


def token(oid):
    part = lambda value: base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
    tenant = "00000000-0000-0000-0000-000000000000"
    claims = {
        "iss": f"https://sts.windows.net/{tenant}/", "aud": "https://storage.azure.com", "nbf": 0, "exp": 4102444800,
        "oid": oid, "tid": tenant,
    }
    return f"{part({'alg': 'none', 'typ': 'JWT'})}.{part(claims)}."


class Bearers(replay.Session):
    sent = {"tokens": 0, "tokens for sources": 0}

    def __init__(self, cfg, name, entries):
        super().__init__(cfg, name, entries)
        named = [re.search(rb"<SignedOid>([^<]+)", e.rbody) for e in entries]
        oid = next((m.group(1).decode() for m in named if m), "00000000-0000-0000-0000-000000000001")
        self.token = token(oid)
        # Tokens that were fetched for these are not for the account.
        besides = any("x-ms-copy-source-authorization" in e.headers or urlsplit(e.url).hostname == "management.azure.com" for e in entries)
        self.fetched, fetched = set(), False
        for e in entries:
            fetched |= urlsplit(e.url).hostname == "login.microsoftonline.com"
            if fetched and not besides and e.service and not any("x-ms-file-request-intent" in e.headers for e in entries):
                self.fetched.add(id(e))
        self.asked = {(e.method, e.url) for e in entries if self.refused(e)}

    def refused(self, e):
        return replay.error_code(e.status, e.rheaders, e.rbody) == "InvalidAuthenticationInfo"

    def bearer(self, e):
        """what to send with `e`, or None if it had no token"""
        has = (e.method, e.url) in self.asked or id(e) in self.fetched
        if not has and "x-ms-file-request-intent" not in e.headers and "comp=userdelegationkey" not in e.query:
            return None
        if e.status in (401, 403):
            return UNREAD
        return SEVERAL_WORDS if self.refused(e) else self.token

    def build(self, e):
        bearer = self.bearer(e)
        req = super().build(e)
        if isinstance(req, str):
            return req
        method, url, headers, body = req
        if bearer:
            headers["authorization"] = "Bearer " + bearer
            self.sent["tokens"] += 1
        if "x-ms-copy-source-authorization" in headers:
            headers["x-ms-copy-source-authorization"] = "Bearer " + self.token
            if not bearer:
                self.sign(e, url, headers, body)
            self.sent["tokens for sources"] += 1
        if "comp=userdelegationkey" in e.query:
            body = self.moved(e, body)
        return method, url, headers, body

    def sign(self, e, url, headers, body):
        path, _, query = url.partition("?")
        del headers["authorization"]
        headers["authorization"] = replay.shared_key(self.cfg.account, self.cfg.key, e.service, e.method, path, query, headers, len(body))

    def moved(self, e, body):
        """the times of a key, as far from now as they were"""
        shift = dt.datetime.now(replay.UTC) - (replay.entry_time(e) or dt.datetime.now(replay.UTC))

        def move(m):
            return m.group(1) + (dt.datetime.fromisoformat(m.group(2).decode().replace("Z", "+00:00")) + shift).strftime("%Y-%m-%dT%H:%M:%SZ").encode()
        return re.sub(rb"(<(?:Start|Expiry)>)([^<]+)", move, body)
