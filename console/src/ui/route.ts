// Where the page is: the part of the address after `#`, in segments. Names of things only, never a secret.
import { useEffect, useState } from "preact/hooks";

export const hash = (...segments: string[]): string => "#/" + segments.map(encodeURIComponent).join("/");

export function go(...segments: string[]): void {
  location.hash = hash(...segments);
}

/** The same place, without a step in the history. */
export function replaceWith(...segments: string[]): void {
  history.replaceState(null, "", hash(...segments));
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

function segments(): string[] {
  return location.hash.replace(/^#\/?/, "").split("/").map((segment) => {
    try {
      return decodeURIComponent(segment);
    } catch {
      return segment;
    }
  });
}

export function useRoute(): string[] {
  const [route, setRoute] = useState(segments);
  useEffect(() => {
    const follow = () => setRoute(segments());
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, []);
  return route;
}
