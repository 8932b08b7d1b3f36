// The server: how it is, in numbers and checks; the settings of accounts; the log.
import { Tabs } from "../ui/parts";
import { go } from "../ui/route";
import { Accounts } from "./server/accounts";
import { Health } from "./server/health";
import { LogTail } from "./server/log";
import { Numbers } from "./server/numbers";
import type { Signed } from "./session";

const TABS = [
  ["numbers", "Live"],
  ["health", "Health"],
  ["accounts", "Account settings"],
  ["log", "Log"],
] as const;

type Tab = (typeof TABS)[number][0];

export function Server({ now, route }: { now: Signed; route: string[] }) {
  const tab: Tab = TABS.find(([name]) => name === route[0])?.[0] ?? "numbers";
  return (
    <div class="content padded">
      <Tabs label="Server" names={TABS} now={tab} onPick={(next) => go("server", next)} />
      {tab === "numbers" && <Numbers now={now} />}
      {tab === "health" && <Health now={now} />}
      {tab === "accounts" && <Accounts now={now} />}
      {tab === "log" && <LogTail now={now} />}
    </div>
  );
}

export const OperatorOnly = () => (
  <div class="card">
    <h2>For the operator</h2>
    <p>Choose “Become operator” in the menu at the top right. The token is in <code>console.json</code> in the data directory.</p>
  </div>
);
