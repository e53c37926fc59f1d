import type { SpanCounts } from "#tracing/tracer.ts";

/** That spans are dropped is said so often at most. */
const EVERY_MS = 60_000;

/** Says in the log how many spans were dropped since it was last said, and why the last of them were; `now` never goes back. */
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
