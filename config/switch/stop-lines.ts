import type { StopsRead } from "#config/switch/follow-stops.ts";
import type { StopEntry } from "#config/switch/stops.ts";

/** The code of what nobody has tried to read yet. */
export const UNREAD = "Unread";

/** One line of a log, as `LogLine` of the core has it but for the time. */
type Line = Readonly<Record<string, unknown>>;

/** Of many things that were stopped at once, so many are named. */
const MAX_NAMED = 100;

/** What is worth a line, where something else is stopped than before, or nobody can tell any more. */
export function stopLines(home: string, before: StopsRead, next: StopsRead): readonly Line[] {
  const stopped = without(next.stopped, before.stopped).map((entry) =>
    lineOf("warn", "Stopped", home, entry),
  );
  const resumed = without(before.stopped, next.stopped).map((entry) =>
    lineOf("info", "Resumed", home, entry),
  );
  return [
    ...stopped.slice(0, MAX_NAMED),
    ...resumed.slice(0, MAX_NAMED),
    ...troubleLines(home, before, next),
  ];
}

function troubleLines(home: string, before: StopsRead, { unreadable }: StopsRead): readonly Line[] {
  if (unreadable !== undefined) {
    if (before.unreadable?.message === unreadable.message) return [];
    const { code, message } = unreadable;
    return [{ level: "error", event: "StopSwitchUnreadable", home, code, message }];
  }
  return before.unreadable === undefined || before.unreadable.code === UNREAD
    ? []
    : [{ level: "info", event: "StopSwitchRead", home }];
}

function lineOf(
  level: "warn" | "info",
  event: string,
  home: string,
  { what, cluster, since, by }: StopEntry,
): Line {
  const message = event === "Stopped" ? { message: heldBack(what, cluster) } : {};
  return { level, event, home, what, ...(cluster === undefined ? {} : { cluster }), since, by, ...message };
}

function heldBack(what: StopEntry["what"], cluster: string | undefined): string {
  const held = what === "writes" ? "nothing is written" : "nothing is deleted";
  const [place, flag] =
    cluster === undefined ? ["any cluster", "--all"] : ["the cluster", `--cluster ${cluster}`];
  return `${held} in ${place} or its cloud until: serverless-ccm stop --resume --${what} ${flag}`;
}

function without(entries: readonly StopEntry[], others: readonly StopEntry[]): readonly StopEntry[] {
  const known = new Set(others.map(keyOf));
  return entries.filter((entry) => !known.has(keyOf(entry)));
}

function keyOf({ what, cluster }: StopEntry): string {
  return `${what} ${cluster ?? ""}`;
}
