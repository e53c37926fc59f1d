import { keepSlowest, type Slowest } from "#tracing/slowest.ts";
import type { ActiveSpan, EndedSpan } from "#tracing/tracer.ts";

/** Spans of the requests of one invocation, which may be hundreds: few of them tell all there is to tell. */
export interface RequestSpans {
  /** One that tells something by itself, as a call to the cloud does; the slowest are kept. */
  single(ended: EndedSpan): void;
  /** One of many alike: of a name there is one span around them all, and the slowest within it. */
  alike(ended: EndedSpan): void;
  /** Records them. */
  end(): void;
}

/** Single requests that have spans of their own, … */
const MAX_SINGLE = 50;

/** … names of which there are many, … */
const MAX_NAMES = 8;

/** … and requests within each. */
const MAX_ALIKE = 10;

/** What is beyond these names. */
const OTHERS = "other requests";

/** Gathers the spans of requests within a span; nothing is recorded before they end. */
export function createRequestSpans(within: Pick<ActiveSpan, "child">): RequestSpans {
  const single = keepSlowest<EndedSpan>(MAX_SINGLE);
  const phases = new Map<string, Phase>();
  return {
    single: (ended) => single.add(ended),
    alike(ended) {
      const name = phases.has(ended.name) || phases.size < MAX_NAMES ? ended.name : OTHERS;
      const phase = phases.get(name) ?? newPhase(ended);
      phases.set(name, phase);
      phase.startMs = Math.min(phase.startMs, ended.startMs);
      phase.endMs = Math.max(phase.endMs, ended.startMs + ended.durationMs);
      phase.requests += 1;
      if (ended.error !== undefined) phase.failed += 1;
      phase.slowest.add(ended);
    },
    end() {
      for (const each of single.kept()) within.child(each);
      for (const [name, phase] of phases) recordPhase(name, phase, within);
    },
  };
}

interface Phase {
  startMs: number;
  endMs: number;
  requests: number;
  failed: number;
  readonly slowest: Slowest<EndedSpan>;
}

function newPhase({ startMs }: EndedSpan): Phase {
  return { startMs, endMs: startMs, requests: 0, failed: 0, slowest: keepSlowest(MAX_ALIKE) };
}

function recordPhase(name: string, phase: Phase, within: Pick<ActiveSpan, "child">): void {
  const { startMs, endMs, requests, failed, slowest } = phase;
  const kept = slowest.kept();
  const [only] = kept;
  if (only !== undefined && requests === 1) {
    within.child(only);
    return;
  }
  const durationMs = endMs - startMs;
  const attributes = {
    "serverless_ccm.requests": requests,
    "serverless_ccm.failed": failed,
    "serverless_ccm.left_out": slowest.leftOut(),
  };
  const context = within.child({ name, kind: "internal", startMs, durationMs, attributes });
  for (const each of kept) within.child(each, context);
}
