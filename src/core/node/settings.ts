import * as z from "zod";

/** How labels of initialized nodes follow the cloud's facts, which the stock controller never does. */
export const LabelSettings = z.strictObject({
  /** Adds the cloud's labels that an initialized node lacks. */
  addMissing: z.boolean().prefault(true),
  /** Sets labels that differ to the cloud's value. */
  correctDiffering: z.boolean().prefault(false),
});
export type LabelSettings = z.output<typeof LabelSettings>;

/** Whether nodes whose instance is gone are deleted, and within which limits. */
export const DeletionSettings = z.strictObject({
  enabled: z.boolean().prefault(true),
  /** Also deletes nodes that were never observed with an instance, as the stock controller does. */
  unseen: z.boolean().prefault(false),
  /** Seconds between two "not found" answers, without a "found" between them. */
  graceSeconds: z.number().min(1).max(300).prefault(30),
  /**
   * The brake: the maximum percentage of a cluster's nodes that unproven deletions may remove in ten minutes.
   */
  maxPercentIn10Minutes: z.number().min(0).max(100).prefault(20),
  /** The brake's maximum percentage in a day. */
  maxPercentIn24Hours: z
    .number()
    .min(0)
    .max(100)
    .prefault(100 / 3),
});
export type DeletionSettings = z.output<typeof DeletionSettings>;

/** The node settings of a cluster. */
export const NodeSettings = z.strictObject({
  labels: LabelSettings.prefault({}),
  /**
   * Seconds until a node that is not Ready is checked again; they grow to 60 while its state does not change.
   */
  monitorSeconds: z.number().min(1).max(60).prefault(5),
  deletion: DeletionSettings.prefault({}),
});
export type NodeSettings = z.output<typeof NodeSettings>;
