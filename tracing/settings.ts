import { SAMPLER_NAMES, type Sampler, samplerNamed } from "#tracing/sampler.ts";

/** How traces are recorded and where to they are sent, as OpenTelemetry's own variables say it. */
export interface TracingSettings {
  /** Where spans are posted to. */
  readonly url: URL;
  /** Sent with each request; they may hold secrets, and are never logged. */
  readonly headers: Readonly<Record<string, string>>;
  readonly sampler: Sampler;
  /** What is said of whoever sends the spans, `service.name` among it. */
  readonly resource: Readonly<Record<string, string>>;
  /** Milliseconds that sending may take, where nobody waits for it. */
  readonly timeoutMs: number;
}

/** Settings, or what is wrong with them: the names of variables, and nothing of what may be secret in them. */
export type ReadTracingSettings =
  | { readonly kind: "settings"; readonly settings: TracingSettings }
  | { readonly kind: "faults"; readonly faults: readonly string[] };

/** An environment, as `process.env` has it. */
export type Environment = Readonly<Record<string, string | undefined>>;

const DEFAULT_TIMEOUT_MS = 10_000;

/** Reads what the environment says; `service` is the name of the process where it names none. */
export function readTracingSettings(environment: Environment, service: string): ReadTracingSettings {
  const faults: string[] = [];
  const own = (name: string): string | undefined =>
    environment[`OTEL_EXPORTER_OTLP_TRACES_${name}`] || environment[`OTEL_EXPORTER_OTLP_${name}`];
  const url = urlOf(environment);
  if (url === undefined) faults.push("OTEL_EXPORTER_OTLP_ENDPOINT: no http or https URL");
  const protocol = own("PROTOCOL");
  if (protocol === "grpc")
    faults.push(
      "OTEL_EXPORTER_OTLP_PROTOCOL: grpc is not spoken; give the port for HTTP, 4318, and http/json",
    );
  const headers = pairsOf(own("HEADERS"));
  if (headers === undefined) faults.push("OTEL_EXPORTER_OTLP_HEADERS: not a list of key=value");
  const attributes = pairsOf(environment["OTEL_RESOURCE_ATTRIBUTES"]);
  if (attributes === undefined) faults.push("OTEL_RESOURCE_ATTRIBUTES: not a list of key=value");
  const { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: argument } = environment;
  const sampler = samplerNamed(name || undefined, argument || undefined);
  if (sampler === undefined)
    faults.push(`OTEL_TRACES_SAMPLER: one of ${SAMPLER_NAMES.join(", ")}, with a ratio from 0 to 1`);
  const timeoutMs = Number(own("TIMEOUT") ?? DEFAULT_TIMEOUT_MS);
  if (!(timeoutMs > 0)) faults.push("OTEL_EXPORTER_OTLP_TIMEOUT: not a number of milliseconds");
  if (faults.length > 0 || !url || !headers || !attributes || !sampler) return { kind: "faults", faults };
  const named = environment["OTEL_SERVICE_NAME"] || attributes["service.name"] || service;
  const resource = { ...attributes, "service.name": named };
  return { kind: "settings", settings: { url, headers, sampler, resource, timeoutMs } };
}

/** The path belongs to the general endpoint alone: one that is for traces is the whole of it. */
function urlOf(environment: Environment): URL | undefined {
  const traces = environment["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
  const general = environment["OTEL_EXPORTER_OTLP_ENDPOINT"] ?? "";
  const text = traces || `${general.replace(/(?<!\/)\/+$/, "")}/v1/traces`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol) ? url : undefined;
}

const KEY = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** `key=value,key=value`, as W3C's Baggage has it; undefined where it is none. */
function pairsOf(text = ""): Record<string, string> | undefined {
  const pairs: Record<string, string> = {};
  for (const each of text.split(",")) {
    if (each.trim() === "") continue;
    const [key = "", ...value] = each.split("=");
    const decoded = decode(value.join("=").trim());
    if (!KEY.test(key.trim()) || value.length === 0 || decoded === undefined) return undefined;
    pairs[key.trim()] = decoded;
  }
  return pairs;
}

function decode(text: string): string | undefined {
  try {
    const decoded = decodeURIComponent(text);
    // What a header cannot hold would end every request with an error that quotes it.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
    return /[\u0000-\u001f\u007f-\uffff]/.test(decoded) ? undefined : decoded;
  } catch {
    return undefined;
  }
}
