// Light or dark: as the system says, until the reader says otherwise. That choice, and nothing else, is remembered by the browser.
const KEY = "lazuli-theme";

export type Theme = "system" | "light" | "dark";

export function theme(): Theme {
  const kept = localStorage.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}

export function setTheme(next: Theme): void {
  if (next === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, next);
  apply();
}

export function apply(): void {
  document.documentElement.dataset.theme = theme();
}

export const isDark = (): boolean => theme() === "dark" || (theme() === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
