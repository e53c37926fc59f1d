import type { TraceContext } from "#core/trace-context.ts";

/** How traces are recorded and where they are sent, from OpenTelemetry's variables. */
export interface TracingSettings {
  /** The URL to which spans are posted. */
  readonly url: URL;
  /** Headers of each request; they may hold secrets and must not be logged. */
  readonly headers: Readonly<Record<string, string>>;
  readonly sampler: Sampler;
  /** The attributes of the sending process, `service.name` among them. */
  readonly resource: Readonly<Record<string, string>>;
  /** Time limit of background sending, in milliseconds. */
  readonly timeoutMs: number;
}

/**
 * Settings, or what is wrong with them; a fault names the variable and never its value, which may be secret.
 */
export type TracingSettingsResult =
  | { readonly kind: "settings"; readonly settings: TracingSettings }
  | { readonly kind: "faults"; readonly faults: readonly string[] };

/** The type of `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

const DEFAULT_TIMEOUT_MS = 10_000;

/** Reads tracing settings from the environment; `service` is the default service name. */
export function readTracingSettings(environment: Environment, service: string): TracingSettingsResult {
  const faults: string[] = [];
  const own = (name: string): string | undefined =>
    environment[`OTEL_EXPORTER_OTLP_TRACES_${name}`] || environment[`OTEL_EXPORTER_OTLP_${name}`];
  const url = parseEndpoint(environment);
  if (url === undefined) faults.push("OTEL_EXPORTER_OTLP_ENDPOINT: no http or https URL");
  const protocol = own("PROTOCOL");
  if (protocol === "grpc")
    faults.push(
      "OTEL_EXPORTER_OTLP_PROTOCOL: grpc is not spoken; give the port for HTTP, 4318, and http/json",
    );
  const headers = parsePairs(own("HEADERS"));
  if (headers === undefined) faults.push("OTEL_EXPORTER_OTLP_HEADERS: not a list of key=value");
  const attributes = parsePairs(environment["OTEL_RESOURCE_ATTRIBUTES"]);
  if (attributes === undefined) faults.push("OTEL_RESOURCE_ATTRIBUTES: not a list of key=value");
  const { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: argument } = environment;
  const sampler = findSampler(name || undefined, argument || undefined);
  if (sampler === undefined)
    faults.push(`OTEL_TRACES_SAMPLER: one of ${SAMPLER_NAMES.join(", ")}, with a ratio from 0 to 1`);
  const timeoutMs = Number(own("TIMEOUT") || DEFAULT_TIMEOUT_MS);
  if (!(timeoutMs > 0)) faults.push("OTEL_EXPORTER_OTLP_TIMEOUT: not a number of milliseconds");
  if (faults.length > 0 || !url || !headers || !attributes || !sampler) return { kind: "faults", faults };
  const named = environment["OTEL_SERVICE_NAME"] || attributes["service.name"] || service;
  const resource = { ...attributes, "service.name": named };
  return { kind: "settings", settings: { url, headers, sampler, resource, timeoutMs } };
}

/** The path is appended only to the general endpoint; one specific to traces is complete. */
function parseEndpoint(environment: Environment): URL | undefined {
  const traces = environment["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
  const general = environment["OTEL_EXPORTER_OTLP_ENDPOINT"] ?? "";
  const text = traces || `${general.replace(/(?<!\/)\/+$/, "")}/v1/traces`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol) ? url : undefined;
}

const KEY = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Parses `key=value,key=value` as in W3C Baggage; undefined for invalid text. */
function parsePairs(text = ""): Record<string, string> | undefined {
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

/**
 * Decides whether a span is recorded: `parent` is another process's span, or undefined if the trace begins
 * here.
 */
type Sampler = (traceId: string, parent: TraceContext | undefined) => boolean;

/** OpenTelemetry's default: as the parent, and always without one. */
const DEFAULT_SAMPLER = "parentbased_always_on";

/** The supported samplers of OpenTelemetry's environment, with OTEL_TRACES_SAMPLER_ARG. */
const SAMPLERS: Readonly<Record<string, (ratio: number) => Sampler>> = {
  always_on: () => () => true,
  always_off: () => () => false,
  traceidratio: createRatioSampler,
  parentbased_always_on: () => createParentBasedSampler(() => true),
  parentbased_always_off: () => createParentBasedSampler(() => false),
  parentbased_traceidratio: (ratio) => createParentBasedSampler(createRatioSampler(ratio)),
};

/** The supported values of OTEL_TRACES_SAMPLER. */
const SAMPLER_NAMES: readonly string[] = Object.keys(SAMPLERS);

/** Returns the sampler of a name; undefined if the name is unknown or its argument is not a ratio. */
export function findSampler(name = DEFAULT_SAMPLER, argument = "1"): Sampler | undefined {
  const ratio = Number(argument);
  if (argument.trim() === "" || !(ratio >= 0 && ratio <= 1)) return undefined;
  return Object.hasOwn(SAMPLERS, name) ? SAMPLERS[name]?.(ratio) : undefined;
}

function createParentBasedSampler(root: Sampler): Sampler {
  return (traceId, parent) => parent?.sampled ?? root(traceId, undefined);
}

/**
 * Samples by the lower half of the trace id, as the Go and Java SDKs do, so that all keep the same traces.
 */
function createRatioSampler(ratio: number): Sampler {
  const limit = BigInt(Math.floor(ratio * 2 ** 53)) << 10n;
  return (traceId) => BigInt(`0x${traceId.slice(16)}`) >> 1n < limit;
}
