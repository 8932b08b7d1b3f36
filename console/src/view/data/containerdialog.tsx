// A container's properties, metadata and public access.
import { useState } from "preact/hooks";
import * as api from "../../api/blob";
import { Dialog } from "../../ui/dialog";
import { bad, good, Trouble } from "../../ui/notes";
import { Copyable, Facts, PairEditor, pairsOf, recordOf, useDraft } from "../../ui/parts";
import { time } from "../../ui/say";
import { useLoad } from "../../ui/store";
import { noteChange } from "./side";

export function ContainerDialog({ container, onClose }: { container: string; onClose: () => void }) {
  const { data, error, reload } = useLoad(() => api.containerProperties(container), [container]);
  const [pairs, setPairs, isTouched] = useDraft(pairsOf(data?.metadata ?? {}), data);
  const [access, setAccess] = useState<string>();
  const header = (name: string) => data?.headers.get(name) ?? "";
  const save = async () => {
    try {
      if (isTouched) await api.setContainerMetadata(container, recordOf(pairs));
      if (access !== undefined) await api.setContainerAccess(container, access);
      good("Saved.");
      noteChange();
      reload();
    } catch (why) {
      bad(why);
    }
  };
  return (
    <Dialog title={container} onClose={onClose}>
      {error !== undefined && <Trouble error={error} retry={reload} />}
      {data && (
        <>
          <Facts
            facts={[
              ["ETag", <Copyable text={header("etag")} />],
              ["Modified", time(header("last-modified"))],
              ["Lease", `${header("x-ms-lease-state")} ${header("x-ms-lease-duration")}`],
              ["Immutable", header("x-ms-has-immutability-policy") === "true" ? "has a policy" : ""],
              ["Legal hold", header("x-ms-has-legal-hold") === "true" ? "yes" : ""],
            ]}
          />
          <label>
            Who may read without signing in
            <select value={access ?? header("x-ms-blob-public-access")} onChange={(event) => setAccess(event.currentTarget.value)}>
              <option value="">nobody</option>
              <option value="blob">anybody, blobs that they know the name of</option>
              <option value="container">anybody, and list what is there</option>
            </select>
          </label>
          <h3>Metadata</h3>
          <PairEditor pairs={pairs} onChange={setPairs} name="metadata" />
          <footer>
            <button onClick={onClose}>Close</button>
            <button class="main" disabled={!isTouched && access === undefined} onClick={save}>
              Save
            </button>
          </footer>
        </>
      )}
    </Dialog>
  );
}
