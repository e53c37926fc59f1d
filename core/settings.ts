import * as z from "zod";

/** How the labels of initialized nodes are kept in line with what the cloud says, which the stock controller never does. */
export const LabelSettings = z.strictObject({
  /** A label of the cloud's that an initialized node lacks is added. */
  addMissing: z.boolean().prefault(true),
  /** One that says something else is set to what the cloud says. */
  correctDiffering: z.boolean().prefault(false),
});
export type LabelSettings = z.output<typeof LabelSettings>;

/** Whether nodes whose instance is gone are deleted, and what holds that back. */
export const DeletionSettings = z.strictObject({
  enabled: z.boolean().prefault(true),
  /** Also nodes of which no instance was ever seen, as the stock controller does. */
  unseen: z.boolean().prefault(false),
  /** Seconds between two answers that there is no such instance, with none between that there is. */
  graceSeconds: z.number().min(1).max(300).prefault(30),
  /** The brake: deletions that no terminated instance explains, of a cluster's nodes, at the most … */
  maxPercentIn10Minutes: z.number().min(0).max(100).prefault(20),
  /** … and in a day. */
  maxPercentIn24Hours: z
    .number()
    .min(0)
    .max(100)
    .prefault(100 / 3),
});
export type DeletionSettings = z.output<typeof DeletionSettings>;

/** What a cluster's configuration says of its nodes. */
export const NodeSettings = z.strictObject({
  labels: LabelSettings.prefault({}),
  /** Seconds after which a node that is not Ready is looked at again; grows to 60 for one whose state does not change. */
  monitorSeconds: z.number().min(1).max(60).prefault(5),
  deletion: DeletionSettings.prefault({}),
});
export type NodeSettings = z.output<typeof NodeSettings>;

/** What of a cluster's configuration decisions depend on. */
export interface Settings {
  readonly nodes: NodeSettings;
}

/** What holds where a configuration says nothing. */
export const DEFAULT_SETTINGS: Settings = { nodes: NodeSettings.parse({}) };
