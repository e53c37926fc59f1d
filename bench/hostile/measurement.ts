import * as z from "zod";

const amount = z.number().nonnegative();

/** What of the hostile cluster was to be seen at one door while it was attacking; codes and names of limits. */
const seen = z.array(z.string());

/** So many seconds of one kind of trouble, or of none. */
export const HostilePhase = z.strictObject({
  /** The attack; "quiet" and "noise" are what it is compared with. */
  name: z.string(),
  seconds: amount,
  /** Nodes that joined the other clusters meanwhile, and those among them that were not up within the limit. */
  nodes: z.int().nonnegative(),
  missing: z.int().nonnegative(),
  /** From the joining to being schedulable, of the others' nodes; a missing one counts as the limit. */
  joiningP50Ms: amount,
  joiningP99Ms: amount,
  healthzP50Ms: amount,
  healthzP99Ms: amount,
  /** Asked for and not answered at all. */
  healthzFailures: z.int().nonnegative(),
  /** The relay's largest resident set within the phase, and its resident set at the end. */
  peakMiB: amount,
  residentMiB: amount,
  cpuSeconds: amount,
  logBytes: z.int().nonnegative(),
  /** Invocations, of all clusters and of the hostile one. */
  invocations: z.int().nonnegative(),
  hostileInvocations: z.int().nonnegative(),
  /** What the hostile server sent. */
  sentBytes: z.int().nonnegative(),
  /** What `/readyz/clusters` said of the hostile cluster, and which limits were in its metrics. */
  onPages: seen,
  inMetrics: seen,
  /** From the end of the attack to being well; absent where it was not within the limit, or there was nothing to heal. */
  healedSeconds: amount.optional(),
  /** Whether the relay was gone at the end. */
  ended: z.boolean(),
});
export type HostilePhase = z.output<typeof HostilePhase>;

const HostileRun = z.strictObject({
  startedAt: z.iso.datetime(),
  cpu: z.string(),
  cores: z.int().positive(),
  node: z.string(),
  version: z.string(),
  clusters: z.int().positive(),
  nodesEach: z.int().nonnegative(),
  /** Nodes joining in a second, over all the others. */
  rate: amount,
  seconds: amount,
  bytesPerSecond: amount,
});

/** What bench/hostile.json holds: one run. */
export const HostileResults = HostileRun.extend({ phases: z.array(HostilePhase) });
export type HostileResults = z.output<typeof HostileResults>;

/** What bench/hostile-rounds.json holds: attacks, each with its null sink, as often as there were rounds. */
export const RoundResults = HostileRun.extend({
  pairs: z.array(
    z.strictObject({
      round: z.int().positive(),
      attack: z.string(),
      /** While the same attack went on against nobody. */
      sink: HostilePhase,
      attacked: HostilePhase,
    }),
  ),
});
export type RoundResults = z.output<typeof RoundResults>;
