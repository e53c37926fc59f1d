import * as z from "zod";

/**
 * The question to a cloud's `loadBalancers` about all Services of a cluster at once (the `ask` of a
 * `Question`).
 */
export const HoldingsQuestion = z.strictObject({
  holdings: z.literal(true),
  /**
   * Requests the data of an orphan audit, at this time. It leaves out what a listed load balancer uses, and
   * includes the state of the orphan that may be removed by its mark.
   */
  auditAt: z.iso.datetime().optional(),
  /**
   * Requests a count of load balancers: their parts may be left out. A load balancer carries its Service's
   * uid if its name contains one.
   */
  balancersAlone: z.literal(true).optional(),
  /**
   * With `balancersAlone`: also requests the account's quotas. A cloud that does not report them leaves them
   * out.
   */
  quotas: z.literal(true).optional(),
});
export type HoldingsQuestion = z.output<typeof HoldingsQuestion>;

/**
 * A cloud resource that belongs to a Service of the cluster by its tags alone, whether or not that Service
 * exists.
 */
export const Holding = z.strictObject({
  /** The cloud's term, such as `network load balancer`. */
  kind: z.string().min(1),
  id: z.string().min(1),
  name: z.string(),
  /** `namespace/name`; undefined for a resource that Services share. */
  service: z.string().optional(),
  /** In an audit: a part that remains of a load balancer, not a load balancer itself. */
  isPart: z.literal(true).optional(),
  /**
   * In an audit or a count: the beginning of the Service's uid, without dashes, if the resource's name
   * contains it.
   */
  uid: z.string().min(1).optional(),
  /** For a load balancer: the number of its listeners, if the cloud reports it. */
  listeners: z.int().min(0).optional(),
  /** In an audit: the mark that an earlier audit wrote. */
  mark: z.string().optional(),
});
export type Holding = z.output<typeof Holding>;

/** The `state` of an observation of holdings. It is complete; otherwise the observation is an error. */
export const HoldingsState = z.strictObject({
  holdings: z.array(Holding),
  /**
   * The account's quota for each `kind`, and for listeners as `listeners`, for all its clusters; absent if
   * unknown.
   */
  quotas: z.record(z.string(), z.int().min(0)).optional(),
  /** In an audit: the input of `OrphanModel.tidyShared` about what several load balancers share. */
  shared: z.unknown().optional(),
  /**
   * In an audit: the holding that its mark allows to remove now, and the input of `OrphanModel.planStep`
   * about it.
   */
  removable: z.strictObject({ id: z.string(), state: z.unknown() }).optional(),
});
export type HoldingsState = z.output<typeof HoldingsState>;
