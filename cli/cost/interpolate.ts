import type { MeasuredInvocation, MeasuredInvocations, Timing } from "#cli/cost/measured.ts";

/**
 * Interpolates an invocation of a size that was not measured, linearly between its neighbours; beyond them
 * the outermost counts.
 */
export function interpolateInvocation(measured: MeasuredInvocations, nodes: number): MeasuredInvocation {
  const above = measured.find((each) => each.nodes >= nodes) ?? measured.at(-1);
  const below = measured.findLast((each) => each.nodes <= nodes) ?? above;
  if (above === undefined || below === undefined) throw new RangeError("nothing was measured");
  if (above.nodes <= below.nodes) return { ...above, nodes };
  const part = (nodes - below.nodes) / (above.nodes - below.nodes);
  const between = (from: number, to: number): number => from + part * (to - from);
  const timing = (from: Timing, to: Timing): Timing => ({
    wallMs: between(from.wallMs, to.wallMs),
    cpuMs: between(from.cpuMs, to.cpuMs),
  });
  return {
    nodes,
    warm: timing(below.warm, above.warm),
    cold: timing(below.cold, above.cold),
    cloudCalls: between(below.cloudCalls, above.cloudCalls),
    logLines: between(below.logLines, above.logLines),
    logBytes: between(below.logBytes, above.logBytes),
  };
}
