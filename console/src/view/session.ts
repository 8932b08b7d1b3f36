// Who is signed in, and where: what every view may look at.
import { useBlobEndpoint } from "../api/blob";
import { Refused, useSession } from "../api/data";
import { useFileEndpoint } from "../api/file";
import * as api from "../api/server";
import { Store } from "../ui/store";

export interface Signed {
  session: api.Session;
  server: api.ServerInfo;
}

/** `undefined`: not known yet. `null`: nobody. */
export const signed = new Store<Signed | null | undefined>(undefined);

/** Why the page is back at the start. */
export const ended = new Store<string>("");

async function enter(session: api.Session): Promise<void> {
  useSession(session.csrf, () => {
    if (!signed.get()) return;
    ended.set("The session is over. Sign in again.");
    signed.set(null);
  });
  const server = await api.server();
  const account = session.account ?? "";
  const endpoint = (service: string) => (server.endpoints[service] ? `${server.endpoints[service]!.replace(/\/$/, "")}/${account}` : "");
  useBlobEndpoint(endpoint("blob"));
  useFileEndpoint(endpoint("file"));
  ended.set("");
  signed.set({ session, server });
}

export async function resume(): Promise<void> {
  try {
    await enter(await api.session());
  } catch (error) {
    if (!(error instanceof Refused)) ended.set("The server does not answer. Is it still running?");
    signed.set(null);
  }
}

export const signIn = async (credential: Record<string, string>): Promise<void> => enter(await api.signIn(credential));

export const raise = async (operator: string): Promise<void> => enter(await api.raise(operator));

export async function signOut(): Promise<void> {
  await api.signOut().catch(() => {});
  useSession("", () => {});
  signed.set(null);
  location.hash = "";
}

export async function refreshServer(): Promise<void> {
  const now = signed.get();
  if (now) signed.set({ ...now, server: await api.server() });
}

/** The recorder shows what a key's account did, and an operator everything. */
export const mayRecord = (now: Signed): boolean => now.server.recorder && (now.session.kind === "key" || now.session.operator);

/** An operator without an account has no data plane. */
export const mayData = (now: Signed): boolean => now.session.kind !== "operator";

export const accountOf = (now: Signed): string => now.session.account ?? "";
