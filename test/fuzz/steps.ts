import fc from "fast-check";

/** A node's place: whoever names one that is empty means the next that is not, so that every list of steps can be carried out. */
export type Slot = number;

/** How many places there are. */
export const SLOTS = 10;

const FOREIGN_TAINTS = [
  "cni.example.com/agent",
  "node.kubernetes.io/not-ready",
  "team.example.com/only",
] as const;
const EC2_FAILURES = ["error", "hang-up", "rubbish", "truncated", "RequestLimitExceeded", "denied"] as const;

/** What becomes of an invocation, beside being carried out. */
export const FATES = ["lost", "killed", "refused", "crashed", "twice", "again", "late"] as const;
export type Fate = (typeof FATES)[number];

const slot = fc.nat({ max: SLOTS - 1 });

/** Something that happens, as data; what it is about is looked up when it is carried out. */
const STEPS = {
  /** An instance starts, is shown after a while, and its kubelet registers it. */
  join: fc.record({
    slot,
    visibleAfterMs: fc.constantFrom(0, 0, 0, 20_000, 120_000),
    providerID: fc.boolean(),
    pinned: fc.boolean(),
    taints: fc.subarray([...FOREIGN_TAINTS]),
  }),
  /** Somebody writes the whole list of taints anew, ours as it stands there, in some order. */
  taints: fc.record({ slot, keys: fc.subarray([...FOREIGN_TAINTS]), oursFirst: fc.boolean() }),
  /** Somebody puts the cloud's taint on again. */
  retaint: fc.record({ slot }),
  label: fc.record({
    slot,
    key: fc.constantFrom("team.example.com/name", "pool", "topology.kubernetes.io/zone"),
    value: fc.constantFrom("a", "b", undefined),
  }),
  annotate: fc.record({ slot, value: fc.constantFrom("1", "2", undefined) }),
  ready: fc.record({ slot, status: fc.constantFrom("True", "False", "Unknown") }),
  /** A kubelet writes the addresses of a stale read. */
  staleAddresses: fc.record({ slot }),
  /** Somebody writes a node right after one of our next writes of it, which may be between two of them. */
  between: fc.record({
    writes: fc.nat({ max: 3 }),
    act: fc.constantFrom("addresses", "taints", "recreate", "remove", "note"),
  }),
  /** Somebody deletes the Node … */
  remove: fc.record({ slot }),
  /** … and a kubelet that starts again registers it anew. */
  recreate: fc.record({ slot }),
  finalizer: fc.record({ slot, on: fc.boolean() }),
  instance: fc.record({
    slot,
    becomes: fc.constantFrom("stopping", "stopped", "running", "shutting-down", "terminated"),
  }),
  /** Somebody ended the instance so long ago that the cloud has forgotten it. */
  vanish: fc.record({ slot }),
  /** The cloud answers as if there were no such instance, for a while. */
  hide: fc.record({ slot, forMs: fc.constantFrom(5_000, 60_000, 600_000) }),
  /** Another machine gets the name of one that has ended. */
  takeOver: fc.record({ slot }),
  cloudFails: fc.record({ how: fc.constantFrom(...EC2_FAILURES), times: fc.integer({ min: 1, max: 6 }) }),
  apiFails: fc.record({ code: fc.constantFrom(500, 503), times: fc.integer({ min: 1, max: 4 }) }),
  listsFail: fc.record({ code: fc.constantFrom(429, 503), times: fc.integer({ min: 1, max: 4 }) }),
  answersLost: fc.record({ times: fc.integer({ min: 1, max: 3 }) }),
  watchesEnd: fc.record({ compacted: fc.boolean(), as: fc.constantFrom("event", "status") }),
  /** Of the next invocation. */
  fate: fc.record({ is: fc.constantFrom(...FATES), after: fc.nat({ max: 3 }) }),
  /** A relay is killed, whatever it waits for, and started again. */
  restart: fc.record({ second: fc.boolean() }),
  /** A second relay starts beside the first, or ends. */
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

/** One step of a run. */
export type Step = { readonly [Kind in keyof Parts]: { readonly do: Kind } & Parts[Kind] }[keyof Parts];

/** Any step, those that let others happen in between most often. */
export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  ...Object.entries(STEPS).map(([kind, parts]) => ({
    weight: WEIGHTS[kind as keyof typeof STEPS] ?? 4,
    arbitrary: (parts as fc.Arbitrary<object>).map((values) => ({ do: kind, ...values }) as Step),
  })),
);

/** A step in a line. */
export function stepLine(step: Step): string {
  const { do: kind, ...parts } = step;
  return `${kind} ${JSON.stringify(parts)}`;
}
