// The data plane, reached through the console's own origin. A request is that of any client; the server adds the credential of the
// session, which this page never holds. Held true: what the server refuses becomes a `Refused` that keeps its code and request id.

export type Service = "blob" | "queue" | "table" | "file" | "dfs";

export type Query = Record<string, string | number | undefined>;
export type Headers = Record<string, string | undefined>;

export interface Ask {
  method?: string;
  query?: Query;
  headers?: Headers;
  body?: BodyInit;
  signal?: AbortSignal;
}

/** What the service said no to. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestId: string,
    /** Azure's own words on why a signature or its rights do not do. */
    readonly detail: string = "",
  ) {
    super(message);
  }

  /** Somebody else was faster, or holds what was asked for: the recorder can tell who. */
  get isConflict(): boolean {
    return this.status === 409 || this.status === 412;
  }
}

export const VERSION = "2026-02-06";

let csrf = "";
let signedOut: () => void = () => {};

/** What each request of the session carries; and who is told when it is over. */
export function useSession(token: string, onSignedOut: () => void): void {
  csrf = token;
  signedOut = onSignedOut;
}

export const sessionHeaders = (): Record<string, string> => (csrf ? { "x-lazuli-csrf": csrf } : {});

/** Encodes a path, keeping its slashes. */
export const encodePath = (path: string): string => path.split("/").map(encodeURIComponent).join("/");

function queryText(query: Query = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined);
  return pairs.length ? "?" + pairs.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&") : "";
}

/** The address of something in the data plane, on this origin. */
export const address = (service: Service, path: string, query?: Query): string =>
  `/data/${service}/${path}${queryText(query)}`;

/** So that the page's own requests can be told from others in the record. */
function clientRequestId(): string {
  const random = crypto.getRandomValues(new Uint8Array(8));
  return "console-" + Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function headersOf(asked: Ask): Record<string, string> {
  const headers: Record<string, string> = { "x-ms-version": VERSION, "x-ms-client-request-id": clientRequestId(), ...sessionHeaders() };
  for (const [name, value] of Object.entries(asked.headers ?? {})) if (value !== undefined) headers[name] = value;
  return headers;
}

export async function ask(service: Service, path: string, asked: Ask = {}): Promise<Response> {
  const response = await fetch(address(service, path, asked.query), {
    method: asked.method ?? "GET",
    headers: headersOf(asked),
    body: asked.body,
    signal: asked.signal,
    cache: "no-store",
    credentials: "same-origin",
  });
  if (response.ok || response.status === 304) return response;
  throw await refusal(response);
}

export async function refusal(response: Response): Promise<Refused> {
  const text = await response.text().catch(() => "");
  const headers = response.headers;
  if (response.status === 401 && text.includes("NoSession")) signedOut();
  return refusalOf(response.status, response.statusText, text, (name) => headers.get(name));
}

function refusalOf(status: number, statusText: string, text: string, header: (name: string) => string | null): Refused {
  const requestId = header("x-ms-request-id") ?? "";
  let code = header("x-ms-error-code") ?? "";
  let message = "";
  let detail = "";
  if (text.trimStart().startsWith("<")) {
    const xml = parse(text);
    code ||= text1(xml, "Code") || text1(xml, "code");
    message = text1(xml, "Message") || text1(xml, "message");
    detail = text1(xml, "AuthenticationErrorDetail");
  } else if (text.trimStart().startsWith("{")) {
    try {
      const said = JSON.parse(text);
      const error = said["odata.error"] ?? said.error ?? said;
      code ||= typeof error === "object" ? (error.code ?? "") : "";
      message = typeof error === "string" ? error : (error.message?.value ?? error.message ?? "");
    } catch {
      message = text;
    }
  } else {
    message = text;
  }
  message = message.split("\nRequestId:")[0]!.trim() || statusText || `The server answered ${status}.`;
  return new Refused(status, code || String(status), message, requestId, detail);
}

export interface Sent {
  header(name: string): string | null;
}

/** Like `ask`, but tells how much of the body has gone. */
export function send(
  service: Service,
  path: string,
  asked: Ask & { body: XMLHttpRequestBodyInit },
  onSent: (bytes: number) => void,
): Promise<Sent> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(asked.method ?? "PUT", address(service, path, asked.query));
    for (const [name, value] of Object.entries(headersOf(asked))) request.setRequestHeader(name, value);
    const cancel = () => request.abort();
    if (asked.signal?.aborted) return reject(new DOMException("cancelled", "AbortError"));
    asked.signal?.addEventListener("abort", cancel);
    request.upload.onprogress = (event) => onSent(event.loaded);
    request.onabort = () => reject(new DOMException("cancelled", "AbortError"));
    request.onerror = () => reject(new Error("The connection was lost."));
    request.onload = () => {
      const header = (name: string) => request.getResponseHeader(name);
      if (request.status < 300) return resolve({ header });
      if (request.status === 401 && request.responseText.includes("NoSession")) signedOut();
      reject(refusalOf(request.status, request.statusText, request.responseText, header));
    };
    request.onloadend = () => asked.signal?.removeEventListener("abort", cancel);
    request.send(asked.body);
  });
}

// --- XML -------------------------------------------------------------------------------------------------------------

interface Trust {
  createPolicy(name: string, rules: { createHTML: (text: string) => string }): { createHTML: (text: string) => string };
}

/** The page may make no text into parts of itself (Trusted Types). Answers are read as XML, and what is found in them is text: this policy is for the parser alone. */
const trusted = (globalThis as { trustedTypes?: Trust }).trustedTypes?.createPolicy("xml", { createHTML: (text) => text });

export function parse(text: string): Document {
  const plain = text.replace(/^\uFEFF/, "");
  return new DOMParser().parseFromString(trusted?.createHTML(plain) ?? plain, "text/xml");
}

export const text1 = (of: Document | Element, name: string): string => of.getElementsByTagName(name)[0]?.textContent ?? "";

/** Children of `of` with this name, not those of its children. */
export const children = (of: Element | undefined, name?: string): Element[] =>
  [...(of?.children ?? [])].filter((child) => !name || child.nodeName === name);

export const first = (of: Document | Element | undefined, name: string): Element | undefined => of?.getElementsByTagName(name)[0];

/** The text of each child, by its name. */
export function record(of: Element | undefined): Record<string, string> {
  const found: Record<string, string> = {};
  for (const child of children(of)) found[child.nodeName] = child.textContent ?? "";
  return found;
}

/** Names in listings are encoded if XML could not carry them. */
export function nameOf(element: Element | undefined): string {
  const text = element?.textContent ?? "";
  return element?.getAttribute("Encoded") === "true" ? decodeURIComponent(text) : text;
}

export const escapeXml = (text: string): string =>
  text.replace(/[<>&"']/g, (letter) => `&#${letter.charCodeAt(0)};`);

export function metadataHeaders(metadata: Record<string, string>): Headers {
  const headers: Headers = {};
  for (const [name, value] of Object.entries(metadata)) headers[`x-ms-meta-${name}`] = value;
  return headers;
}

export function metadataOf(response: Response): Record<string, string> {
  const metadata: Record<string, string> = {};
  response.headers.forEach((value, name) => {
    if (name.startsWith("x-ms-meta-")) metadata[name.slice("x-ms-meta-".length)] = value;
  });
  return metadata;
}
