// A listing that is fetched page by page, when its end comes into sight; what is far from sight is forgotten, and fetched again when somebody scrolls back to it.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Page } from "../api/blob";
import { Window } from "./window";

export interface Pages<Item> {
  items: Window<Item>;
  hasMore: boolean;
  isLoading: boolean;
  error: unknown;
  more: () => void;
  /** These rows are in sight. */
  look: (from: number, to: number) => void;
  reload: () => void;
}

interface State<Item> {
  items: Window<Item>;
  next: string | undefined;
  isLoading: boolean;
  error: unknown;
}

/** `fetchPage` gets the marker of a page, empty for the first. Starts again when `key` changes. */
export function usePages<Item>(fetchPage: (marker: string, signal: AbortSignal) => Promise<Page<Item>>, key: readonly unknown[]): Pages<Item> {
  const [state, setState] = useState<State<Item>>({ items: Window.empty<Item>(), next: "", isLoading: true, error: undefined });
  const [turn, setTurn] = useState(0);
  const latest = useRef(fetchPage);
  latest.current = fetchPage;
  const control = useRef<AbortController>(new AbortController());
  const isBusy = useRef(false);
  const sight = useRef({ from: 0, to: 0 });

  const load = useCallback(async (marker: string, isNext: boolean, signal: AbortSignal) => {
    isBusy.current = true;
    setState((old) => ({ ...old, isLoading: true, error: undefined }));
    try {
      const page = await latest.current(marker, signal);
      if (signal.aborted) return;
      const { from, to } = sight.current;
      setState((old) => ({
        items: (isNext ? old.items.add(marker, page.items) : old.items.refill(marker, page.items)).around(from, to),
        next: isNext ? page.next || undefined : old.next,
        isLoading: false,
        error: undefined,
      }));
    } catch (error) {
      if (signal.aborted) return;
      setState((old) => ({ ...old, next: undefined, isLoading: false, error }));
    }
    isBusy.current = false;
  }, []);

  useEffect(() => {
    const own = new AbortController();
    control.current = own;
    sight.current = { from: 0, to: 0 };
    setState({ items: Window.empty<Item>(), next: "", isLoading: true, error: undefined });
    void load("", true, own.signal);
    return () => own.abort();
  }, [...key, turn]);

  const more = useCallback(() => {
    if (!isBusy.current && state.next) void load(state.next, true, control.current.signal);
  }, [state]);
  const look = useCallback(
    (from: number, to: number) => {
      sight.current = { from, to };
      const [missing] = state.items.missing(from, to);
      if (missing !== undefined && !isBusy.current) void load(missing, false, control.current.signal);
    },
    [state],
  );
  const reload = useCallback(() => setTurn((count) => count + 1), []);
  return { items: state.items, hasMore: state.next !== undefined && !state.error, isLoading: state.isLoading, error: state.error, more, look, reload };
}

/** Runs `act` for each, a few at a time; answers what failed. */
export async function each<Item>(items: readonly Item[], act: (item: Item) => Promise<unknown>, onDone?: (count: number) => void): Promise<unknown[]> {
  const failed: unknown[] = [];
  let next = 0;
  let done = 0;
  const worker = async () => {
    while (next < items.length) {
      const item = items[next++]!;
      await act(item).catch((error) => failed.push(error));
      onDone?.(++done);
    }
  };
  await Promise.all(Array.from({ length: 6 }, worker));
  return failed;
}
