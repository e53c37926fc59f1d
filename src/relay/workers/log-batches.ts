import type { LogLine } from "#relay/workers/messages.ts";

/** Log lines on their way to the main thread. */
export interface LogBatches {
  add(line: LogLine): void;
  /** Sends all waiting lines now. */
  flush(): void;
  /** Sends all waiting lines and then accepts none. */
  close(): void;
}

/** How long a line waits for others. */
const GATHER_MS = 100;

/** Beyond this many lines, only their number is sent: a worker's log must not keep the main thread busy. */
const MAX_LINES = 500;

/** Creates a sender of lines in batches, at most ten batches a second. */
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
      // The time is when the line was written, not when it arrives.
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
