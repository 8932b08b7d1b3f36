// A listing that is fetched page by page, when its end comes into sight.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Page } from "../api/blob";

export interface Pages<Item> {
  items: readonly Item[];
  hasMore: boolean;
  isLoading: boolean;
  error: unknown;
  more: () => void;
  reload: () => void;
}

interface State<Item> {
  items: readonly Item[];
  next: string | undefined;
  isLoading: boolean;
  error: unknown;
}

/** `fetchPage` gets the marker of a page, empty for the first. Starts again when `key` changes. */
export function usePages<Item>(fetchPage: (marker: string, signal: AbortSignal) => Promise<Page<Item>>, key: readonly unknown[]): Pages<Item> {
  const [state, setState] = useState<State<Item>>({ items: [], next: "", isLoading: true, error: undefined });
  const [turn, setTurn] = useState(0);
  const latest = useRef(fetchPage);
  latest.current = fetchPage;
  const control = useRef<AbortController>(new AbortController());
  const isBusy = useRef(false);

  const load = useCallback(async (marker: string, before: readonly Item[], signal: AbortSignal) => {
    isBusy.current = true;
    setState((old) => ({ ...old, isLoading: true, error: undefined }));
    try {
      const page = await latest.current(marker, signal);
      if (signal.aborted) return;
      setState({ items: before.concat(page.items), next: page.next || undefined, isLoading: false, error: undefined });
    } catch (error) {
      if (signal.aborted) return;
      setState({ items: before, next: undefined, isLoading: false, error });
    }
    isBusy.current = false;
  }, []);

  useEffect(() => {
    const own = new AbortController();
    control.current = own;
    void load("", [], own.signal);
    return () => own.abort();
  }, [...key, turn]);

  const more = useCallback(() => {
    if (!isBusy.current && state.next) void load(state.next, state.items, control.current.signal);
  }, [state]);
  const reload = useCallback(() => setTurn((count) => count + 1), []);
  return { items: state.items, hasMore: state.next !== undefined && !state.error, isLoading: state.isLoading, error: state.error, more, reload };
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
