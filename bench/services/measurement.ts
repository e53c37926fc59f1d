import * as z from "zod";

/** One part of a run: its duration, and its calls to the cloud. */
export const Phase = z.strictObject({
  /** Seconds until everything was in its desired state; missing if that took longer than the limit. */
  seconds: z.number().optional(),
  /** The number of items in their desired state. */
  done: z.int(),
  /** Calls by service and operation, including throttled ones. */
  calls: z.record(z.string(), z.int()),
  /** Throttled calls. */
  throttled: z.int(),
});
export type Phase = z.output<typeof Phase>;

/** A part whose items have separate delays. */
const Spread = Phase.extend({ p50Seconds: z.number().optional(), p99Seconds: z.number().optional() });
export type Spread = z.output<typeof Spread>;

/** One contender's times for Services and their load balancers. */
export const ServicesMeasurement = z.strictObject({
  contender: z.string(),
  services: z.int(),
  nodes: z.int(),
  joined: z.int(),
  startedAt: z.string(),
  /** Services created at once, until each has its host name. */
  created: Spread,
  /** Half of the Services deleted at once, until they are gone. */
  deleted: Phase,
  /** Nodes that join then, until each is a target of each target group; a delay for each node and group. */
  joining: Spread,
  /** One node that is excluded by its label, until no target group contains it; a delay for each group. */
  excluding: Spread,
  /** Load balancers and target groups left from deleted Services. */
  orphans: z.int(),
  peakMemoryMiB: z.number(),
  cpuSeconds: z.number(),
});
export type ServicesMeasurement = z.output<typeof ServicesMeasurement>;

/** The content of bench/services.json. */
export const ServicesResults = z.strictObject({ measurements: z.array(ServicesMeasurement) });
export type ServicesResults = z.output<typeof ServicesResults>;
