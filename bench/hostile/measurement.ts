import * as z from "zod";

const amount = z.number().nonnegative();

/** Reports about the hostile cluster during the attack, on pages or in metrics: codes and names of limits. */
const seen = z.array(z.string());

/** A phase of so many seconds with one attack, or without any. */
export const HostilePhase = z.strictObject({
  /** The attack; "quiet" and "noise" are the comparisons. */
  name: z.string(),
  seconds: amount,
  /**
   * Nodes that joined the other clusters during the phase, and those among them that took longer than the
   * limit.
   */
  nodes: z.int().nonnegative(),
  missing: z.int().nonnegative(),
  /** From joining to schedulable, of the others' nodes; a missing one counts as the limit. */
  joiningP50Ms: amount,
  joiningP99Ms: amount,
  healthzP50Ms: amount,
  healthzP99Ms: amount,
  /** Requests without an answer. */
  healthzFailures: z.int().nonnegative(),
  /** The relay's largest resident set within the phase, and its resident set at the end. */
  peakMiB: amount,
  residentMiB: amount,
  cpuSeconds: amount,
  logBytes: z.int().nonnegative(),
  /** Invocations, of all clusters and of the hostile one. */
  invocations: z.int().nonnegative(),
  hostileInvocations: z.int().nonnegative(),
  /** Bytes from the hostile server. */
  sentBytes: z.int().nonnegative(),
  /** Reports of `/readyz/clusters` about the hostile cluster, and the limits in its metrics. */
  onPages: seen,
  inMetrics: seen,
  /** From the end of the attack to the recovery; absent above the limit, or if no recovery was necessary. */
  healedSeconds: amount.optional(),
  /** Whether the relay's process had ended. */
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
  /** Nodes that join per second, over all the others. */
  rate: amount,
  seconds: amount,
  bytesPerSecond: amount,
});

/** The content of bench/hostile.json: one run. */
export const HostileResults = HostileRun.extend({ phases: z.array(HostilePhase) });
export type HostileResults = z.output<typeof HostileResults>;

/** The content of bench/hostile-rounds.json: each attack with its null sink, once a round. */
export const RoundResults = HostileRun.extend({
  pairs: z.array(
    z.strictObject({
      round: z.int().positive(),
      attack: z.string(),
      /** The phase in which the attack ran against the null sink. */
      sink: HostilePhase,
      attacked: HostilePhase,
    }),
  ),
});
export type RoundResults = z.output<typeof RoundResults>;
