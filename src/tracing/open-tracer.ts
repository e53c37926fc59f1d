import type { Environment } from "#tracing/settings.ts";
import type { SpanCounts, Tracer } from "#tracing/tracer.ts";

/** Writes one log line. */
type Log = (line: Readonly<Record<string, unknown>>) => void;

/**
 * Opens a tracer if OpenTelemetry's environment variables configure one. Undefined if they do not, or if they
 * require something unsupported, which is logged. The tracing code is loaded only here.
 */
export async function openTracer(
  environment: Environment,
  service: string,
  log: Log,
): Promise<Tracer | undefined> {
  if (!isAsked(environment)) return undefined;
  const [{ readTracingSettings }, { createTracer }] = await Promise.all([
    import("#tracing/settings.ts"),
    import("#tracing/tracer.ts"),
  ]);
  const read = readTracingSettings(environment, service);
  if (read.kind === "settings") return createTracer(read.settings);
  const message = `nothing is traced: ${read.faults.join("; ")}`;
  log({ level: "warn", event: "TracingOff", code: "TracingMisconfigured", message });
  return undefined;
}

function isAsked(environment: Environment): boolean {
  const { OTEL_SDK_DISABLED: disabled, OTEL_TRACES_EXPORTER: exporter } = environment;
  if (disabled?.toLowerCase() === "true" || (exporter || "otlp") !== "otlp") return false;
  const endpoint = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
  return endpoint.some((name) => Boolean(environment[name]));
}

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
