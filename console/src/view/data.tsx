// Data: what the account holds, service by service, and the view of the one that is open.
import { Icon } from "../ui/icon";
import { go } from "../ui/route";
import { Side } from "./data/side";
import { ContainerView } from "./data/container";
import { LakeView } from "./data/lake";
import { Overview } from "./data/overview";
import { QueueView } from "./data/queue";
import { SasTool } from "./data/sas";
import { ShareView } from "./data/share";
import { TableView } from "./data/table";
import { mayData } from "./session";
import type { Signed } from "./session";

export function Data({ now, route }: { now: Signed; route: string[] }) {
  const [kind = "", name = "", path = "", open = ""] = route;
  if (!mayData(now)) {
    return (
      <div class="content padded">
        <h2>No account is open</h2>
        <p>The operator’s token opens the records, the log and the lab, but no data. Sign in with an account’s key, a SAS or a token to see data; then become operator from the menu.</p>
      </div>
    );
  }
  return (
    <>
      <Side now={now} kind={kind} name={name} />
      <div class="content" key={`${kind}/${name}`}>
        {kind === "blob" && name && <ContainerView now={now} container={name} prefix={path} open={open} />}
        {kind === "lake" && name && <LakeView now={now} system={name} path={path} open={open} />}
        {kind === "file" && name && <ShareView now={now} share={name} path={path} open={open} />}
        {kind === "queue" && name && <QueueView now={now} queue={name} />}
        {kind === "table" && name && <TableView now={now} table={name} />}
        {kind === "sas" && <SasTool now={now} />}
        {(kind === "" || (!name && kind !== "sas")) && <Overview now={now} />}
      </div>
    </>
  );
}

export const BackToList = () => (
  <button class="back" aria-label="Back to the list" onClick={() => go("data")}>
    <Icon name="list" />
  </button>
);
