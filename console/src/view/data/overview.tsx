// What is shown before anything is opened: where the account is served, and how to begin.
import { useState } from "preact/hooks";
import { findByTags } from "../../api/blob";
import { Empty, Trouble } from "../../ui/notes";
import { Copyable, Facts } from "../../ui/parts";
import { hash } from "../../ui/route";
import { accountOf } from "../session";
import type { Signed } from "../session";

const NAMES: Record<string, string> = { blob: "Blobs", queue: "Queues", table: "Tables", file: "Files", dfs: "Data Lake", web: "Website" };

export function Overview({ now }: { now: Signed }) {
  const { session, server } = now;
  const endpoint = (address: string) => `${address.replace(/\/$/, "")}/${accountOf(now)}`;
  return (
    <div class="content padded">
      <h2>{accountOf(now)}</h2>
      <p class="fine">Choose a container, share, queue or table on the left, or make one with +. Files can be dropped into any container or share.</p>
      <div class="cards">
        <section class="card">
          <h2>Where it is served</h2>
          <Facts facts={Object.entries(server.endpoints).map(([name, address]) => [NAMES[name] ?? name, <Copyable text={endpoint(address)} label={`${NAMES[name] ?? name} endpoint`} />])} />
        </section>
        <section class="card">
          <h2>This session</h2>
          <Facts
            facts={[
              ["Signed in with", session.kind === "key" ? "the account’s key: all rights" : session.kind === "sas" ? "a SAS" : "a token"],
              ["May", session.sas?.permissions ?? ""],
              ["Only in", session.sas?.container ? <OnlyIn now={now} /> : ""],
              ["SAS ends", session.sas?.expiry ?? ""],
              ["Operator", session.operator ? "yes" : "no: become operator in the menu at the top"],
              ["Data lives", server.place === "memory" ? "in memory: gone after a stop" : server.place],
            ]}
          />
        </section>
        <FindByTags />
      </div>
    </div>
  );
}

function OnlyIn({ now }: { now: Signed }) {
  const { service, container, name } = now.session.sas!;
  const href = name ? hash("data", service ?? "blob", container!, folderOf(name).replace(/\/$/, service === "file" ? "" : "/"), name) : hash("data", service ?? "blob", container!);
  return <a href={href}>{[container, name].filter(Boolean).join("/")}</a>;
}

function FindByTags() {
  const [where, setWhere] = useState("");
  const [found, setFound] = useState<Awaited<ReturnType<typeof findByTags>>>();
  const [error, setError] = useState<unknown>();
  const find = async (event: Event) => {
    event.preventDefault();
    setError(undefined);
    try {
      setFound(await findByTags(where, ""));
    } catch (why) {
      setFound(undefined);
      setError(why);
    }
  };
  return (
    <section class="card">
      <h2>Find blobs by tags</h2>
      <form onSubmit={find}>
        <input aria-label="Condition on tags" placeholder={`"project" = 'lapis' AND "stage" > '2'`} value={where} onInput={(event) => setWhere(event.currentTarget.value)} />
        <div class="actions">
          <button disabled={!where}>Find</button>
        </div>
      </form>
      {error !== undefined && <Trouble error={error} />}
      {found && found.items.length === 0 && <Empty>No blob has such tags.</Empty>}
      {found && found.items.length > 0 && (
        <table class="lines">
          <tbody>
            {found.items.slice(0, 100).map((blob) => (
              <tr key={`${blob.container}/${blob.name}`}>
                <td class="wrap">
                  <a href={hash("data", "blob", blob.container, folderOf(blob.name), blob.name)}>
                    {blob.container}/{blob.name}
                  </a>
                </td>
                <td class="fine">{blob.tags}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

/** The prefix in which a blob is listed. */
export const folderOf = (name: string): string => name.slice(0, name.lastIndexOf("/") + 1);
