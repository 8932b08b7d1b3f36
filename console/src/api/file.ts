// Shares, directories, files, and the handles that SMB clients hold.
import { ask, children, encodePath, first, metadataOf, metadataHeaders, nameOf, parse, record, send, text1 } from "./data";
import type { Headers } from "./data";
import type { Page } from "./blob";

export interface Share {
  name: string;
  snapshot: string;
  modified: string;
  quota: string;
  tier: string;
  leaseState: string;
  deleted: boolean;
  version: string;
}

export interface Entry {
  name: string;
  isDirectory: boolean;
  size: number;
  modified: string;
  id: string;
}

export interface Handle {
  id: string;
  path: string;
  client: string;
  session: string;
  opened: string;
  rights: string;
}

export async function listShares(prefix: string, marker: string, all: boolean): Promise<Page<Share>> {
  const include = all ? "metadata,snapshots,deleted" : "metadata";
  const query = { comp: "list", prefix: prefix || undefined, marker: marker || undefined, include, maxresults: 1000 };
  const xml = parse(await (await ask("file", "", { query })).text());
  const items = [...xml.getElementsByTagName("Share")].map((share) => {
    const properties = record(first(share, "Properties"));
    return {
      name: nameOf(children(share, "Name")[0]),
      snapshot: children(share, "Snapshot")[0]?.textContent ?? "",
      modified: properties["Last-Modified"] ?? "",
      quota: properties.Quota ?? "",
      tier: properties.AccessTier ?? "",
      leaseState: properties.LeaseState ?? "",
      deleted: text1(share, "Deleted") === "true",
      version: text1(share, "Version"),
    };
  });
  return { items, next: text1(xml, "NextMarker") };
}

export const createShare = (name: string, quotaGib: string) =>
  ask("file", encodePath(name), { method: "PUT", query: { restype: "share" }, headers: { "x-ms-share-quota": quotaGib || undefined } });

export const deleteShare = (name: string, snapshot?: string) =>
  ask("file", encodePath(name), {
    method: "DELETE",
    query: { restype: "share", sharesnapshot: snapshot || undefined },
    headers: { "x-ms-delete-snapshots": snapshot ? undefined : "include" },
  });

export const restoreShare = (name: string, version: string) =>
  ask("file", encodePath(name), {
    method: "PUT",
    query: { restype: "share", comp: "undelete" },
    headers: { "x-ms-deleted-share-name": name, "x-ms-deleted-share-version": version },
  });

export const snapshotShare = (name: string) => ask("file", encodePath(name), { method: "PUT", query: { restype: "share", comp: "snapshot" } });

const entryPath = (share: string, path: string): string => (path ? `${encodePath(share)}/${encodePath(path)}` : encodePath(share));

export async function listEntries(share: string, path: string, snapshot: string, prefix: string, marker: string, signal?: AbortSignal): Promise<Page<Entry>> {
  const query = {
    restype: "directory", comp: "list", prefix: prefix || undefined, marker: marker || undefined, maxresults: 1000,
    sharesnapshot: snapshot || undefined, include: "timestamps,etag",
  };
  const response = await ask("file", entryPath(share, path), { query, headers: { "x-ms-file-extended-info": "true" }, signal });
  const xml = parse(await response.text());
  const items = children(first(xml, "Entries")).map((entry) => {
    const properties = record(first(entry, "Properties"));
    return {
      name: nameOf(children(entry, "Name")[0]),
      isDirectory: entry.nodeName === "Directory",
      size: Number(properties["Content-Length"] ?? 0),
      modified: properties.LastWriteTime ?? properties["Last-Modified"] ?? "",
      id: text1(entry, "FileId"),
    };
  });
  return { items, next: text1(xml, "NextMarker") };
}

export const createDirectory = (share: string, path: string) =>
  ask("file", entryPath(share, path), { method: "PUT", query: { restype: "directory" } });

export const removeEntry = (share: string, path: string, isDirectory: boolean) =>
  ask("file", entryPath(share, path), { method: "DELETE", query: isDirectory ? { restype: "directory" } : {} });

let fileEndpoint = "";
export const useFileEndpoint = (endpoint: string): void => void (fileEndpoint = endpoint.replace(/\/$/, ""));

export const rename = (share: string, from: string, to: string, isDirectory: boolean) =>
  ask("file", entryPath(share, to), {
    method: "PUT",
    query: { restype: isDirectory ? "directory" : undefined, comp: "rename" },
    headers: { "x-ms-file-rename-source": `${fileEndpoint}/${entryPath(share, from)}` },
  });

export async function entryProperties(share: string, path: string, isDirectory: boolean, snapshot: string) {
  const response = await ask("file", entryPath(share, path), {
    method: "HEAD",
    query: { restype: isDirectory ? "directory" : undefined, sharesnapshot: snapshot || undefined },
  });
  return { headers: response.headers, metadata: metadataOf(response), etag: response.headers.get("etag") ?? "" };
}

export const setEntryMetadata = (share: string, path: string, isDirectory: boolean, metadata: Record<string, string>) =>
  ask("file", entryPath(share, path), {
    method: "PUT",
    query: { restype: isDirectory ? "directory" : undefined, comp: "metadata" },
    headers: metadataHeaders(metadata),
  });

const RANGE_BYTES = 4 << 20;

/** Makes the file with its length, then writes it range by range: a file has no upload at once. */
export async function uploadFile(share: string, path: string, file: Blob, signal: AbortSignal, onSent: (bytes: number) => void): Promise<void> {
  const headers: Headers = { "x-ms-type": "file", "x-ms-content-length": String(file.size), "x-ms-content-type": file.type || undefined };
  await ask("file", entryPath(share, path), { method: "PUT", headers, signal });
  for (let at = 0; at < file.size; at += RANGE_BYTES) {
    const body = file.slice(at, at + RANGE_BYTES);
    const range = { "x-ms-range": `bytes=${at}-${at + body.size - 1}`, "x-ms-write": "update" };
    await send("file", entryPath(share, path), { query: { comp: "range" }, headers: range, body, signal }, (bytes) => onSent(at + Math.min(bytes, body.size)));
  }
}

export async function listHandles(share: string, path: string): Promise<Handle[]> {
  const response = await ask("file", entryPath(share, path), { query: { comp: "listhandles", maxresults: 1000 }, headers: { "x-ms-recursive": "true" } });
  return [...parse(await response.text()).getElementsByTagName("Handle")].map((handle) => {
    const said = record(handle);
    return {
      id: said.HandleId ?? "",
      path: said.Path ?? "",
      client: said.ClientIp ?? "",
      session: said.SessionId ?? "",
      opened: said.OpenTime ?? "",
      rights: [...handle.getElementsByTagName("AccessRight")].map((right) => right.textContent).join(", "),
    };
  });
}

export async function closeHandle(share: string, path: string, id: string): Promise<number> {
  const response = await ask("file", entryPath(share, path), {
    method: "PUT",
    query: { comp: "forceclosehandles" },
    headers: { "x-ms-handle-id": id, "x-ms-recursive": id === "*" ? "true" : undefined },
  });
  return Number(response.headers.get("x-ms-number-of-handles-closed") ?? 0);
}

/** Leases of files have no end of their own and no renewal. */
export async function leaseFile(share: string, path: string, action: "acquire" | "release" | "break", id?: string): Promise<string> {
  const headers: Headers = { "x-ms-lease-action": action, "x-ms-lease-id": id, "x-ms-lease-duration": action === "acquire" ? "-1" : undefined };
  const response = await ask("file", entryPath(share, path), { method: "PUT", query: { comp: "lease" }, headers });
  return response.headers.get("x-ms-lease-id") ?? "";
}
