import type { Timing } from "#cli/cost/measured.ts";

// One execution environment of the packaged function, as a function platform has many: it loads the bundle, tells what that
// took, and then runs one event after the other. A child of bench/invocation.ts, with which it speaks over IPC.

/** What the environment says: once that it has loaded, then of each invocation what it took and answered. */
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
  send({ kind: "loaded", timing: { wallMs: performance.now(), cpuMs: cpuMs() } });
  process.on("message", async (event: { readonly id: string }) => {
    const before = { wallMs: performance.now(), cpuMs: cpuMs(), ...log };
    const endsAt = performance.now() + TIMEOUT_MS;
    const report = await handler(event, {
      awsRequestId: "00000000-0000-4000-8000-000000000000",
      getRemainingTimeInMillis: () => endsAt - performance.now(),
    });
    const timing = { wallMs: performance.now() - before.wallMs, cpuMs: cpuMs() - before.cpuMs };
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

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Counts what the function logs, in place of writing it. */
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
