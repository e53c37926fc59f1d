import * as z from "zod";

/** One part of a run: how long it took, and what of the cloud was called meanwhile. */
export const Phase = z.strictObject({
  /** Until everything was as it is to be; without it that did not come within the time that there was. */
  seconds: z.number().optional(),
  /** Of those things that came to be as they are to be. */
  done: z.int(),
  /** Calls by service and operation, throttled ones too. */
  calls: z.record(z.string(), z.int()),
  /** Calls that were answered with a throttle. */
  throttled: z.int(),
});
export type Phase = z.output<typeof Phase>;

/** A part whose things each have a delay of their own. */
const Spread = Phase.extend({ p50Seconds: z.number().optional(), p99Seconds: z.number().optional() });
export type Spread = z.output<typeof Spread>;

/** What a contender took for Services and their load balancers. */
export const ServicesMeasurement = z.strictObject({
  contender: z.string(),
  services: z.int(),
  nodes: z.int(),
  joined: z.int(),
  startedAt: z.string(),
  /** Services made at once, until each has its host name. */
  created: Spread,
  /** Half of the Services deleted at once, until they are gone. */
  deleted: Phase,
  /** Nodes that join then, until each is a target of each target group; a delay for each node and group. */
  joining: Spread,
  /** One node that is excluded by its label, until it is a target of none; a delay for each group. */
  excluding: Spread,
  /** Load balancers and target groups that are left of Services that are gone. */
  orphans: z.int(),
  peakMemoryMiB: z.number(),
  cpuSeconds: z.number(),
});
export type ServicesMeasurement = z.output<typeof ServicesMeasurement>;

/** What bench/services.json holds. */
export const ServicesResults = z.strictObject({ measurements: z.array(ServicesMeasurement) });
export type ServicesResults = z.output<typeof ServicesResults>;
