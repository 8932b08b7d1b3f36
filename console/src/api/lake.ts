// File systems of an account with a hierarchical namespace: paths, renames and access control, as the Data Lake API has them.
import { ask, encodePath, Refused } from "./data";
import type { Page } from "./blob";

export interface Path {
  /** The last part of it. */
  name: string;
  path: string;
  isDirectory: boolean;
  size: number;
  modified: string;
  owner: string;
  group: string;
  permissions: string;
}

export interface Access {
  etag: string;
  owner: string;
  group: string;
  permissions: string;
  acl: string;
}

interface Listed {
  name: string;
  isDirectory?: string;
  contentLength?: string;
  lastModified?: string;
  owner?: string;
  group?: string;
  permissions?: string;
}

/** The root of a file system is the path "/". */
const pathOf = (system: string, path: string): string => `${encodePath(system)}/${encodePath(path)}`;

export async function listPaths(system: string, directory: string, marker: string, signal?: AbortSignal): Promise<Page<Path>> {
  const query = { resource: "filesystem", recursive: "false", directory: directory || undefined, continuation: marker || undefined, maxResults: 1000 };
  const response = await ask("dfs", encodePath(system), { query, signal });
  const { paths } = (await response.json()) as { paths: Listed[] };
  const items = paths.map((one) => ({
    name: one.name.slice(one.name.lastIndexOf("/") + 1),
    path: one.name,
    isDirectory: one.isDirectory === "true",
    size: Number(one.contentLength ?? 0),
    modified: one.lastModified ?? "",
    owner: one.owner ?? "",
    group: one.group ?? "",
    permissions: one.permissions ?? "",
  }));
  return { items, next: response.headers.get("x-ms-continuation") ?? "" };
}

/** Nothing is replaced: what is there already stays as it is (409). */
export const createDirectory = (system: string, path: string) =>
  ask("dfs", pathOf(system, path), { method: "PUT", query: { resource: "directory" }, headers: { "if-none-match": "*" } });

/** One step, however much is below it. Nothing is replaced. */
export const rename = (system: string, from: string, toSystem: string, to: string) =>
  ask("dfs", pathOf(toSystem, to), { method: "PUT", query: { mode: "legacy" }, headers: { "x-ms-rename-source": `/${pathOf(system, from)}`, "if-none-match": "*" } });

/** A large directory goes in several steps. */
export async function remove(system: string, path: string, isDirectory: boolean): Promise<void> {
  for (let continuation = ""; ; ) {
    const query = isDirectory ? { recursive: "true", continuation: continuation || undefined } : {};
    const response = await ask("dfs", pathOf(system, path), { method: "DELETE", query });
    continuation = response.headers.get("x-ms-continuation") ?? "";
    if (!continuation) return;
  }
}

export async function access(system: string, path: string): Promise<Access> {
  const { headers } = await ask("dfs", pathOf(system, path), { method: "HEAD", query: { action: "getAccessControl" } });
  const said = (name: string) => headers.get(name) ?? "";
  return { etag: said("etag"), owner: said("x-ms-owner"), group: said("x-ms-group"), permissions: said("x-ms-permissions"), acl: said("x-ms-acl") };
}

export const setAccess = (system: string, path: string, acl: string, owner: string | undefined, group: string | undefined, etag: string) =>
  ask("dfs", pathOf(system, path), {
    method: "PATCH",
    query: { action: "setAccessControl" },
    headers: { "x-ms-acl": acl, "x-ms-owner": owner, "x-ms-group": group, "if-match": etag },
  });

export type Recursion = "set" | "modify" | "remove";

export interface Reached {
  directories: number;
  files: number;
}

/** The same for everything below a directory, in steps; stops at the first path that it may not change. */
export async function setAccessBelow(system: string, path: string, mode: Recursion, acl: string): Promise<Reached> {
  const reached: Reached = { directories: 0, files: 0 };
  for (let continuation = ""; ; ) {
    const response = await ask("dfs", pathOf(system, path), {
      method: "PATCH",
      query: { action: "setAccessControlRecursive", mode, continuation: continuation || undefined, maxRecords: 2000 },
      headers: { "x-ms-acl": acl },
    });
    const said = (await response.json()) as { directoriesSuccessful: number; filesSuccessful: number; failedEntries?: { name: string; errorMessage: string }[] };
    reached.directories += said.directoriesSuccessful;
    reached.files += said.filesSuccessful;
    const [failed] = said.failedEntries ?? [];
    if (failed) throw new Refused(403, "AuthorizationPermissionMismatch", `${failed.name}: ${failed.errorMessage}`, response.headers.get("x-ms-request-id") ?? "");
    continuation = response.headers.get("x-ms-continuation") ?? "";
    if (!continuation) return reached;
  }
}

// --- Access control lists --------------------------------------------------------------------------------------------

export const KINDS = ["user", "group", "mask", "other"] as const;
type Kind = (typeof KINDS)[number];

export interface AclEntry {
  /** Given to what is made below the directory. */
  isDefault: boolean;
  kind: Kind;
  /** Empty: the owner, or the owning group. */
  id: string;
  read: boolean;
  write: boolean;
  execute: boolean;
}

export function parseAcl(text: string): AclEntry[] {
  return text
    .split(",")
    .filter(Boolean)
    .map((entry) => {
      const isDefault = entry.startsWith("default:");
      const [kind = "", id = "", rights = ""] = (isDefault ? entry.slice("default:".length) : entry).split(":");
      return { isDefault, kind: kind as Kind, id, read: rights[0] === "r", write: rights[1] === "w", execute: rights[2] === "x" };
    });
}

export const writeAcl = (entries: readonly AclEntry[]): string =>
  entries.map((one) => `${one.isDefault ? "default:" : ""}${one.kind}:${one.id}:${one.read ? "r" : "-"}${one.write ? "w" : "-"}${one.execute ? "x" : "-"}`).join(",");
