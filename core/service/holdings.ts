import * as z from "zod";

/** What the cloud's `loadBalancers` is asked about all Services of a cluster at once (as `Question.ask`). */
export const HoldingsQuestion = z.strictObject({ holdings: z.literal(true) });
export type HoldingsQuestion = z.output<typeof HoldingsQuestion>;

/** Something that the cloud has for a Service of the cluster, by its tags alone, whether or not there is such a Service. */
export const Holding = z.strictObject({
  /** In the cloud's words, such as `network load balancer`. */
  kind: z.string().min(1),
  id: z.string().min(1),
  name: z.string(),
  /** `namespace/name`; undefined of what Services share. */
  service: z.string().optional(),
});
export type Holding = z.output<typeof Holding>;

/** The `state` of such an observation: all there is, or the observation is an error. */
export const HoldingsState = z.strictObject({ holdings: z.array(Holding) });
export type HoldingsState = z.output<typeof HoldingsState>;
