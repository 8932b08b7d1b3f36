// What is in a blob: text, JSON, images; CSV, JSON lines and Parquet as a table, by a query that the server runs. Held true: no more of a blob is fetched than is shown,
// and nothing of it is ever part of this page: text stays text, and an image is drawn by the browser from bytes that it was handed.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import * as api from "../../api/blob";
import { formatOf, query } from "../../api/query";
import type { Rows } from "../../api/query";
import { Empty, Trouble } from "../../ui/notes";
import { bytes, plural } from "../../ui/say";
import { useLoad } from "../../ui/store";

const TEXT_BYTES_MAX = 256 << 10;
const IMAGE_BYTES_MAX = 20 << 20;

interface Props {
  container: string;
  name: string;
  moment: api.Moment;
  size: number;
  type: string;
}

export function Preview(props: Props) {
  const { name, type, size, moment } = props;
  const format = moment.snapshot || moment.versionid ? undefined : formatOf(name, type);
  if (size === 0) return <Empty>The blob is empty.</Empty>;
  if (format) return <Table {...props} format={format} />;
  if (isImage(name, type)) return size > IMAGE_BYTES_MAX ? <Empty>The image has {bytes(size)}: download it to see it.</Empty> : <Picture {...props} />;
  return <Text {...props} />;
}

const isImage = (name: string, type: string): boolean => type.startsWith("image/") || /\.(png|jpe?g|gif|webp|svg|avif|ico|bmp)$/i.test(name);

function imageType(name: string, type: string): string {
  if (type.startsWith("image/")) return type;
  const ending = name.split(".").pop()!.toLowerCase();
  return { svg: "image/svg+xml", jpg: "image/jpeg", ico: "image/x-icon" }[ending] ?? `image/${ending}`;
}

function Picture({ container, name, moment, type }: Props) {
  const [source, setSource] = useState<string>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const control = new AbortController();
    let url: string | undefined;
    api
      .content(container, name, moment, undefined, control.signal)
      .then((response) => response.arrayBuffer())
      .then((content) => setSource((url = URL.createObjectURL(new Blob([content], { type: imageType(name, type) })))))
      .catch((why) => control.signal.aborted || setError(why));
    return () => {
      control.abort();
      if (url) URL.revokeObjectURL(url);
    };
  }, [container, name, moment.snapshot, moment.versionid]);
  if (error) return <Trouble error={error} />;
  return <div class="preview">{source && <img src={source} alt={`Content of ${name}`} />}</div>;
}

function Text({ container, name, moment, size, type }: Props) {
  const { data, error } = useLoad(
    async (signal) => new Uint8Array(await (await api.content(container, name, moment, `bytes=0-${Math.min(size, TEXT_BYTES_MAX) - 1}`, signal)).arrayBuffer()),
    [container, name, moment.snapshot, moment.versionid],
  );
  if (error) return <Trouble error={error} />;
  if (!data) return <p class="loading">Loading…</p>;
  const cut = size > data.length;
  const isBinary = data.subarray(0, 4096).includes(0);
  const text = isBinary ? hex(data.subarray(0, 4096)) : new TextDecoder().decode(data);
  const isJson = !isBinary && !cut && (type.includes("json") || /\.json$/i.test(name));
  return (
    <>
      <p class="fine">
        {isBinary ? `Bytes: the first ${bytes(Math.min(size, 4096))} of ${bytes(size)}` : cut ? `The first ${bytes(data.length)} of ${bytes(size)}` : bytes(size)}
      </p>
      <div class="preview" tabIndex={0}>
        {isJson ? <Json text={text} /> : <pre>{text}</pre>}
      </div>
    </>
  );
}

function hex(data: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < data.length; at += 16) {
    const part = [...data.subarray(at, at + 16)];
    const letters = part.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·")).join("");
    lines.push(`${at.toString(16).padStart(6, "0")}  ${part.map((byte) => byte.toString(16).padStart(2, "0")).join(" ").padEnd(48)}  ${letters}`);
  }
  return lines.join("\n");
}

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|[[\]{},:]/g;

/** JSON, indented and coloured. Numbers stay as they are written: some are too exact for JavaScript. */
export function Json({ text }: { text: string }) {
  try {
    JSON.parse(text);
  } catch {
    return <pre>{text}</pre>;
  }
  const tokens = text.match(TOKEN) ?? [];
  const parts: ComponentChildren[] = [];
  let depth = 0;
  tokens.forEach((token, index) => {
    const next = tokens[index + 1];
    const isEmpty = (token === "{" && next === "}") || (token === "[" && next === "]");
    const line = () => parts.push("\n" + "  ".repeat(depth));
    if (token === "{" || token === "[") {
      parts.push(token);
      if (!isEmpty) depth++, line();
    } else if (token === "}" || token === "]") {
      const before = tokens[index - 1];
      if (before !== "{" && before !== "[") depth--, line();
      parts.push(token);
    } else if (token === ",") parts.push(token), line();
    else if (token === ":") parts.push(": ");
    else parts.push(<span class={next === ":" ? "json-key" : token.startsWith('"') ? "json-text" : "json-word"}>{token}</span>);
  });
  return <pre>{parts}</pre>;
}

function Table({ container, name, format }: Props & { format: "csv" | "json" | "parquet" }) {
  const [expression, setExpression] = useState("SELECT * FROM BlobStorage LIMIT 100");
  const [asked, setAsked] = useState(expression);
  const { data, error, isLoading } = useLoad((signal) => query(container, name, format, asked, signal), [container, name, asked]);
  return (
    <>
      <form onSubmit={(event) => (event.preventDefault(), setAsked(expression))}>
        <label>
          Query ({format})
          <textarea rows={2} value={expression} spellcheck={false} onInput={(event) => setExpression(event.currentTarget.value)} />
        </label>
        <div class="actions">
          <button class="main">Run</button>
          {isLoading && <span class="fine">running…</span>}
          {data && <span class="fine">{plural(data.rows.length, "row")}{data.cut ? " shown; there are more" : ""}</span>}
        </div>
      </form>
      {error ? <Trouble error={error} /> : data && <Sheet data={data} />}
    </>
  );
}

export function Sheet({ data }: { data: Rows }) {
  return (
    <div class="preview sheet" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {data.columns.map((column) => (
              <th key={column}>{column}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {data.rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, at) => (
                <td key={at} title={cell}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
