// Query Blob Contents, for previews of CSV, JSON lines and Parquet: the server reads the format, and answers rows as JSON lines inside Avro
// frames. Held true: no more of an answer is kept than a preview shows.
import { ask, encodePath, escapeXml } from "./data";

export type Format = "csv" | "json" | "parquet";

export interface Rows {
  columns: string[];
  rows: string[][];
  /** There may be more. */
  cut: boolean;
}

const INPUT: Record<Format, string> = {
  csv:
    "<Type>delimited</Type><DelimitedTextConfiguration><ColumnSeparator>,</ColumnSeparator><FieldQuote>&quot;</FieldQuote>" +
    "<RecordSeparator>\n</RecordSeparator><EscapeChar></EscapeChar><HasHeaders>true</HasHeaders></DelimitedTextConfiguration>",
  json: "<Type>json</Type><JsonTextConfiguration><RecordSeparator>\n</RecordSeparator></JsonTextConfiguration>",
  parquet: "<Type>parquet</Type>",
};

/** What the name and the type of a blob say it is, if a query can read it. */
export function formatOf(name: string, type: string): Format | undefined {
  const lower = name.toLowerCase();
  if (lower.endsWith(".parquet") || type.includes("parquet")) return "parquet";
  if (lower.endsWith(".csv") || type.startsWith("text/csv")) return "csv";
  if (/\.(jsonl|ndjson)$/.test(lower) || type.includes("ndjson")) return "json";
  return undefined;
}

const ROWS_MAX = 1000;

export async function query(container: string, blob: string, format: Format, expression: string, signal?: AbortSignal): Promise<Rows> {
  const body =
    `<?xml version="1.0" encoding="utf-8"?><QueryRequest><QueryType>SQL</QueryType><Expression>${escapeXml(expression)}</Expression>` +
    `<InputSerialization><Format>${INPUT[format]}</Format></InputSerialization>` +
    "<OutputSerialization><Format><Type>json</Type><JsonTextConfiguration><RecordSeparator>\n</RecordSeparator></JsonTextConfiguration></Format>" +
    "</OutputSerialization></QueryRequest>";
  const response = await ask("blob", `${encodePath(container)}/${encodePath(blob)}`, {
    method: "POST",
    query: { comp: "query" },
    headers: { "content-type": "application/xml" },
    body,
    signal,
  });
  const text = new TextDecoder().decode(join(frames(new Uint8Array(await response.arrayBuffer()))));
  return tabulate(text.split("\n").filter((line) => line.trim() !== ""));
}

function tabulate(lines: string[]): Rows {
  const records = lines.slice(0, ROWS_MAX).map((line) => JSON.parse(line, asWritten) as Record<string, unknown>);
  const columns = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const cell = (value: unknown) => (value === undefined || value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));
  return { columns, rows: records.map((record) => columns.map((column) => cell(record[column]))), cut: lines.length > ROWS_MAX };
}

/** Numbers as they are written: some are too exact for JavaScript. */
function asWritten(_key: string, value: unknown, context?: { source?: string }): unknown {
  return typeof value === "number" ? (context?.source ?? value) : value;
}

function join(parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

// --- Avro ------------------------------------------------------------------------------------------------------------

/** Reads what an Avro file is made of. */
class Reader {
  at = 0;
  constructor(readonly bytes: Uint8Array) {}

  get isOver(): boolean {
    return this.at >= this.bytes.length;
  }

  take(length: number): Uint8Array {
    if (length < 0 || this.at + length > this.bytes.length) throw new Error("The answer to the query is cut off.");
    return this.bytes.subarray(this.at, (this.at += length));
  }

  /** Zigzag, in groups of seven bits. Numbers here are lengths and positions: exact below 2^53. */
  long(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.take(1)[0]!;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) break;
      scale *= 128;
    }
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }

  blob(): Uint8Array {
    return this.take(this.long());
  }

  text(): string {
    return new TextDecoder().decode(this.blob());
  }
}

const RESULT = 0;
const ERROR = 1;
const PROGRESS = 2;
const END = 3;

/** The data of each frame. An error that ends the query is thrown; others leave what there is. */
function frames(bytes: Uint8Array): Uint8Array[] {
  const file = new Reader(bytes);
  if (new TextDecoder().decode(file.take(3)) !== "Obj") throw new Error("The answer to the query is not what it should be.");
  file.take(1);
  for (let count = file.long(); count !== 0; count = file.long()) {
    if (count < 0) file.long();
    for (let index = 0; index < Math.abs(count); index++) file.text(), file.blob();
  }
  file.take(16);
  const found: Uint8Array[] = [];
  while (!file.isOver) {
    const count = file.long();
    const block = new Reader(file.blob());
    for (let index = 0; index < count; index++) frame(block, found);
    file.take(16);
  }
  return found;
}

function frame(block: Reader, found: Uint8Array[]): void {
  const kind = block.long();
  switch (kind) {
    case RESULT:
      found.push(block.blob());
      return;
    case ERROR: {
      const fatal = block.take(1)[0] === 1;
      const [name, description] = [block.text(), block.text()];
      block.long();
      if (fatal) throw new Error(`${name}: ${description}`);
      return;
    }
    case PROGRESS:
      block.long();
      block.long();
      return;
    case END:
      block.long();
      return;
    default:
      throw new Error("The answer to the query has a part that this page does not know.");
  }
}
