// Small parts that several views use.
import type { ComponentChildren, TargetedKeyboardEvent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./icon";
import { good } from "./notes";

export function Tabs<Name extends string>({ names, now, onPick, label }: { names: readonly (readonly [Name, string])[]; now: Name; onPick: (name: Name) => void; label: string }) {
  const move = (event: TargetedKeyboardEvent<HTMLElement>) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    const at = names.findIndex(([name]) => name === now);
    const next = names[(at + step + names.length) % names.length]!;
    onPick(next[0]);
    const buttons = event.currentTarget.querySelectorAll("button");
    buttons[names.indexOf(next)]?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {names.map(([name, text]) => (
        <button key={name} type="button" role="tab" aria-selected={name === now} tabIndex={name === now ? 0 : -1} onClick={() => onPick(name)}>
          {text}
        </button>
      ))}
    </div>
  );
}

export function Copyable({ text, label }: { text: string; label?: string }) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      good("Copied.");
    } catch {
      good("Select the text and copy it: this browser does not let the page do it.");
    }
  };
  return (
    <span class="copyable">
      <code>{text}</code>
      <button type="button" class="bare" onClick={copy} aria-label={`Copy ${label ?? text}`} title="Copy">
        <Icon name="copy" />
      </button>
    </span>
  );
}

/** What a button opens: more of what can be done. */
export function Menu({ label, children, title }: { label: ComponentChildren; children: ComponentChildren; title?: string }) {
  const details = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event) => {
      if (details.current && !details.current.contains(event.target as Node)) details.current.open = false;
    };
    document.addEventListener("click", close);
    return () => document.removeEventListener("click", close);
  }, []);
  const shut = () => details.current && (details.current.open = false);
  return (
    <details class="menu" ref={details} onKeyDown={(event) => event.key === "Escape" && shut()}>
      <summary class="button" title={title} aria-label={title}>
        {label}
      </summary>
      <div class="choices" onClick={shut}>
        {children}
      </div>
    </details>
  );
}

type Pairs = [string, string][];

export const pairsOf = (record: Record<string, string>): Pairs => Object.entries(record).sort(([one], [other]) => one.localeCompare(other));

/** Edits names and values. */
export function PairEditor({ pairs, onChange, name, isReadOnly }: { pairs: Pairs; onChange: (pairs: Pairs) => void; name: string; isReadOnly?: boolean }) {
  const set = (index: number, pair: [string, string]) => onChange(pairs.map((old, at) => (at === index ? pair : old)));
  return (
    <div class="pairs">
      {pairs.map(([key, value], index) => (
        <div class="pair" key={index}>
          <input aria-label={`Name of ${name} ${index + 1}`} placeholder="name" value={key} disabled={isReadOnly} onInput={(event) => set(index, [event.currentTarget.value, value])} />
          <input aria-label={`Value of ${name} ${index + 1}`} placeholder="value" value={value} disabled={isReadOnly} onInput={(event) => set(index, [key, event.currentTarget.value])} />
          {!isReadOnly && (
            <button type="button" class="bare" aria-label={`Remove ${name} ${key}`} onClick={() => onChange(pairs.filter((_, at) => at !== index))}>
              <Icon name="close" />
            </button>
          )}
        </div>
      ))}
      {!isReadOnly && (
        <button type="button" class="link" onClick={() => onChange([...pairs, ["", ""]])}>
          + Add {name}
        </button>
      )}
    </div>
  );
}

export const recordOf = (pairs: Pairs): Record<string, string> => Object.fromEntries(pairs.filter(([key]) => key.trim() !== "").map(([key, value]) => [key.trim(), value]));

/** A state of its own that starts again when what it came from changes. */
export function useDraft<Value>(from: Value, key: unknown): [Value, (value: Value) => void, boolean] {
  const [draft, setDraft] = useState({ key, value: from, isTouched: false });
  const current = draft.key === key ? draft : { key, value: from, isTouched: false };
  return [current.value, (value) => setDraft({ key, value, isTouched: true }), current.isTouched];
}

export function Facts({ facts }: { facts: (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value !== "" && value !== null && value !== undefined && value !== false)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

export function Crumbs({ parts }: { parts: (readonly [string, string | undefined])[] }) {
  return (
    <nav class="crumbs" aria-label="Where you are">
      {parts.map(([text, href], index) => (
        <span key={index}>
          {index > 0 && <span aria-hidden="true">/</span>}
          {href ? <a href={href}>{text}</a> : <span aria-current="page">{text}</span>}
        </span>
      ))}
    </nav>
  );
}

export const Badge = ({ tone, children, title }: { tone?: "good" | "warn" | "bad" | "info" | "plain"; children: ComponentChildren; title?: string }) => (
  <span class={`badge ${tone ?? "plain"}`} title={title}>
    {children}
  </span>
);
