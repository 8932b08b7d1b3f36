// The end of the log, as it grows. For the operator.
import { useEffect, useRef, useState } from "preact/hooks";
import * as api from "../../api/server";
import type { LogLine } from "../../api/server";
import { Trouble } from "../../ui/notes";
import { useEvery } from "../../ui/store";
import { OperatorOnly } from "../server";
import type { Signed } from "../session";

const SHOWN_MAX = 1000;

export function LogTail({ now }: { now: Signed }) {
  if (!now.session.operator) return <OperatorOnly />;
  return <Tail />;
}

function Tail() {
  const [lines, setLines] = useState<LogLine[]>([]);
  const [error, setError] = useState<unknown>();
  const [wanted, setWanted] = useState("");
  const after = useRef(0);
  const box = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  useEvery(1000, async () => {
    try {
      const found = await api.log(after.current);
      after.current = found.next;
      if (found.lines.length) setLines((old) => [...old, ...found.lines].slice(-SHOWN_MAX));
      setError(undefined);
    } catch (why) {
      setError(why);
    }
  });
  useEffect(() => {
    if (follows.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines]);
  const shown = wanted ? lines.filter((line) => `${line.level} ${line.text}`.toLowerCase().includes(wanted.toLowerCase())) : lines;
  return (
    <>
      <input type="search" aria-label="Lines with" placeholder="Lines with…" value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />
      {error !== undefined && <Trouble error={error} />}
      <div
        class="log"
        ref={box}
        role="log"
        tabIndex={0}
        aria-label="Log"
        onScroll={(event) => {
          const element = event.currentTarget;
          follows.current = element.scrollHeight - element.scrollTop - element.clientHeight < 40;
        }}
      >
        {shown.map((line) => (
          <div key={line.seq} class={line.level.toUpperCase()}>
            {line.text}
          </div>
        ))}
        {shown.length === 0 && "Nothing yet."}
      </div>
    </>
  );
}
