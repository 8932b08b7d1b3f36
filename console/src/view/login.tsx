// Signing in: with an account and its key, a connection string, a SAS, a token, or as operator. What is typed goes to the server once, and is
// kept by the page nowhere.
import { useState } from "preact/hooks";
import { fromConnectionString } from "../api/connection";
import { words } from "../ui/notes";
import { Tabs } from "../ui/parts";
import { useStore } from "../ui/store";
import { ended, signIn } from "./session";

type Way = "key" | "sas" | "token" | "operator";

const WAYS = [
  ["key", "Account key"],
  ["sas", "SAS"],
  ["token", "Token"],
  ["operator", "Operator"],
] as const;

export function Login() {
  const why = useStore(ended);
  const [way, setWay] = useState<Way>("key");
  const [account, setAccount] = useState("devstoreaccount1");
  const [secret, setSecret] = useState("");
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);

  const credential = (): Record<string, string> => {
    const text = secret.trim();
    switch (way) {
      case "key":
        return fromConnectionString(text) ?? { account: account.trim(), key: text };
      case "sas":
        return text.includes("://") ? { sas: text } : { account: account.trim(), sas: text.replace(/^\?/, "") };
      case "token":
        return { account: account.trim(), token: text.replace(/^Bearer /i, "") };
      case "operator":
        return { operator: text };
    }
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      await signIn(credential());
      setSecret("");
    } catch (refused) {
      setError(refused);
      setBusy(false);
    }
  };
  return (
    <div class="login">
      <form onSubmit={submit}>
        <h1>
          <img src="/console/icon.svg" alt="" width="40" height="40" /> Lazuli
        </h1>
        <p class="fine">Storage that says who was faster, and why.</p>
        {why && <p class="wrong">{why}</p>}
        <Tabs label="How to sign in" names={WAYS} now={way} onPick={(next) => (setWay(next), setSecret(""), setError(undefined))} />
        {way !== "operator" && (
          <label>
            Account
            <input name="account" value={account} autocomplete="off" spellcheck={false} onInput={(event) => setAccount(event.currentTarget.value)} />
          </label>
        )}
        <label>
          {SECRETS[way][0]}
          <input name="secret" type="password" autocomplete="off" autofocus value={secret} onInput={(event) => setSecret(event.currentTarget.value)} />
          <span class="fine">{SECRETS[way][1]}</span>
        </label>
        {error !== undefined && (
          <p class="wrong" role="alert">
            {words(error)}
          </p>
        )}
        <button class="main" disabled={isBusy || secret === ""}>
          Sign in
        </button>
        <p class="fine">The server keeps the secret for the session, which ends after 30 minutes without use. The page keeps it nowhere.</p>
      </form>
    </div>
  );
}

const SECRETS: Record<Way, readonly [string, string]> = {
  key: ["Key, or a whole connection string", "Base64, as the banner prints it. You may do all that the account may."],
  sas: ["SAS, or a URL with one", "You may do what the SAS allows."],
  token: ["Bearer token", "You may do what the roles of its holder allow."],
  operator: ["Operator’s token", "In console.json of the data directory. It opens the records and the lab, but no data."],
};
