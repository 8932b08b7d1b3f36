// Numbers and times as people read them.

export function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let value = count;
  let unit = -1;
  while (value >= 1024 && unit < units.length - 1) [value, unit] = [value / 1024, unit + 1];
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export const count = (value: number): string => value.toLocaleString("en");

const two = (value: number): string => String(value).padStart(2, "0");

/** In the reader's time zone: `2026-11-17 22:10:00`. */
export function time(text: string | null | undefined): string {
  const at = text ? new Date(text) : undefined;
  if (!at || Number.isNaN(at.getTime())) return "";
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** To the millisecond, for races: `22:10:00.123`. */
export function instant(text: string | null | undefined): string {
  const at = text ? new Date(text) : undefined;
  if (!at || Number.isNaN(at.getTime())) return "";
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}

export function seconds(value: number | null | undefined): string {
  if (value === null || value === undefined) return "no end";
  if (value < 0) return "0 s";
  if (value < 60) return `${value < 10 ? value.toFixed(1) : Math.round(value)} s`;
  if (value < 3600) return `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
  if (value < 86400) return `${Math.floor(value / 3600)} h ${Math.round((value % 3600) / 60)} min`;
  return `${Math.floor(value / 86400)} d ${Math.round((value % 86400) / 3600)} h`;
}

export const plural = (value: number, one: string, many = one + "s"): string => `${count(value)} ${value === 1 ? one : many}`;

/** The last part of a path. */
export const leaf = (path: string): string => path.replace(/\/$/, "").split("/").pop() ?? path;
