// Connection strings: what SDKs are configured with.

/** The account and the key in a connection string, if it is one. */
export function fromConnectionString(text: string): { account: string; key: string } | undefined {
  const parts = new Map(text.split(";").map((part) => [part.slice(0, part.indexOf("=")).trim().toLowerCase(), part.slice(part.indexOf("=") + 1).trim()]));
  const [account, key] = [parts.get("accountname"), parts.get("accountkey")];
  return account && key ? { account, key } : undefined;
}
