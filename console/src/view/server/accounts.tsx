// The settings of accounts: what Azure keeps in its portal. For the operator.
import { useState } from "preact/hooks";
import * as api from "../../api/server";
import type { Account, Setting } from "../../api/server";
import { danger } from "../../ui/dialog";
import { good, Trouble } from "../../ui/notes";
import { Badge } from "../../ui/parts";
import { useLoad } from "../../ui/store";
import { OperatorOnly } from "../server";
import type { Signed } from "../session";

export function Accounts({ now }: { now: Signed }) {
  if (!now.session.operator) return <OperatorOnly />;
  return <All />;
}

function All() {
  const { data, error, reload } = useLoad(() => api.accounts(), []);
  if (error) return <Trouble error={error} retry={reload} />;
  if (!data) return <p class="loading">Loading…</p>;
  return (
    <div class="cards">
      {data.accounts.map((account) => (
        <section class="card wide" key={account.name}>
          <h2>
            {account.name} <Badge>keys {account.keys}</Badge>
          </h2>
          <table class="lines">
            <thead>
              <tr>
                <th>Setting</th>
                <th>Value</th>
                <th>What it is for</th>
              </tr>
            </thead>
            <tbody>
              {account.settings.map((setting) => (
                <Row key={setting.name} account={account} setting={setting} onDone={reload} />
              ))}
            </tbody>
          </table>
        </section>
      ))}
    </div>
  );
}

function Row({ account, setting, onDone }: { account: Account; setting: Setting; onDone: () => void }) {
  const [value, setValue] = useState(setting.value);
  const isChanged = value !== setting.value;
  const save = () =>
    danger({
      title: `Set ${setting.name} of ${account.name} to “${value}”?`,
      says: (
        <p>
          It is “{setting.value}” now. The change holds at once, for every client of the account, and after a restart.
        </p>
      ),
      action: "Set",
      run: async () => {
        await api.setSettings(account.name, { [setting.name]: value });
        good(`${setting.name} is “${value}”.`);
        onDone();
      },
    });
  return (
    <tr>
      <td>
        <code>{setting.name}</code>
      </td>
      <td>
        <form class="actions" onSubmit={(event) => (event.preventDefault(), save())}>
          <input aria-label={`Value of ${setting.name}`} style={{ width: "150px" }} value={value} onInput={(event) => setValue(event.currentTarget.value)} />
          {isChanged && <button class="main">Set…</button>}
        </form>
      </td>
      <td class="wrap fine">{setting.about}</td>
    </tr>
  );
}
