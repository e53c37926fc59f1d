import type { LogLine } from "#relay/workers/messages.ts";

/** Lines on their way to the main thread. */
export interface LogBatches {
  add(line: LogLine): void;
  /** Sends what there is, now. */
  flush(): void;
  /** Sends what there is, and nothing more. */
  close(): void;
}

/** Lines wait so long for others to go along with … */
const GATHER_MS = 100;

/** … and of more than this many only the number is told: what a worker says must not keep the main thread busy. */
const MAX_LINES = 500;

/** Sends lines in batches, at most ten of them a second. */
export function createLogBatches(
  send: (lines: readonly LogLine[], dropped: number) => void,
  maxLines = MAX_LINES,
): LogBatches {
  let lines: LogLine[] = [];
  let dropped = 0;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    if (lines.length === 0 && dropped === 0) return;
    send(lines, dropped);
    lines = [];
    dropped = 0;
  }

  return {
    add(line) {
      if (isClosed) return;
      // The time is when it was said, not when it arrives.
      if (lines.length < maxLines) lines.push({ time: new Date().toISOString(), ...line });
      else dropped += 1;
      timer ??= setTimeout(flush, GATHER_MS).unref();
    },
    flush,
    close() {
      flush();
      isClosed = true;
    },
  };
}
