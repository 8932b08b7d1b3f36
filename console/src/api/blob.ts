// Containers and blobs: one function per operation of the Blob service that the console uses.
import { ask, children, encodePath, escapeXml, first, metadataHeaders, metadataOf, nameOf, parse, record, send, text1 } from "./data";
import type { Headers, Query, Sent } from "./data";

export interface Container {
  name: string;
  modified: string;
  etag: string;
  leaseState: string;
  access: string;
  deleted: boolean;
  version: string;
  deletedAt: string;
  remainingDays: string;
}

export interface Listed {
  name: string;
  isFolder: boolean;
  size: number;
  modified: string;
  etag: string;
  kind: string;
  contentType: string;
  tier: string;
  archiveStatus: string;
  leaseState: string;
  leaseStatus: string;
  snapshot: string;
  version: string;
  isCurrent: boolean;
  deleted: boolean;
  deletedAt: string;
  remainingDays: string;
}

export interface Page<Item> {
  items: Item[];
  /** Where the next page begins; empty at the end. */
  next: string;
}

export async function listContainers(prefix: string, marker: string, deleted: boolean): Promise<Page<Container>> {
  const include = deleted ? "metadata,deleted" : "metadata";
  const query = { comp: "list", prefix: prefix || undefined, marker: marker || undefined, include, maxresults: 1000 };
  const xml = parse(await (await ask("blob", "", { query })).text());
  const items = [...xml.getElementsByTagName("Container")].map((container) => {
    const properties = record(first(container, "Properties"));
    return {
      name: nameOf(children(container, "Name")[0]),
      modified: properties["Last-Modified"] ?? "",
      etag: properties.Etag ?? "",
      leaseState: properties.LeaseState ?? "",
      access: properties.PublicAccess ?? "",
      deleted: text1(container, "Deleted") === "true",
      version: text1(container, "Version"),
      deletedAt: properties.DeletedTime ?? "",
      remainingDays: properties.RemainingRetentionDays ?? "",
    };
  });
  return { items, next: text1(xml, "NextMarker") };
}

export interface Look {
  prefix: string;
  delimiter?: string;
  marker?: string;
  deleted?: boolean;
  versions?: boolean;
  snapshots?: boolean;
  most?: number;
}

export async function listBlobs(container: string, look: Look, signal?: AbortSignal): Promise<Page<Listed>> {
  const include = [look.deleted && "deleted", look.versions && "versions", look.snapshots && "snapshots"].filter(Boolean).join(",");
  const query: Query = {
    restype: "container",
    comp: "list",
    prefix: look.prefix || undefined,
    delimiter: look.delimiter || undefined,
    marker: look.marker || undefined,
    include: include || undefined,
    maxresults: look.most ?? 1000,
  };
  const xml = parse(await (await ask("blob", encodePath(container), { query, signal })).text());
  const items = children(first(xml, "Blobs")).map((element) => (element.nodeName === "BlobPrefix" ? folder(element) : listed(element)));
  return { items, next: text1(xml, "NextMarker") };
}

const NOTHING = {
  isFolder: false, size: 0, modified: "", etag: "", kind: "", contentType: "", tier: "", archiveStatus: "", leaseState: "", leaseStatus: "",
  snapshot: "", version: "", isCurrent: true, deleted: false, deletedAt: "", remainingDays: "",
};

function folder(element: Element): Listed {
  return { ...NOTHING, name: nameOf(children(element, "Name")[0]), isFolder: true };
}

function listed(element: Element): Listed {
  const properties = record(first(element, "Properties"));
  const own = record(element);
  return {
    name: nameOf(children(element, "Name")[0]),
    isFolder: false,
    size: Number(properties["Content-Length"] ?? 0),
    modified: properties["Last-Modified"] ?? "",
    etag: properties.Etag ?? "",
    kind: properties.BlobType ?? "",
    contentType: properties["Content-Type"] ?? "",
    tier: properties.AccessTier ?? "",
    archiveStatus: properties.ArchiveStatus ?? "",
    leaseState: properties.LeaseState ?? "",
    leaseStatus: properties.LeaseStatus ?? "",
    snapshot: own.Snapshot ?? "",
    version: own.VersionId ?? "",
    isCurrent: own.IsCurrentVersion !== undefined ? own.IsCurrentVersion === "true" : !own.VersionId,
    deleted: own.Deleted === "true",
    deletedAt: properties.DeletedTime ?? "",
    remainingDays: properties.RemainingRetentionDays ?? "",
  };
}

export const createContainer = (name: string, access: string) =>
  ask("blob", encodePath(name), { method: "PUT", query: { restype: "container" }, headers: { "x-ms-blob-public-access": access || undefined } });

export const deleteContainer = (name: string) => ask("blob", encodePath(name), { method: "DELETE", query: { restype: "container" } });

export const restoreContainer = (name: string, version: string) =>
  ask("blob", encodePath(name), {
    method: "PUT",
    query: { restype: "container", comp: "undelete" },
    headers: { "x-ms-deleted-container-name": name, "x-ms-deleted-container-version": version },
  });

export async function containerProperties(name: string): Promise<{ headers: Response["headers"]; metadata: Record<string, string> }> {
  const response = await ask("blob", encodePath(name), { method: "HEAD", query: { restype: "container" } });
  return { headers: response.headers, metadata: metadataOf(response) };
}

export const setContainerMetadata = (name: string, metadata: Record<string, string>) =>
  ask("blob", encodePath(name), { method: "PUT", query: { restype: "container", comp: "metadata" }, headers: metadataHeaders(metadata) });

/** The public access of a container; its stored policies stay as they are. */
export async function setContainerAccess(name: string, access: string): Promise<void> {
  const path = encodePath(name);
  const query = { restype: "container", comp: "acl" };
  const body = await (await ask("blob", path, { query })).text();
  await ask("blob", path, { method: "PUT", query, body, headers: { "x-ms-blob-public-access": access || undefined } });
}

export interface Moment {
  snapshot?: string;
  versionid?: string;
}

const blobPath = (container: string, name: string): string => `${encodePath(container)}/${encodePath(name)}`;

/** A blob, or one of its snapshots or versions. */
export interface Properties {
  headers: Response["headers"];
  etag: string;
  metadata: Record<string, string>;
  tags: Record<string, string>;
  /** Tags need a right of their own. */
  tagsKnown: boolean;
}

export async function properties(container: string, name: string, moment: Moment = {}): Promise<Properties> {
  const response = await ask("blob", blobPath(container, name), { method: "HEAD", query: { ...moment } });
  let tags: Record<string, string> = {};
  let tagsKnown = true;
  try {
    const said = await ask("blob", blobPath(container, name), { query: { comp: "tags", ...moment } });
    for (const tag of parse(await said.text()).getElementsByTagName("Tag")) tags[text1(tag, "Key")] = text1(tag, "Value");
  } catch {
    [tags, tagsKnown] = [{}, false];
  }
  return { headers: response.headers, etag: response.headers.get("etag") ?? "", metadata: metadataOf(response), tags, tagsKnown };
}

export const content = (container: string, name: string, moment: Moment, range?: string, signal?: AbortSignal) =>
  ask("blob", blobPath(container, name), { query: { ...moment }, headers: { "x-ms-range": range }, signal });

export const setMetadata = (container: string, name: string, metadata: Record<string, string>, etag: string, lease?: string) =>
  ask("blob", blobPath(container, name), {
    method: "PUT",
    query: { comp: "metadata" },
    headers: { "if-match": etag, "x-ms-lease-id": lease, ...metadataHeaders(metadata) },
  });

export const setProperties = (container: string, name: string, headers: Headers, etag: string, lease?: string) =>
  ask("blob", blobPath(container, name), { method: "PUT", query: { comp: "properties" }, headers: { "if-match": etag, "x-ms-lease-id": lease, ...headers } });

export const setTags = (container: string, name: string, tags: Record<string, string>, lease?: string) => {
  const rows = Object.entries(tags).map(([key, value]) => `<Tag><Key>${escapeXml(key)}</Key><Value>${escapeXml(value)}</Value></Tag>`);
  return ask("blob", blobPath(container, name), {
    method: "PUT",
    query: { comp: "tags" },
    headers: { "content-type": "application/xml", "x-ms-lease-id": lease },
    body: `<?xml version="1.0" encoding="utf-8"?><Tags><TagSet>${rows.join("")}</TagSet></Tags>`,
  });
};

export const setTier = (container: string, name: string, tier: string, moment: Moment = {}) =>
  ask("blob", blobPath(container, name), { method: "PUT", query: { comp: "tier", ...moment }, headers: { "x-ms-access-tier": tier } });

export async function snapshot(container: string, name: string): Promise<string> {
  const response = await ask("blob", blobPath(container, name), { method: "PUT", query: { comp: "snapshot" } });
  return response.headers.get("x-ms-snapshot") ?? "";
}

export const remove = (container: string, name: string, moment: Moment = {}, headers: Headers = {}) =>
  ask("blob", blobPath(container, name), {
    method: "DELETE",
    query: { ...moment },
    headers: { ...(moment.snapshot || moment.versionid ? {} : { "x-ms-delete-snapshots": "include" }), ...headers },
  });

export const undelete = (container: string, name: string) =>
  ask("blob", blobPath(container, name), { method: "PUT", query: { comp: "undelete" } });

/** Copies inside this server; the source is read with the rights of the session. */
export async function copy(container: string, name: string, toContainer: string, toName: string, moment: Moment, overwrite: boolean): Promise<string> {
  const response = await ask("blob", blobPath(toContainer, toName), {
    method: "PUT",
    headers: { "x-ms-copy-source": copySource(blobPath(container, name), moment), "if-none-match": overwrite ? undefined : "*" },
  });
  return response.headers.get("x-ms-copy-status") ?? "";
}

let blobEndpoint = "";
export const useBlobEndpoint = (endpoint: string): void => void (blobEndpoint = endpoint.replace(/\/$/, ""));

function copySource(path: string, moment: Moment): string {
  const query = Object.entries(moment).filter(([, value]) => value).map(([name, value]) => `${name}=${encodeURIComponent(value!)}`);
  return `${blobEndpoint}/${path}${query.length ? "?" + query.join("&") : ""}`;
}

export type LeaseAction = "acquire" | "renew" | "change" | "release" | "break";

export interface LeaseAsk {
  action: LeaseAction;
  id?: string;
  proposed?: string;
  seconds?: number;
}

function leaseHeaders(asked: LeaseAsk): Headers {
  return {
    "x-ms-lease-action": asked.action,
    "x-ms-lease-id": asked.id || undefined,
    "x-ms-proposed-lease-id": asked.proposed || undefined,
    "x-ms-lease-duration": asked.action === "acquire" ? String(asked.seconds ?? -1) : undefined,
    "x-ms-lease-break-period": asked.action === "break" && asked.seconds !== undefined ? String(asked.seconds) : undefined,
  };
}

export async function lease(container: string, name: string, asked: LeaseAsk): Promise<string> {
  const isContainer = name === "";
  const path = isContainer ? encodePath(container) : blobPath(container, name);
  const query = isContainer ? { restype: "container", comp: "lease" } : { comp: "lease" };
  const response = await ask("blob", path, { method: "PUT", query, headers: leaseHeaders(asked) });
  return response.headers.get("x-ms-lease-id") ?? "";
}

// --- Uploads ---------------------------------------------------------------------------------------------------------

const BLOCK_BYTES = 8 << 20;
const BLOCKS_AT_ONCE = 3;

/** Puts a file, in blocks if it is large. Without `overwrite` a blob that is there already stays as it is (409). */
export async function upload(
  container: string, name: string, file: Blob, overwrite: boolean, signal: AbortSignal, onSent: (bytes: number) => void,
): Promise<void> {
  const path = blobPath(container, name);
  const type = file.type || "application/octet-stream";
  const condition = overwrite ? undefined : "*";
  if (file.size <= BLOCK_BYTES) {
    const headers = { "x-ms-blob-type": "BlockBlob", "x-ms-blob-content-type": type, "if-none-match": condition };
    await send("blob", path, { headers, body: file, signal }, onSent);
    return;
  }
  await uploadBlocks(path, file, signal, onSent).then((ids) => {
    const list = ids.map((id) => `<Latest>${id}</Latest>`).join("");
    return ask("blob", path, {
      method: "PUT",
      query: { comp: "blocklist" },
      headers: { "x-ms-blob-content-type": type, "if-none-match": condition, "content-type": "application/xml" },
      body: `<?xml version="1.0" encoding="utf-8"?><BlockList>${list}</BlockList>`,
      signal,
    });
  });
}

async function uploadBlocks(path: string, file: Blob, signal: AbortSignal, onSent: (bytes: number) => void): Promise<string[]> {
  // Names of its own: two uploads of one blob at once do not mix their blocks.
  const run = crypto.getRandomValues(new Uint32Array(2)).join("").slice(0, 12).padStart(12, "0");
  const count = Math.ceil(file.size / BLOCK_BYTES);
  const ids = Array.from({ length: count }, (_, index) => btoa(`${run}-${String(index).padStart(6, "0")}`));
  const sent = new Array<number>(count).fill(0);
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const index = next++;
      const body = file.slice(index * BLOCK_BYTES, (index + 1) * BLOCK_BYTES);
      await send("blob", path, { query: { comp: "block", blockid: ids[index] }, body, signal }, (bytes) => {
        sent[index] = Math.min(bytes, body.size);
        onSent(sent.reduce((sum, one) => sum + one, 0));
      });
    }
  };
  await Promise.all(Array.from({ length: BLOCKS_AT_ONCE }, worker));
  return ids;
}

export async function findByTags(where: string, marker: string, container?: string): Promise<Page<{ container: string; name: string; tags: string }>> {
  const query: Query = { comp: "blobs", where, marker: marker || undefined, maxresults: 1000, restype: container ? "container" : undefined };
  const xml = parse(await (await ask("blob", container ? encodePath(container) : "", { query })).text());
  const items = [...xml.getElementsByTagName("Blob")].map((blob) => ({
    container: text1(blob, "ContainerName"),
    name: nameOf(children(blob, "Name")[0]),
    tags: [...blob.getElementsByTagName("Tag")].map((tag) => `${text1(tag, "Key")}=${text1(tag, "Value")}`).join(", "),
  }));
  return { items, next: text1(xml, "NextMarker") };
}

export type { Sent };
