import fc from "fast-check";

/** A node's place. An empty place means the next one in use, so that every list of steps can run. */
export type Slot = number;

/** The number of places. */
export const SLOTS = 10;

const FOREIGN_TAINTS = [
  "cni.example.com/agent",
  "node.kubernetes.io/not-ready",
  "team.example.com/only",
] as const;
const EC2_FAILURES = ["error", "hang-up", "rubbish", "truncated", "RequestLimitExceeded", "denied"] as const;

/** The faults of an invocation. */
export const FATES = ["lost", "killed", "refused", "crashed", "twice", "again", "late"] as const;
export type Fate = (typeof FATES)[number];

const slot = fc.nat({ max: SLOTS - 1 });

/** A step as data; its subject is looked up when it is performed. */
const STEPS = {
  /** An instance starts, becomes visible after a while, and its kubelet registers it. */
  join: fc.record({
    slot,
    visibleAfterMs: fc.constantFrom(0, 0, 0, 20_000, 120_000),
    providerID: fc.boolean(),
    pinned: fc.boolean(),
    taints: fc.subarray([...FOREIGN_TAINTS]),
  }),
  /** Another client replaces the whole list of taints and keeps ours, in some order. */
  taints: fc.record({ slot, keys: fc.subarray([...FOREIGN_TAINTS]), oursFirst: fc.boolean() }),
  /** Another client adds the cloud's taint again. */
  retaint: fc.record({ slot }),
  label: fc.record({
    slot,
    key: fc.constantFrom("team.example.com/name", "pool", "topology.kubernetes.io/zone"),
    value: fc.constantFrom("a", "b", undefined),
  }),
  annotate: fc.record({ slot, value: fc.constantFrom("1", "2", undefined) }),
  ready: fc.record({ slot, status: fc.constantFrom("True", "False", "Unknown") }),
  /** A kubelet writes addresses from a stale read. */
  staleAddresses: fc.record({ slot }),
  /** Another client writes a node right after one of our next writes, which may be between two of them. */
  between: fc.record({
    writes: fc.nat({ max: 3 }),
    act: fc.constantFrom("addresses", "taints", "recreate", "remove", "note"),
  }),
  /** A client deletes the Node. */
  remove: fc.record({ slot }),
  /** A restarted kubelet registers the deleted Node again. */
  recreate: fc.record({ slot }),
  finalizer: fc.record({ slot, on: fc.boolean() }),
  instance: fc.record({
    slot,
    becomes: fc.constantFrom("stopping", "stopped", "running", "shutting-down", "terminated"),
  }),
  /** The instance was terminated so long ago that the cloud has forgotten it. */
  vanish: fc.record({ slot }),
  /** The cloud answers for a while as if the instance did not exist. */
  hide: fc.record({ slot, forMs: fc.constantFrom(5_000, 60_000, 600_000) }),
  /** Another machine gets the name of a terminated one. */
  takeOver: fc.record({ slot }),
  cloudFails: fc.record({ how: fc.constantFrom(...EC2_FAILURES), times: fc.integer({ min: 1, max: 6 }) }),
  apiFails: fc.record({ code: fc.constantFrom(500, 503), times: fc.integer({ min: 1, max: 4 }) }),
  listsFail: fc.record({ code: fc.constantFrom(429, 503), times: fc.integer({ min: 1, max: 4 }) }),
  answersLost: fc.record({ times: fc.integer({ min: 1, max: 3 }) }),
  watchesEnd: fc.record({ compacted: fc.boolean(), as: fc.constantFrom("event", "status") }),
  /** Sets the fate of the next invocation. */
  fate: fc.record({ is: fc.constantFrom(...FATES), after: fc.nat({ max: 3 }) }),
  /** A relay is killed at any moment and started again. */
  restart: fc.record({ second: fc.boolean() }),
  /** A second relay starts or ends. */
  second: fc.record({ on: fc.boolean() }),
  /** Longer than most back-offs. */
  waitLong: fc.record({ ms: fc.constantFrom(660_000, 1_800_000) }),
  wait: fc.record({
    ms: fc.constantFrom(1, 5, 5, 20, 20, 20, 60, 60, 60, 250, 250, 1_000, 5_000, 31_000, 31_000, 120_000),
  }),
} as const;

const WEIGHTS: Readonly<Partial<Record<keyof typeof STEPS, number>>> = {
  join: 16,
  taints: 12,
  wait: 60,
  ready: 10,
  instance: 6,
  fate: 10,
  between: 12,
  recreate: 6,
  waitLong: 1,
};

type Parts = { readonly [Kind in keyof typeof STEPS]: Generated<(typeof STEPS)[Kind]> };
type Generated<Arbitrary> = Arbitrary extends fc.Arbitrary<infer Value> ? Value : never;

export type Step = { readonly [Kind in keyof Parts]: { readonly do: Kind } & Parts[Kind] }[keyof Parts];

/** Any step; steps that let time pass are the most frequent. */
export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  ...Object.entries(STEPS).map(([kind, parts]) => ({
    weight: WEIGHTS[kind as keyof typeof STEPS] ?? 4,
    arbitrary: (parts as fc.Arbitrary<object>).map((values) => ({ do: kind, ...values }) as Step),
  })),
);

/** Returns a step as one line. */
export function formatStep(step: Step): string {
  const { do: kind, ...parts } = step;
  return `${kind} ${JSON.stringify(parts)}`;
}
