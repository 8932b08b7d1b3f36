// Queues and their messages.
import { ask, children, encodePath, escapeXml, first, metadataHeaders, metadataOf, nameOf, parse, record, text1 } from "./data";
import type { Page } from "./blob";

export interface Message {
  id: string;
  text: string;
  inserted: string;
  expires: string;
  visibleAt: string;
  dequeued: number;
  /** Only who took the message has one. */
  receipt: string;
}

export async function listQueues(prefix: string, marker: string): Promise<Page<{ name: string }>> {
  const query = { comp: "list", prefix: prefix || undefined, marker: marker || undefined, maxresults: 1000 };
  const xml = parse(await (await ask("queue", "", { query })).text());
  return { items: children(first(xml, "Queues")).map((queue) => ({ name: nameOf(children(queue, "Name")[0]) })), next: text1(xml, "NextMarker") };
}

export const createQueue = (name: string) => ask("queue", encodePath(name), { method: "PUT" });
export const deleteQueue = (name: string) => ask("queue", encodePath(name), { method: "DELETE" });
export const clearQueue = (name: string) => ask("queue", `${encodePath(name)}/messages`, { method: "DELETE" });

export async function queueMetadata(name: string): Promise<{ count: number; metadata: Record<string, string> }> {
  const response = await ask("queue", encodePath(name), { query: { comp: "metadata" } });
  return { count: Number(response.headers.get("x-ms-approximate-messages-count") ?? 0), metadata: metadataOf(response) };
}

export const setQueueMetadata = (name: string, metadata: Record<string, string>) =>
  ask("queue", encodePath(name), { method: "PUT", query: { comp: "metadata" }, headers: metadataHeaders(metadata) });

async function messages(name: string, query: Record<string, string | number>): Promise<Message[]> {
  const xml = parse(await (await ask("queue", `${encodePath(name)}/messages`, { query })).text());
  return [...xml.getElementsByTagName("QueueMessage")].map((message) => {
    const said = record(message);
    return {
      id: said.MessageId ?? "",
      text: said.MessageText ?? "",
      inserted: said.InsertionTime ?? "",
      expires: said.ExpirationTime ?? "",
      visibleAt: said.TimeNextVisible ?? "",
      dequeued: Number(said.DequeueCount ?? 0),
      receipt: said.PopReceipt ?? "",
    };
  });
}

export const peek = (name: string) => messages(name, { peekonly: "true", numofmessages: 32 });
export const take = (name: string, count: number, seconds: number) => messages(name, { numofmessages: count, visibilitytimeout: seconds });

const body = (text: string): string => `<?xml version="1.0" encoding="utf-8"?><QueueMessage><MessageText>${escapeXml(text)}</MessageText></QueueMessage>`;

export const put = (name: string, text: string, delaySeconds: number, lifeSeconds: number) =>
  ask("queue", `${encodePath(name)}/messages`, {
    method: "POST",
    query: { visibilitytimeout: delaySeconds || undefined, messagettl: lifeSeconds },
    headers: { "content-type": "application/xml" },
    body: body(text),
  });

export const deleteMessage = (name: string, message: Message) =>
  ask("queue", `${encodePath(name)}/messages/${message.id}`, { method: "DELETE", query: { popreceipt: message.receipt } });

/** Gives a message back (`seconds` = 0), or keeps it for longer. Answers the new receipt. */
export async function update(name: string, message: Message, text: string, seconds: number): Promise<{ receipt: string; visibleAt: string }> {
  const response = await ask("queue", `${encodePath(name)}/messages/${message.id}`, {
    method: "PUT",
    query: { popreceipt: message.receipt, visibilitytimeout: seconds },
    headers: { "content-type": "application/xml" },
    body: body(text),
  });
  return { receipt: response.headers.get("x-ms-popreceipt") ?? "", visibleAt: response.headers.get("x-ms-time-next-visible") ?? "" };
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** SDKs often send Base64: what it says, if it says text. */
export function decoded(text: string): string | undefined {
  if (text.length < 4 || text.length % 4 !== 0 || !BASE64.test(text)) return undefined;
  try {
    const said = new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)));
    return /[\u0000-\u0008\u000e-\u001f]/.test(said) ? undefined : said;
  } catch {
    return undefined;
  }
}
