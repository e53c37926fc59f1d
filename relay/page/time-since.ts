import { html, type Markup } from "#relay/page/html.ts";

/** Renders a time, and how long ago that is. */
export function renderTimeSince(atMs: number, nowMs: number): Markup {
  const at = isDate(atMs) ? new Date(atMs).toISOString() : "";
  return html`<time datetime="${at}">${at.slice(0, 19).replace("T", " ")}</time> (${formatAge(nowMs - atMs)})`;
}

/** Returns whether a time fits into a Date; API servers can send any number. */
function isDate(atMs: number): boolean {
  return !Number.isNaN(new Date(atMs).getTime());
}

function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const [unit, length] = UNITS.find(([, size]) => seconds >= size) ?? ["s", 1];
  return `${Math.floor(seconds / length)} ${unit}`;
}

const UNITS: readonly (readonly [string, number])[] = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
];
