import { formatJsonLine, sanitizeFacts } from "#core/log-text.ts";
import { refillBucket } from "#core/token-bucket.ts";
import type { LimitInForce } from "#kube/client/errors.ts";
import type { Clock } from "#kube/follow/clock.ts";
import type { OutcomeLine } from "#relay/report/outcome-line.ts";
import type { LogLimitNote } from "#relay/report/relay-note.ts";

export interface LogLimitOptions {
  /** The sustained rate; ten times as many may go at once. */
  readonly linesPerSecond: number;
  readonly clock: Clock;
  readonly write: (line: OutcomeLine) => void;
  readonly note: (note: LogLimitNote) => void;
}

/** Limits the log lines of one cluster and counts the dropped ones. */
export interface LogLimit {
  /** Writes the line in a form fit for a log, or counts it. */
  take(line: OutcomeLine): void;
  /** Returns the limits in force. */
  limited(): readonly LimitInForce[];
  /** Reports what remains to report. */
  close(): void;
}

/** A line counts once for each this many characters, so that the limit bounds bytes as well. */
const CHARACTERS_OF_A_LINE = 1_024;

const BURST_SECONDS = 10;

/** Reserved for what an operator must not miss: errors, and changes of the cluster's state. */
const RESERVED_PER_SECOND = 1;
const CHANGES: ReadonlySet<string> = new Set(["ClusterLimited", "LogLimited", "Recovered"]);

/**
 * Lines about single objects leave half of a burst to summaries: a batch of failures must not hide that there
 * were more.
 */
const OF_ONE_OBJECT: ReadonlySet<string> = new Set(["Object", "MalformedObject", "ObjectTooLarge"]);
const LEFT_BY_OBJECTS = 1 / 2;

/** The limit ends after this long without a dropped line. */
const FLOWS_AFTER_MS = 5_000;

/** While the limit lasts, the number of dropped lines is reported this often. */
const SAY_AGAIN_MS = 60_000;

/** Creates a limit with its full burst available. */
export function createLogLimit({ linesPerSecond, clock, write, note }: LogLimitOptions): LogLimit {
  const usual = createTokens(linesPerSecond, clock);
  const reserved = createTokens(RESERVED_PER_SECOND, clock);
  let leftOut: DroppedLines | undefined;
  let cancelTimer: () => void = () => {};

  function count(): void {
    const nowMs = clock.now();
    if (leftOut !== undefined) {
      leftOut.lines += 1;
      leftOut.lastMs = nowMs;
      return;
    }
    leftOut = { lines: 1, lastMs: nowMs, saidMs: nowMs };
    cancelTimer = clock.after(FLOWS_AFTER_MS, look);
    note({ kind: "log-limited", limit: "logLines", message: formatMessage(linesPerSecond) });
  }

  function look(): void {
    if (leftOut === undefined) return;
    const nowMs = clock.now();
    const flows = nowMs - leftOut.lastMs >= FLOWS_AFTER_MS;
    if (flows || nowMs - leftOut.saidMs >= SAY_AGAIN_MS) say(leftOut, flows);
    if (!flows) cancelTimer = clock.after(FLOWS_AFTER_MS, look);
  }

  function say(counted: DroppedLines, flows: boolean): void {
    const { lines, saidMs } = counted;
    const saysAtMs = clock.now();
    leftOut = flows ? undefined : { ...counted, lines: 0, saidMs: saysAtMs };
    note({ kind: "log-left-out", lines, durationMs: saysAtMs - saidMs, flows });
  }

  return {
    take(line) {
      const part = OF_ONE_OBJECT.has(line.event) ? LEFT_BY_OBJECTS : 0;
      const tokens = [usual, ...(isReserved(line) ? [reserved] : [])].find(({ areThere }) => areThere(part));
      if (tokens === undefined) return count();
      const { level, event, cluster } = line;
      const made = { ...sanitizeFacts(line), level, event, cluster };
      tokens.take(Math.ceil(formatJsonLine(made).length / CHARACTERS_OF_A_LINE));
      write(made);
    },
    limited: () =>
      leftOut === undefined ? [] : [{ limit: "logLines", message: formatMessage(linesPerSecond) }],
    close() {
      cancelTimer();
      if (leftOut !== undefined) say(leftOut, true);
    },
  };
}

interface DroppedLines {
  lines: number;
  lastMs: number;
  saidMs: number;
}

function formatMessage(linesPerSecond: number): string {
  return `more than ${linesPerSecond} lines of the log in a second; the rest is counted`;
}

function isReserved({ level, event }: OutcomeLine): boolean {
  return level === "error" || CHANGES.has(event);
}

interface Tokens {
  /** Returns whether tokens remain beyond this part of a burst. */
  areThere(part: number): boolean;
  /** Takes tokens; the balance may be negative for a while. */
  take(count: number): void;
}

function createTokens(perSecond: number, clock: Clock): Tokens {
  const burst = perSecond * BURST_SECONDS;
  const bucket = { tokens: burst, refilledAt: clock.now() };
  return {
    areThere(part) {
      refillBucket(bucket, { burst, perSecond }, clock.now());
      return bucket.tokens >= Math.max(1, burst * part);
    },
    take(count) {
      bucket.tokens -= count;
    },
  };
}
