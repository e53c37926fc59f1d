import { jsonLine } from "#core/json-line.ts";
import { fitForLog } from "#core/log-text.ts";
import type { LimitInForce } from "#kube/client/limit-name.ts";
import type { Clock } from "#kube/follow/clock.ts";
import type { OutcomeLine } from "#relay/report/outcome-line.ts";

/** What the limit has to tell of itself. */
export type LogLimitNote =
  /** Lines are left out from now on. */
  | ({ readonly kind: "log-limited" } & LimitInForce)
  /** So many were left out since that, or since the last such note; `flows` where none are any more. */
  | {
      readonly kind: "log-left-out";
      readonly lines: number;
      readonly durationMs: number;
      readonly flows: boolean;
    };

export interface LogLimitOptions {
  /** For long; ten times as many go through at once. */
  readonly linesPerSecond: number;
  readonly clock: Clock;
  readonly write: (line: OutcomeLine) => void;
  readonly note: (note: LogLimitNote) => void;
}

/** The lines of one cluster, of which there may be no more than so many: those beyond are counted. */
export interface LogLimit {
  /** Writes the line, made fit for a log, or counts it. */
  take(line: OutcomeLine): void;
  /** What is in force now. */
  limited(): readonly LimitInForce[];
  /** Says what is left to say. */
  close(): void;
}

/** A line counts once for each so many of its characters, so that the bound is one of bytes, too. */
const CHARACTERS_OF_A_LINE = 1_024;

const BURST_SECONDS = 10;

/** Set aside for what an operator must not miss: errors, and how the cluster's state changes. */
const RESERVED_PER_SECOND = 1;
const CHANGES: ReadonlySet<string> = new Set(["ClusterLimited", "LogLimited", "Recovered"]);

/** Lines of single objects leave half of a burst to those that sum up: a batch of failures must not hide that there were more. */
const OF_ONE_OBJECT: ReadonlySet<string> = new Set(["Object", "MalformedObject", "ObjectTooLarge"]);
const LEFT_BY_OBJECTS = 1 / 2;

/** Without a line that had to be left out for so long, the limit is in force no longer. */
const FLOWS_AFTER_MS = 5_000;

/** While it goes on, what was left out is said this often. */
const SAY_AGAIN_MS = 60_000;

/** A limit with its burst at hand. */
export function createLogLimit({ linesPerSecond, clock, write, note }: LogLimitOptions): LogLimit {
  const usual = createTokens(linesPerSecond, clock);
  const reserved = createTokens(RESERVED_PER_SECOND, clock);
  let leftOut: LeftOut | undefined;
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
    note({ kind: "log-limited", limit: "logLines", message: messageOf(linesPerSecond) });
  }

  function look(): void {
    if (leftOut === undefined) return;
    const nowMs = clock.now();
    const flows = nowMs - leftOut.lastMs >= FLOWS_AFTER_MS;
    if (flows || nowMs - leftOut.saidMs >= SAY_AGAIN_MS) say(leftOut, flows);
    if (!flows) cancelTimer = clock.after(FLOWS_AFTER_MS, look);
  }

  function say(counted: LeftOut, flows: boolean): void {
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
      const made = { ...fitForLog(line), level, event, cluster };
      tokens.take(Math.ceil(jsonLine(made).length / CHARACTERS_OF_A_LINE));
      write(made);
    },
    limited: () => (leftOut === undefined ? [] : [{ limit: "logLines", message: messageOf(linesPerSecond) }]),
    close() {
      cancelTimer();
      if (leftOut !== undefined) say(leftOut, true);
    },
  };
}

interface LeftOut {
  lines: number;
  lastMs: number;
  saidMs: number;
}

function messageOf(linesPerSecond: number): string {
  return `more than ${linesPerSecond} lines of the log in a second; the rest is counted`;
}

function isReserved({ level, event }: OutcomeLine): boolean {
  return level === "error" || CHANGES.has(event);
}

interface Tokens {
  /** Whether there are any beyond this part of a burst. */
  areThere(part: number): boolean;
  /** They may be owed for a while. */
  take(count: number): void;
}

function createTokens(perSecond: number, clock: Clock): Tokens {
  const most = perSecond * BURST_SECONDS;
  let tokens = most;
  let filledMs = clock.now();
  return {
    areThere(part) {
      const nowMs = clock.now();
      tokens = Math.min(most, tokens + ((nowMs - filledMs) / 1_000) * perSecond);
      filledMs = nowMs;
      return tokens >= Math.max(1, most * part);
    },
    take(count) {
      tokens -= count;
    },
  };
}
