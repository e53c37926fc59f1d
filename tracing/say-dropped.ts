import type { SpanCounts } from "#tracing/tracer.ts";

/** Shortest interval between log lines about dropped spans. */
const EVERY_MS = 60_000;

/**
 * Logs how many spans were dropped since the last line, and why the last of them was; `now` must be
 * monotonic.
 */
export function createDroppedLine(
  counts: () => SpanCounts,
  log: (line: Readonly<Record<string, unknown>>) => void,
  now: () => number = () => performance.now(),
): () => void {
  let said = 0;
  let saidMs = Number.NEGATIVE_INFINITY;
  return () => {
    const { dropped, code } = counts();
    if (dropped === said || now() - saidMs < EVERY_MS) return;
    log({ level: "warn", event: "TracesDropped", spans: dropped - said, code });
    said = dropped;
    saidMs = now();
  };
}
