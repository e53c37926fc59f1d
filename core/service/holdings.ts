import * as z from "zod";

/** What the cloud's `loadBalancers` is asked about all Services of a cluster at once (as `Question.ask`). */
export const HoldingsQuestion = z.strictObject({
  holdings: z.literal(true),
  /**
   * Asks for what an audit of orphans reads, at this moment: of what is in use by one of the load balancers that are listed nothing is said,
   * and the state of the one that may be removed by its mark comes with the answer.
   */
  auditAt: z.iso.datetime().optional(),
  /** Load balancers are to be counted: what belongs to one may be left out, and they come with their uid where their name tells. */
  balancersAlone: z.literal(true).optional(),
  /** With it: asks what the account may have as well; a cloud that does not tell leaves it out. */
  quotas: z.literal(true).optional(),
});
export type HoldingsQuestion = z.output<typeof HoldingsQuestion>;

/** Something that the cloud has for a Service of the cluster, by its tags alone, whether or not there is such a Service. */
export const Holding = z.strictObject({
  /** In the cloud's words, such as `network load balancer`. */
  kind: z.string().min(1),
  id: z.string().min(1),
  name: z.string(),
  /** `namespace/name`; undefined of what Services share. */
  service: z.string().optional(),
  /** Of an audit: no load balancer, but something that was made for one and is left. */
  isPart: z.literal(true).optional(),
  /** Of an audit, and of a count: how the uid of the Service begins that it was made for, without dashes, where its name tells. */
  uid: z.string().min(1).optional(),
  /** Of a load balancer: how many listeners it has, where the cloud tells. */
  listeners: z.int().min(0).optional(),
  /** Of an audit: what an earlier one has written on it. */
  mark: z.string().optional(),
});
export type Holding = z.output<typeof Holding>;

/** The `state` of such an observation: all there is, or the observation is an error. */
export const HoldingsState = z.strictObject({
  holdings: z.array(Holding),
  /** What the account may have of a `kind`, and as `listeners` of what listeners take, for all its clusters; absent where it is not known. */
  quotas: z.record(z.string(), z.int().min(0)).optional(),
  /** Of an audit: what `OrphanModel.tidyShared` reads of what several load balancers share. */
  shared: z.unknown().optional(),
  /** Of an audit: the holding that may be removed now, as far as marks tell, and what `OrphanModel.next` reads of it. */
  removable: z.strictObject({ id: z.string(), state: z.unknown() }).optional(),
});
export type HoldingsState = z.output<typeof HoldingsState>;
