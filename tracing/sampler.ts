import type { TraceContext } from "#core/trace-context.ts";

/** Whether a span is recorded: `parent` is that of another process, or undefined where the trace begins. */
export type Sampler = (traceId: string, parent: TraceContext | undefined) => boolean;

/** What OpenTelemetry names without a word: as the parent has it, and always where there is none. */
const DEFAULT_SAMPLER = "parentbased_always_on";

/** The samplers of OpenTelemetry's environment that are known here, with what OTEL_TRACES_SAMPLER_ARG says. */
const SAMPLERS: Readonly<Record<string, (ratio: number) => Sampler>> = {
  always_on: () => () => true,
  always_off: () => () => false,
  traceidratio: byRatio,
  parentbased_always_on: () => parentBased(() => true),
  parentbased_always_off: () => parentBased(() => false),
  parentbased_traceidratio: (ratio) => parentBased(byRatio(ratio)),
};

/** The names that OTEL_TRACES_SAMPLER may have. */
export const SAMPLER_NAMES: readonly string[] = Object.keys(SAMPLERS);

/** The sampler of a name; undefined for one that is not known, or whose argument is no ratio. */
export function samplerNamed(name = DEFAULT_SAMPLER, argument = "1"): Sampler | undefined {
  const ratio = Number(argument);
  if (argument.trim() === "" || !(ratio >= 0 && ratio <= 1)) return undefined;
  return Object.hasOwn(SAMPLERS, name) ? SAMPLERS[name]?.(ratio) : undefined;
}

function parentBased(root: Sampler): Sampler {
  return (traceId, parent) => parent?.sampled ?? root(traceId, undefined);
}

/** By the lower half of the trace's id, as the SDKs for Go and Java do it: they all take the same traces. */
function byRatio(ratio: number): Sampler {
  const limit = BigInt(Math.floor(ratio * 2 ** 53)) << 10n;
  return (traceId) => BigInt(`0x${traceId.slice(16)}`) >> 1n < limit;
}
