import { cut } from "#tracing/span.ts";
import type { ActiveSpan, EndedSpan } from "#tracing/tracer.ts";

/** The spans of one invocation's requests. There may be hundreds, so only the most informative are kept. */
export interface RequestSpans {
  /** Adds a span that is informative by itself, such as a cloud call; the slowest are kept. */
  single(ended: EndedSpan): void;
  /** Adds one of many similar spans: each name has one span around them all, with the slowest within it. */
  alike(ended: EndedSpan): void;
  /** Records the spans. */
  end(): void;
}

/** The maximum of single requests with spans of their own. */
const MAX_SINGLE = 50;

/** The maximum of names with many requests. */
const MAX_NAMES = 8;

/** The maximum of requests with spans of their own within each name. */
const MAX_ALIKE = 10;

/** The name for requests beyond these names. */
const OTHERS = "other requests";

/** Collects the spans of requests within a span; they are recorded when it ends. */
export function createRequestSpans(within: Pick<ActiveSpan, "child">): RequestSpans {
  const single = keepSlowest<EndedSpan>(MAX_SINGLE);
  const phases = new Map<string, Phase>();
  return {
    single: (ended) => single.add(ended),
    alike(ended) {
      const name = phases.has(ended.name) || phases.size < MAX_NAMES ? ended.name : OTHERS;
      const phase = phases.get(name) ?? createPhase(ended);
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

function createPhase({ startMs }: EndedSpan): Phase {
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

/** An ended item, with the facts that decide whether it is kept. */
interface EndedItem {
  readonly durationMs: number;
  readonly error?: string | undefined;
}

/** The most informative of the ended items. */
interface Slowest<T> {
  add(ended: T): void;
  /** Returns the kept items in order of arrival. */
  kept(): readonly T[];
  /** Returns the number of items left out. */
  leftOut(): number;
}

/** Keeps a limited number of ended items: failed ones first, then the slowest. */
function keepSlowest<T extends EndedItem>(most: number): Slowest<T> {
  let kept: T[] = [];
  let leftOut = 0;
  return {
    add(ended) {
      kept.push(ended);
      if (kept.length <= most) return;
      const least = kept.reduce((one, other) => (isLess(other, one) ? other : one));
      kept = kept.filter((each) => each !== least);
      leftOut += 1;
    },
    kept: () => kept,
    leftOut: () => leftOut,
  };
}

function isLess(one: EndedItem, other: EndedItem): boolean {
  const [failed, otherFailed] = [one.error !== undefined, other.error !== undefined];
  return failed === otherFailed ? one.durationMs < other.durationMs : !failed;
}

/** A request to an API server, as its sender reports it. */
interface RequestToApiServer {
  readonly method: string;
  /** Undefined without an answer. */
  readonly status: number | undefined;
  readonly target: {
    readonly resource: string;
    readonly subresource: string | undefined;
    readonly namespace: string | undefined;
    readonly name: string | undefined;
  };
  readonly startMs: number;
  readonly durationMs: number;
}

/**
 * Builds the span of a request. Its name is the kind of request, so that there are few names; the object is
 * an attribute.
 */
export function buildApiServerSpan(request: RequestToApiServer): EndedSpan {
  const { method, status, startMs, durationMs } = request;
  const { resource, subresource, namespace, name } = request.target;
  const what = subresource === undefined ? resource : `${resource}/${subresource}`;
  const error = status === undefined ? "Unanswered" : status >= 400 ? `Status${status}` : undefined;
  return {
    name: `${method} ${what}`,
    kind: "client",
    ...{ startMs, durationMs, error },
    attributes: {
      "http.request.method": method,
      "http.response.status_code": status,
      "k8s.object.namespace": namespace && cut(namespace),
      "k8s.object.name": name && cut(name),
    },
  };
}
