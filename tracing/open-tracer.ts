import type { Environment } from "#tracing/settings.ts";
import type { Tracer } from "#tracing/tracer.ts";

/** Takes a line for the log. */
type Log = (line: Readonly<Record<string, unknown>>) => void;

/**
 * A tracer where the environment asks for traces, by OpenTelemetry's own variables; undefined where it does not, and where it asks
 * for what is not there, which is said in a line. What tracing takes is loaded here, and by nobody who does not ask.
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
