import {
  removeStop,
  type StopChange,
  type StopEntry,
  StopSwitchError,
  type StopsRead,
  withStop,
} from "#config/switch/stops.ts";

/** The code before the first read. */
export const UNREAD = "Unread";

/** One log line: `LogLine` of the core without the time. */
type Line = Readonly<Record<string, unknown>>;

/** Limit of stops named in one line. */
const MAX_NAMED = 100;

/** Returns the log lines for a change of the stops, or of their readability. */
export function stopLines(registry: string, before: StopsRead, next: StopsRead): readonly Line[] {
  const stopped = subtractStops(next.stopped, before.stopped).map((entry) =>
    buildStopLine("warn", "Stopped", registry, entry),
  );
  const resumed = subtractStops(before.stopped, next.stopped).map((entry) =>
    buildStopLine("info", "Resumed", registry, entry),
  );
  return [
    ...stopped.slice(0, MAX_NAMED),
    ...resumed.slice(0, MAX_NAMED),
    ...buildReadErrorLines(registry, before, next),
  ];
}

function buildReadErrorLines(
  registry: string,
  before: StopsRead,
  { unreadable }: StopsRead,
): readonly Line[] {
  if (unreadable !== undefined) {
    if (before.unreadable?.message === unreadable.message) return [];
    const { code, message } = unreadable;
    return [{ level: "error", event: "StopSwitchUnreadable", home: registry, code, message }];
  }
  return before.unreadable === undefined || before.unreadable.code === UNREAD
    ? []
    : [{ level: "info", event: "StopSwitchRead", home: registry }];
}

function buildStopLine(
  level: "warn" | "info",
  event: string,
  registry: string,
  { what, cluster, since, by }: StopEntry,
): Line {
  const message = event === "Stopped" ? { message: describeHeldBack(what, cluster) } : {};
  return {
    level,
    event,
    home: registry,
    what,
    ...(cluster === undefined ? {} : { cluster }),
    since,
    by,
    ...message,
  };
}

function describeHeldBack(what: StopEntry["what"], cluster: string | undefined): string {
  const held = what === "writes" ? "nothing is written" : "nothing is deleted";
  const [place, flag] =
    cluster === undefined ? ["any cluster", "--all"] : ["the cluster", `--cluster ${cluster}`];
  return `${held} in ${place} or its cloud until: serverless-ccm stop --resume --${what} ${flag}`;
}

function subtractStops(entries: readonly StopEntry[], others: readonly StopEntry[]): readonly StopEntry[] {
  const known = new Set(others.map(formatStopKey));
  return entries.filter((entry) => !known.has(formatStopKey(entry)));
}

function formatStopKey({ what, cluster }: StopEntry): string {
  return `${what} ${cluster ?? ""}`;
}

/** Returns the new record for a change, given the current text; undefined if the record already says so. */
export async function editStops(
  change: StopChange,
  read: () => Promise<readonly StopEntry[]>,
): Promise<readonly StopEntry[] | undefined> {
  const before = await read().catch((error: unknown) => {
    // An unreadable record may stop more than the text that would replace it.
    if (
      change.kind === "stop" &&
      change.anew &&
      error instanceof StopSwitchError &&
      error.code === "Malformed"
    )
      return undefined;
    throw error;
  });
  if (before === undefined) return change.kind === "stop" ? [change.entry] : undefined;
  const after = change.kind === "stop" ? withStop(before, change.entry) : removeStop(before, change.name);
  return after === before ? undefined : after;
}
