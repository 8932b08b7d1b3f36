"""Replays recordings after making what they presuppose.

A recording is of one test, and the account it was made on had a history. `replay.py` makes the containers and shares that a recording uses
without having made them, all of them plain and all on one account. This puts back what else the recording's own exchanges show to have been there:

* shares that an earlier test had left: their quota, tier and metadata, snapshots, and leases on either, as the first listing of shares
  shows them; without a listing, a lease where deleting was refused for want of its id, and a snapshot where one is named;
* blobs that an earlier test had left, as they are read or listed, or as the tier shows that a blob has taken over from the one it replaced;
* the second account of those that copy between two, and the secondary endpoint of one;
* bearer tokens (bearers.py), and hosts elsewhere that are copied from (elsewhere.py);
* signatures that were wrong as they were sent (a SAS without an expiry), which the tool would take away;
* handles of SMB clients (handles.py).

Where REPLAY_COMPARE says `versions` or `protection`, what accounts without
them do not answer, and the tool therefore passes over, is compared too.
"""
import base64
import contextlib
import copy
import hashlib
import os
import re
import sys
from urllib.parse import quote, unquote, urlsplit

import replay
from bearers import Bearers
from elsewhere import Elsewhere
from handles import Handles

REMOTE = "remoteaccount1"


class Prepared(Bearers, Elsewhere, Handles, replay.Session):
    prepared = {"shares": 0, "snapshots": 0, "leases": 0, "blobs": 0, "second accounts": 0}

    def __init__(self, cfg, name, entries):
        super().__init__(cfg, name, entries)
        self.home = next((e.account.removesuffix("-secondary") for e in entries if e.account), None)
        self.remote_made, self.leased = [], []
        self.remote = self.seen_as(REMOTE)
        self.remote.account = REMOTE
        self.secondary = self.seen_as(cfg.account + "-secondary")
        self.prepared["second accounts"] += any(self.is_remote(e.account) for e in entries)

    # ---- the second account
    def seen_as(self, name):
        """the same server, with another name in the path"""
        cfg = copy.copy(self.cfg)
        cfg.targets = {
            service: target and replay.Target(target.url.replace(self.cfg.account, name), self.cfg.timeout)
            for service, target in self.cfg.targets.items()
        }
        return cfg

    def is_remote(self, account):
        return account is not None and account != self.home and not account.endswith("-secondary")

    @contextlib.contextmanager
    def acting_on(self, account):
        kept = self.cfg
        if account and account.endswith("-secondary"):
            self.cfg = self.secondary
        elif self.is_remote(account):
            self.cfg = self.remote
        try:
            yield
        finally:
            self.cfg = kept

    def build(self, e):
        with self.acting_on(e.account):
            return super().build(e)

    def rewrite_source(self, value, shift):
        m = replay.HOST.match(urlsplit(value).hostname or "")
        if not m:
            return super().rewrite_source(value, shift)
        kept = self.cfg
        self.cfg = self.remote if self.is_remote(m.group(1).lower()) else getattr(self, "own", kept)
        try:
            query = urlsplit(value).query
            if "sig=" in query and not re.search(r"\b(se|si)=", query):
                return self.target(m.group(2).lower()).url + self.subst(urlsplit(value).path) + "?" + query
            return super().rewrite_source(value, shift)
        finally:
            self.cfg = kept

    def creation(self, e):
        made = super().creation(e)
        if made and self.is_remote(e.account):
            self.remote_made.append(made)
            return None
        return made

    def norm(self, text, actual):
        if actual:
            for service, target in self.remote.targets.items():
                if target:
                    text = text.replace(target.url, "{%s}" % service)
            return super().norm(text, actual)
        return super().norm(self.subst(text), actual)

    def cleanup(self):
        self.close_handles()
        for share, query in self.leased:
            self.break_lease(share, query)
        super().cleanup()
        if any(e.service == "blob" and b"<StaticWebsite><Enabled>true" in e.body for e in self.entries):
            self.create_or_delete("blob", "$web", False)  # it came with the website
        with self.acting_on("another"):
            for service, name in dict.fromkeys(self.remote_made):
                self.create_or_delete(service, name, False)

    # ---- what was left
    def prerequisites(self):
        self.own = self.cfg
        super().prerequisites()
        if replay.grouping(self.entries) == "blob":
            self.restore_blobs()
            self.restore_tiers()
        if replay.grouping(self.entries) != "file":
            return
        made = {unquote(e.path).strip("/") for e in self.entries if super(Prepared, self).creation(e) and e.status < 300}
        known = self.restore_listed(made)
        for e in self.entries:
            share = unquote(e.path).strip("/").split("/")[0]
            if e.service != "file" or not share or share in made or share in known or self.is_remote(e.account):
                continue
            if "comp=listhandles" in e.query:
                self.restore_place(*unquote(e.path).strip("/").split("/"))
            snapshot = replay.qget(e.query, "sharesnapshot")
            if snapshot and e.status < 300 and snapshot not in self.tokens:
                self.snapshot(share, snapshot)
            refused = replay.error_code(e.status, e.rheaders, e.rbody)
            if e.method == "DELETE" and refused == "LeaseIdMissing" and "restype=share" in e.query:
                known.add(share)
                self.lease(share, "")
        self.open_handles()

    def restore_blobs(self):
        """blobs that are read, or listed, without having been written"""
        made, written, left = set(), set(), {}
        bodies = {base64.b64encode(hashlib.md5(e.body).digest()).decode(): e.body for e in self.entries}
        for e in self.entries:
            path = unquote(e.path).strip("/")
            container, _, blob = path.partition("/")
            if e.service != "blob" or container in made or e.status >= 300 or "restype=account" in e.query or self.is_remote(e.account):
                continue
            if "restype=container" in e.query and e.method == "PUT" and "comp=" not in e.query:
                made.add(container)
            elif "comp=list" in e.query and container:
                for row in replay.parse_xml(e.rbody).iter("Blob"):
                    body = bodies.get(row.findtext("Properties/Content-MD5"))
                    if body is not None and not row.findtext("Snapshot"):
                        left.setdefault(f"{container}/{row.findtext('Name')}", (body, {"content-type": row.findtext("Properties/Content-Type")}))
            elif blob and e.method == "PUT":
                written.add(path)
            elif blob and e.method in ("GET", "HEAD") and "comp=" not in e.query and path not in written:
                headers = {k: v for k, v in e.rheaders.items() if k.startswith("x-ms-meta-") or k == "content-type"}
                if e.method == "GET" or path not in left:
                    left[path] = e.rbody, headers
        for path, (body, headers) in left.items():
            container = path.split("/")[0]
            if path in written:
                continue
            if self.create_or_delete("blob", container, True) == 201:
                self.created.append(("blob", container))
            self.admin("blob", "PUT", "/" + quote(path), body=body, extra={"x-ms-blob-type": "BlockBlob"} | headers)
            self.prepared["blobs"] += 1

    def restore_tiers(self):
        """blobs that were put without a word of a tier, and have one all the same, which is not the account's: the ones before had it"""
        seen = set()
        for at, e in enumerate(self.entries):
            put = e.service == "blob" and e.method == "PUT" and e.headers.get("x-ms-blob-type") == "BlockBlob" and e.status == 201
            if not put or e.path in seen:
                continue
            seen.add(e.path)
            after = next((one for one in self.entries[at + 1:] if one.path == e.path), None)
            if after is None or after.method != "HEAD" or after.query or "x-ms-access-tier" in e.headers:
                continue
            tier = after.rheaders.get("x-ms-access-tier")
            if tier in ("Hot", "Cool", "Cold") and "x-ms-access-tier-inferred" not in after.rheaders:
                self.admin("blob", "PUT", e.path, extra={"x-ms-blob-type": "BlockBlob", "x-ms-access-tier": tier})
                self.prepared["blobs"] += 1

    def restore_place(self, share, *names):
        """a file or directory whose handles are listed; what has a dot in its name was a file"""
        if self.create_or_delete("file", share, True) == 201:
            self.created.append(("file", share))
        for depth, name in enumerate(names, 1):
            path, is_file = quote("/".join([share, *names[:depth]])), depth == len(names) and "." in name
            extra = {"x-ms-type": "file", "x-ms-content-length": "0"} if is_file else {}
            self.admin("file", "PUT", "/" + path, "" if is_file else "restype=directory", extra=extra | {
                "x-ms-file-permission": "inherit", "x-ms-file-attributes": "None", "x-ms-file-creation-time": "now", "x-ms-file-last-write-time": "now"})

    def restore_listed(self, made):
        """from the first listing of shares that shows snapshots, or else the first; -> the names that are now as they were"""
        listings = [e for e in self.entries if e.path == "/" and "comp=list" in e.query and e.service == "file" and e.status < 300]
        listings.sort(key=lambda e: "snapshots" not in (replay.qget(e.query, "include") or ""))
        found = replay.parse_xml(listings[0].rbody) if listings else None
        if found is None:
            return set()
        rows = [row for row in found.iter("Share") if row.findtext("Name") in self.names - made]
        for row in sorted(rows, key=lambda row: row.findtext("Snapshot") or ""):  # the share before its snapshots
            self.restore(row)
        return {row.findtext("Name") for row in rows}

    def restore(self, row):
        share, snapshot = row.findtext("Name"), row.findtext("Snapshot")
        said = lambda name: row.findtext("Properties/" + name) or ""
        if snapshot:
            query = self.snapshot(share, snapshot)
        else:
            query = ""
            self.restore_share(share, said, {"x-ms-meta-" + one.tag: one.text or "" for one in row.findall("Metadata/*")})
        if said("LeaseState") in ("leased", "broken"):
            self.lease(share, query, "60" if said("LeaseDuration") == "fixed" else "-1")
        if said("LeaseState") == "broken":
            self.break_lease(share, query)

    def restore_share(self, share, said, metadata):
        extra = {"x-ms-share-quota": said("Quota")}
        if said("AccessTier") in ("Hot", "Cool"):
            extra["x-ms-access-tier"] = said("AccessTier")
        if said("EnabledProtocols") == "NFS":  # which the tool's is not, and cannot become
            extra |= {"x-ms-enabled-protocols": "NFS", "x-ms-root-squash": said("RootSquash")}
            self.create_or_delete("file", share, False)
        if self.admin("file", "PUT", "/" + share, "restype=share", extra=extra | metadata)[0] == 201:
            self.created.append(("file", share))
        else:  # the tool has made it, plain
            if len(extra) > 1 or said("Quota") != "5120":
                self.admin("file", "PUT", "/" + share, "restype=share&comp=properties", extra=extra)
            if metadata:
                self.admin("file", "PUT", "/" + share, "restype=share&comp=metadata", extra=metadata)
        self.prepared["shares"] += 1

    def snapshot(self, share, recorded):
        """-> the query that names it"""
        status, headers, _ = self.admin("file", "PUT", "/" + share, "restype=share&comp=snapshot")
        if status != 201:
            return ""
        self.learn(recorded, headers["x-ms-snapshot"])
        self.prepared["snapshots"] += 1
        return "&sharesnapshot=" + headers["x-ms-snapshot"]

    def lease(self, share, query, seconds="-1"):
        asked = {"x-ms-lease-action": "acquire", "x-ms-lease-duration": seconds}
        made = self.admin("file", "PUT", "/" + share, "restype=share&comp=lease" + query, extra=asked)[0] == 201
        self.prepared["leases"] += made
        if made and query:
            self.leased.append((share, query))

    def break_lease(self, share, query):
        asked = {"x-ms-lease-action": "break", "x-ms-lease-break-period": "0"}
        self.admin("file", "PUT", "/" + share, "restype=share&comp=lease" + query, extra=asked)


def compare(what):
    """compares what the tool passes over because accounts without it do not answer it, and not times that it takes for more"""
    replay.SOFT_HEADERS.add("x-ms-share-next-allowed-quota-downgrade-time")
    replay.SOFT_TAGS.add("nextallowedquotadowngradetime")
    # Of whom a handle was and since when; the recorder took the address out.
    replay.TOKEN_TAGS.add("parentid")
    replay.SOFT_TAGS.update({"parentid", "clientip", "opentime"})
    if "versions" in what:  # their ids have to be learnt, too, to be named in later requests
        replay.IGNORE.discard("x-ms-version-id")
    if "protection" in what:
        replay.IGNORE.difference_update({"x-ms-immutability-policy-until-date", "x-ms-immutability-policy-mode", "x-ms-legal-hold"})
        replay.SKIP_TAGS.difference_update({"immutabilitypolicyuntildate", "immutabilitypolicymode", "legalhold"})
        replay.SOFT_HEADERS.add("x-ms-immutability-policy-until-date")
        replay.SOFT_TAGS.add("immutabilitypolicyuntildate")


if __name__ == "__main__":
    compare(os.environ.get("REPLAY_COMPARE", ""))
    replay.Session = Prepared
    replay.main()
    counts = Prepared.prepared | Bearers.sent | {"sources elsewhere": Elsewhere.served, "handles": Handles.opened}
    print("prepared:", ", ".join(f"{count} {what}" for what, count in counts.items() if count), file=sys.stderr)
