// Tables and entities, in JSON with full metadata: a value keeps its type from the grid to the server.
import { ask } from "./data";

export type EdmType = "String" | "Int32" | "Int64" | "Double" | "Boolean" | "DateTime" | "Guid" | "Binary";
export const EDM_TYPES: EdmType[] = ["String", "Int32", "Int64", "Double", "Boolean", "DateTime", "Guid", "Binary"];

export interface Value {
  type: EdmType;
  /** As it is written: `9`, `true`, `2026-01-01T00:00:00Z`. */
  text: string;
}

export interface Entity {
  partition: string;
  row: string;
  timestamp: string;
  etag: string;
  values: Record<string, Value>;
}

export interface EntityPage {
  items: Entity[];
  next?: { partition: string; row: string };
}

const JSON_FULL = "application/json;odata=fullmetadata";
const DATES = { dataserviceversion: "3.0", maxdataserviceversion: "3.0;NetFx" };

export async function listTables(prefix: string, next: string): Promise<{ items: { name: string }[]; next: string }> {
  const filter = prefix ? `TableName ge '${quoted(prefix)}' and TableName lt '${quoted(prefix)}~'` : undefined;
  const response = await ask("table", "Tables", {
    query: { $filter: filter, NextTableName: next || undefined },
    headers: { accept: "application/json;odata=nometadata", ...DATES },
  });
  const said = await response.json();
  return {
    items: said.value.map((table: { TableName: string }) => ({ name: table.TableName })),
    next: response.headers.get("x-ms-continuation-nexttablename") ?? "",
  };
}

export const createTable = (name: string) =>
  ask("table", "Tables", {
    method: "POST",
    headers: { accept: "application/json;odata=nometadata", "content-type": "application/json", prefer: "return-no-content", ...DATES },
    body: JSON.stringify({ TableName: name }),
  });

export const deleteTable = (name: string) => ask("table", `Tables('${name}')`, { method: "DELETE", headers: { accept: "application/json", ...DATES } });

const quoted = (text: string): string => text.replace(/'/g, "''");
const keyText = (text: string): string => encodeURIComponent(quoted(text)).replace(/'/g, "%27");

const entityPath = (table: string, partition: string, row: string): string =>
  `${table}(PartitionKey='${keyText(partition)}',RowKey='${keyText(row)}')`;

export async function queryEntities(
  table: string, filter: string, select: string, top: number, next?: EntityPage["next"], signal?: AbortSignal,
): Promise<EntityPage> {
  const response = await ask("table", `${table}()`, {
    query: {
      $filter: filter || undefined,
      $select: select || undefined,
      $top: top,
      NextPartitionKey: next?.partition,
      NextRowKey: next?.row,
    },
    headers: { accept: JSON_FULL, ...DATES },
    signal,
  });
  const said = await response.json();
  const partition = response.headers.get("x-ms-continuation-nextpartitionkey");
  const row = response.headers.get("x-ms-continuation-nextrowkey") ?? "";
  return { items: said.value.map(entityOf), next: partition === null ? undefined : { partition, row } };
}

function entityOf(said: Record<string, unknown>): Entity {
  const values: Record<string, Value> = {};
  for (const [name, value] of Object.entries(said)) {
    if (name.startsWith("odata.") || name.includes("@odata.") || ["PartitionKey", "RowKey", "Timestamp"].includes(name)) continue;
    values[name] = { type: typeOf(value, said[`${name}@odata.type`] as string | undefined), text: String(value) };
  }
  return {
    partition: String(said.PartitionKey ?? ""),
    row: String(said.RowKey ?? ""),
    timestamp: String(said.Timestamp ?? ""),
    etag: String(said["odata.etag"] ?? ""),
    values,
  };
}

function typeOf(value: unknown, edm: string | undefined): EdmType {
  const named = edm?.replace(/^Edm\./, "");
  if (named && (EDM_TYPES as string[]).includes(named)) return named as EdmType;
  if (typeof value === "boolean") return "Boolean";
  if (typeof value === "number") return Number.isInteger(value) ? "Int32" : "Double";
  return "String";
}

/** What JSON says of a value; `undefined` if the text is none of its type. */
export function jsonOf({ type, text }: Value): unknown {
  switch (type) {
    case "String":
    case "Guid":
    case "DateTime":
    case "Binary":
    case "Int64":
      return text;
    case "Boolean":
      return text === "true" ? true : text === "false" ? false : undefined;
    case "Int32":
      return /^-?\d+$/.test(text) ? Number(text) : undefined;
    case "Double":
      return /^(NaN|-?Infinity)$/.test(text) ? text : text.trim() !== "" && !Number.isNaN(Number(text)) ? Number(text) : undefined;
  }
}

function bodyOf(entity: Pick<Entity, "partition" | "row" | "values">): string {
  const said: Record<string, unknown> = { PartitionKey: entity.partition, RowKey: entity.row };
  for (const [name, value] of Object.entries(entity.values)) {
    const json = jsonOf(value);
    if (json === undefined) throw new Error(`${name}: “${value.text}” is no ${value.type}.`);
    if (value.type !== "String" && value.type !== "Boolean" && value.type !== "Int32") said[`${name}@odata.type`] = `Edm.${value.type}`;
    said[name] = json;
  }
  return JSON.stringify(said);
}

const WRITE = { accept: "application/json;odata=nometadata", "content-type": "application/json", prefer: "return-no-content", ...DATES };

export const insert = (table: string, entity: Pick<Entity, "partition" | "row" | "values">) =>
  ask("table", table, { method: "POST", headers: WRITE, body: bodyOf(entity) });

/** Replaces the entity if it is still the one that was read. */
export const replace = (table: string, entity: Entity) =>
  ask("table", entityPath(table, entity.partition, entity.row), { method: "PUT", headers: { ...WRITE, "if-match": entity.etag }, body: bodyOf(entity) });

export const upsert = (table: string, entity: Pick<Entity, "partition" | "row" | "values">) =>
  ask("table", entityPath(table, entity.partition, entity.row), { method: "PUT", headers: WRITE, body: bodyOf(entity) });

export const removeEntity = (table: string, entity: Entity) =>
  ask("table", entityPath(table, entity.partition, entity.row), { method: "DELETE", headers: { ...WRITE, "if-match": entity.etag } });

const BATCH_MAX = 100;

/** Groups of one partition, as a transaction wants them. */
export function batches(entities: Entity[]): Entity[][] {
  const of = new Map<string, Entity[]>();
  for (const entity of entities) of.set(entity.partition, [...(of.get(entity.partition) ?? []), entity]);
  return [...of.values()].flatMap((group) =>
    Array.from({ length: Math.ceil(group.length / BATCH_MAX) }, (_, index) => group.slice(index * BATCH_MAX, (index + 1) * BATCH_MAX)),
  );
}

/** Deletes all of them or none: one transaction. They have one partition, and are as they were read. */
export async function removeBatch(table: string, entities: Entity[], endpoint: string): Promise<void> {
  const [batch, change] = ["batch_console", "changeset_console"];
  const parts = entities.map((entity, index) => {
    const lines = [
      `--${change}`,
      "Content-Type: application/http",
      "Content-Transfer-Encoding: binary",
      "",
      `DELETE ${endpoint}/${entityPath(table, entity.partition, entity.row)} HTTP/1.1`,
      `Content-ID: ${index}`,
      "Accept: application/json;odata=nometadata",
      "DataServiceVersion: 3.0",
      `If-Match: ${entity.etag}`,
      "",
      "",
    ];
    return lines.join("\r\n");
  });
  const body = [`--${batch}`, `Content-Type: multipart/mixed; boundary=${change}`, "", ...parts, `--${change}--`, `--${batch}--`, ""].join("\r\n");
  const response = await ask("table", "$batch", {
    method: "POST",
    headers: { "content-type": `multipart/mixed; boundary=${batch}`, accept: "application/json", ...DATES },
    body,
  });
  const said = await response.text();
  const refused = said.match(/HTTP\/1\.1 ([45]\d\d)[^\r\n]*/);
  if (!refused) return;
  const message = said.match(/"value":"((?:[^"\\]|\\.)*)"/)?.[1] ?? refused[0];
  throw new Error(`Nothing was deleted in partition “${entities[0]!.partition}”: ${message.split("\\nRequestId")[0]}`);
}
