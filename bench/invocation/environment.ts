import type { Timing } from "#bench/cost/measured.ts";

// Runs one execution environment of the packaged function, as a function platform has many: it loads the
// bundle, reports the time, and then runs one event after the other. It is a child of bench/invocation.ts and
// uses IPC.

/** The environment's messages: one after loading, then one with time and answer for each invocation. */
export type EnvironmentMessage =
  | { readonly kind: "loaded"; readonly timing: Timing }
  | {
      readonly kind: "ran";
      readonly timing: Timing;
      readonly report: unknown;
      readonly logLines: number;
      readonly logBytes: number;
      readonly peakMemoryMiB: number;
    };

const TIMEOUT_MS = 30_000;
const BUNDLE = "../../dist/node/index.mjs";

if (process.send !== undefined) await serve(process.send.bind(process));

async function serve(send: (message: EnvironmentMessage) => unknown): Promise<void> {
  const log = countStandardOutput();
  const { handler } = await import(BUNDLE);
  // Both count from the start of the process: a platform bills the runtime's own start as well.
  send({ kind: "loaded", timing: { wallMs: performance.now(), cpuMs: readCpuMs() } });
  process.on("message", async (event: { readonly id: string }) => {
    const before = { wallMs: performance.now(), cpuMs: readCpuMs(), ...log };
    const endsAt = performance.now() + TIMEOUT_MS;
    const report = await handler(event, {
      awsRequestId: "00000000-0000-4000-8000-000000000000",
      getRemainingTimeInMillis: () => endsAt - performance.now(),
    });
    const timing = { wallMs: performance.now() - before.wallMs, cpuMs: readCpuMs() - before.cpuMs };
    send({
      kind: "ran",
      timing,
      report,
      logLines: log.lines - before.lines,
      logBytes: log.bytes - before.bytes,
      peakMemoryMiB: process.resourceUsage().maxRSS / 1024,
    });
  });
}

function readCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Counts what the function logs, without writing it. */
function countStandardOutput(): { lines: number; bytes: number } {
  const count = { lines: 0, bytes: 0 };
  process.stdout.write = ((chunk: string | Uint8Array) => {
    const text = typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8");
    count.lines += text.split("\n").length - 1;
    count.bytes += Buffer.byteLength(text);
    return true;
  }) as typeof process.stdout.write;
  return count;
}
