import type { TraceContext } from "#core/trace-context.ts";

/**
 * Decides whether a span is recorded: `parent` is another process's span, or undefined if the trace begins
 * here.
 */
export type Sampler = (traceId: string, parent: TraceContext | undefined) => boolean;

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
export const SAMPLER_NAMES: readonly string[] = Object.keys(SAMPLERS);

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
