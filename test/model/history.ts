import fc from "fast-check";
import type { Fate, FatedRequest } from "./network.ts";

/** The Services of a history; a number selects one of these names. */
export const SERVICE_NAMES = ["web", "api"] as const;
/** Nodes that a history may have. Each may be on one of two machines. */
export const NODE_COUNT = 3;
export const MACHINE_COUNT = 2 * NODE_COUNT;
/** Actors that a history may have. */
export const ACTORS = ["A", "B", "C"] as const;

/** The ports and source ranges of a Service; one edit replaces all of them. */
export interface ServiceSpec {
  readonly ports: readonly number[];
  /** Gives each port another node port. */
  readonly isMoved: boolean;
  readonly ranges: readonly string[];
}

/** An event in a history, without its time. */
export type Happening =
  | { readonly do: "create Service"; readonly service: number; readonly spec: ServiceSpec }
  | { readonly do: "edit Service"; readonly service: number; readonly spec: ServiceSpec }
  /** The Service becomes of type ClusterIP, and may lose our annotation in the same write. */
  | { readonly do: "make ClusterIP"; readonly service: number; readonly dropAnnotation: boolean }
  | { readonly do: "make LoadBalancer"; readonly service: number }
  | { readonly do: "drop annotation"; readonly service: number }
  | { readonly do: "delete Service"; readonly service: number }
  /** On its first machine, or on its replacement. */
  | { readonly do: "add node"; readonly node: number; readonly isSuccessor: boolean }
  | { readonly do: "remove node"; readonly node: number }
  /** The node's label excludes it from load balancers, or includes it again. */
  | { readonly do: "exclude node"; readonly node: number; readonly isExcluded: boolean }
  /** The machine of a node is terminated. */
  | { readonly do: "end machine"; readonly node: number; readonly isSuccessor: boolean }
  | { readonly do: "add foreign"; readonly number: number }
  | { readonly do: "drift"; readonly number: number }
  | {
      readonly do: "invoke";
      readonly actor: number;
      readonly reason: "watch" | "retry" | "refresh" | "sweep";
      /** One Service; undefined means all. */
      readonly service: number | undefined;
      /** The age of the actor's lists of objects and related objects, in milliseconds. */
      readonly lagMs: number;
      readonly relatedLagMs: number;
      readonly fates: readonly FatedRequest[];
    };

/** An event, and its delay after the previous one. */
export type Step = Happening & { readonly afterMs: number };

export type Kind = Happening["do"];

const service = fc.nat({ max: SERVICE_NAMES.length - 1 });
const node = fc.nat({ max: NODE_COUNT - 1 });
const spec = fc.record({
  ports: fc.subarray([80, 443, 8080], { minLength: 1 }),
  isMoved: fc.boolean(),
  ranges: fc.constantFrom<readonly string[]>([], [], ["10.0.0.0/8"], ["192.0.2.0/24", "198.51.100.0/24"]),
});

/** A request may be carried out up to 30 seconds after it was sent. */
const delayMs = fc.constantFrom(400, 3_000, 12_000, 30_000);

const fate: fc.Arbitrary<Fate> = fc.oneof(
  { weight: 4, arbitrary: delayMs.map((ms): Fate => ({ kind: "late", ms })) },
  { weight: 2, arbitrary: delayMs.map((ms): Fate => ({ kind: "slow answer", ms })) },
  { weight: 2, arbitrary: delayMs.map((ms): Fate => ({ kind: "lost", ms })) },
  { weight: 1, arbitrary: fc.constant<Fate>({ kind: "throttled" }) },
  { weight: 3, arbitrary: delayMs.map((ms): Fate => ({ kind: "killed", ms })) },
);

/** The age of lists. */
const lagMs = fc.constantFrom(0, 0, 0, 0, 2_000, 15_000, 40_000);

const HAPPENINGS: Happenings = {
  "create Service": fc.record({ service, spec }),
  "edit Service": fc.record({ service, spec }),
  "make ClusterIP": fc.record({ service, dropAnnotation: fc.boolean() }),
  "make LoadBalancer": fc.record({ service }),
  "drop annotation": fc.record({ service }),
  "delete Service": fc.record({ service }),
  "add node": fc.record({ node, isSuccessor: fc.boolean() }),
  "remove node": fc.record({ node }),
  "exclude node": fc.record({ node, isExcluded: fc.boolean() }),
  "end machine": fc.record({ node, isSuccessor: fc.boolean() }),
  "add foreign": fc.record({ number: fc.nat({ max: 3 }) }),
  drift: fc.record({ number: fc.nat({ max: 30 }) }),
  invoke: fc.record({
    actor: fc.nat({ max: ACTORS.length - 1 }),
    reason: fc.constantFrom("watch", "watch", "watch", "retry", "refresh", "sweep"),
    service: fc.option(service, { nil: undefined }),
    lagMs,
    relatedLagMs: lagMs,
    fates: fc.uniqueArray(fc.record({ request: fc.nat({ max: 14 }), fate }), {
      maxLength: 2,
      selector: ({ request }) => request,
    }),
  }),
};

type Happenings = { readonly [Name in Kind]: fc.Arbitrary<Omit<Extract<Happening, { do: Name }>, "do">> };

const afterMs = fc.constantFrom(0, 0, 50, 50, 300, 300, 1_000, 4_000, 20_000);

/** Longer than an undisturbed invocation takes. */
const CALM_MS = 10_000;

export interface HistoryOptions {
  /** Only one actor at a time, with current lists and undisturbed requests. */
  readonly isCalm?: boolean;
  /** Kinds of events that do not occur. */
  readonly without?: readonly Kind[];
}

/** All kinds of events. */
export const KINDS = Object.keys(HAPPENINGS) as readonly Kind[];

/** Returns an arbitrary for histories of these kinds; a kind with a greater weight occurs more often. */
export function createHistoryArbitrary(
  weights: Readonly<Partial<Record<Kind, number>>>,
  { isCalm = false, without = [] }: HistoryOptions = {},
): fc.Arbitrary<readonly Step[]> {
  const named = Object.entries(weights).filter(([name]) => !without.includes(name as Kind));
  const steps = named.map(([name, weight]) => ({
    weight,
    arbitrary: fc
      .tuple(afterMs, HAPPENINGS[name as Kind] as fc.Arbitrary<object>)
      .map(([after, values]) => ({ do: name, ...values, afterMs: after }) as Step),
  }));
  const history = fc.array(fc.oneof(...steps), { minLength: 1, maxLength: 24, size: "max" });
  return isCalm ? history.map((each) => each.map(calmed)) : history;
}

function calmed(step: Step): Step {
  const later = { ...step, afterMs: CALM_MS };
  return later.do === "invoke" ? { ...later, lagMs: 0, relatedLagMs: 0, fates: [] } : later;
}

export function getMachine(node: { readonly node: number; readonly isSuccessor: boolean }): number {
  return node.isSuccessor ? NODE_COUNT + node.node : node.node;
}

/** Returns a step as one line. */
export function describeStep(step: Step): string {
  const { do: name, afterMs: after, ...values } = step;
  return `+${after} ms  ${name} ${JSON.stringify(values)}`;
}
