// Entities as CSV and JSON, both ways. A column of a CSV says its type after a colon where it is no string: `lives:Int32`.
import { EDM_TYPES } from "../../api/table";
import type { EdmType, Entity, Value } from "../../api/table";

export type Plain = Pick<Entity, "partition" | "row" | "values">;

const quote = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);

export function toCsv(entities: readonly Entity[]): string {
  const columns = new Map<string, EdmType>();
  for (const entity of entities) {
    for (const [name, value] of Object.entries(entity.values)) {
      const key = `${name}\u0000${value.type}`;
      if (!columns.has(key)) columns.set(key, value.type);
    }
  }
  const keys = [...columns.keys()];
  const title = (key: string) => key.split("\u0000")[0]! + (columns.get(key) === "String" ? "" : `:${columns.get(key)}`);
  const lines = [["PartitionKey", "RowKey", ...keys.map(title)]];
  for (const entity of entities) {
    const cell = (key: string) => {
      const value = entity.values[key.split("\u0000")[0]!];
      return value && value.type === columns.get(key) ? value.text : "";
    };
    lines.push([entity.partition, entity.row, ...keys.map(cell)]);
  }
  return lines.map((line) => line.map(quote).join(",")).join("\r\n") + "\r\n";
}

export function toJson(entities: readonly Entity[]): string {
  const said = entities.map((entity) => {
    const out: Record<string, unknown> = { PartitionKey: entity.partition, RowKey: entity.row };
    for (const [name, value] of Object.entries(entity.values)) {
      if (!["String", "Boolean", "Int32"].includes(value.type)) out[`${name}@odata.type`] = `Edm.${value.type}`;
      out[name] = value.type === "Boolean" ? value.text === "true" : value.type === "Int32" || value.type === "Double" ? number(value.text) : value.text;
    }
    return out;
  });
  return JSON.stringify(said, null, 2);
}

const number = (text: string): number | string => (Number.isFinite(Number(text)) ? Number(text) : text);

/** Lines and cells, as RFC 4180 has them. */
export function parseCsv(text: string): string[][] {
  const lines: string[][] = [];
  let line: string[] = [];
  let cell = "";
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    const letter = text[at]!;
    if (isQuoted) {
      if (letter !== '"') cell += letter;
      else if (text[at + 1] === '"') (cell += '"'), at++;
      else isQuoted = false;
    } else if (letter === '"') isQuoted = true;
    else if (letter === ",") line.push(cell), (cell = "");
    else if (letter === "\n" || letter === "\r") {
      if (letter === "\r" && text[at + 1] === "\n") at++;
      lines.push([...line, cell]);
      [line, cell] = [[], ""];
    } else cell += letter;
  }
  if (cell !== "" || line.length) lines.push([...line, cell]);
  return lines.filter((one) => one.length > 1 || one[0] !== "");
}

/** What to import. Throws what is wrong with it, by line. */
export function fromText(name: string, text: string): Plain[] {
  return name.toLowerCase().endsWith(".json") || text.trimStart().startsWith("[") ? fromJson(text) : fromCsv(text);
}

function fromCsv(text: string): Plain[] {
  const [head, ...lines] = parseCsv(text.replace(/^\uFEFF/, ""));
  const [partition, row] = [head?.indexOf("PartitionKey") ?? -1, head?.indexOf("RowKey") ?? -1];
  if (partition < 0 || row < 0) throw new Error("The first line has to name the columns, PartitionKey and RowKey among them.");
  return lines.map((line, index) => {
    const values: Record<string, Value> = {};
    head!.forEach((title, at) => {
      if (at === partition || at === row || title === "Timestamp" || !line[at]) return;
      const [, name, type] = title.match(/^(.*?)(?::(\w+))?$/)!;
      if (type && !(EDM_TYPES as string[]).includes(type)) throw new Error(`The column ${title}: ${type} is no type. There are ${EDM_TYPES.join(", ")}.`);
      values[name!] = { type: (type as EdmType) ?? "String", text: line[at]! };
    });
    if (line.length > head!.length) throw new Error(`Line ${index + 2} has more cells than the first.`);
    return { partition: line[partition] ?? "", row: line[row] ?? "", values };
  });
}

function fromJson(text: string): Plain[] {
  const said: unknown = JSON.parse(text);
  if (!Array.isArray(said)) throw new Error("The file has to be a list of entities: [{…}, {…}].");
  return said.map((one: Record<string, unknown>, index) => {
    if (typeof one?.PartitionKey !== "string" || typeof one?.RowKey !== "string") throw new Error(`Entity ${index + 1} has no PartitionKey and RowKey.`);
    const values: Record<string, Value> = {};
    for (const [name, value] of Object.entries(one)) {
      if (["PartitionKey", "RowKey", "Timestamp"].includes(name) || name.includes("odata.") || value === null) continue;
      if (typeof value === "object") throw new Error(`Entity ${index + 1}: ${name} is no plain value.`);
      const named = String(one[`${name}@odata.type`] ?? "").replace(/^Edm\./, "");
      const guessed: EdmType = typeof value === "boolean" ? "Boolean" : typeof value === "number" ? (Number.isInteger(value) && Math.abs(value) < 2 ** 31 ? "Int32" : "Double") : "String";
      values[name] = { type: (EDM_TYPES as string[]).includes(named) ? (named as EdmType) : guessed, text: String(value) };
    }
    return { partition: one.PartitionKey, row: one.RowKey, values };
  });
}
