import * as z from "zod";
import type { ConfigurationFault } from "#core/config-errors.ts";
import {
  type ControllerFlags,
  type DurationRange,
  dropUndefined,
  getText,
  readDuration,
  readSwitch,
} from "#core/flags.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

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

/** What tells of machines before their nodes join. */
export const LookAheadSource = z.enum(["launches", "node-claims", "kubelet-csrs"]);
export type LookAheadSource = z.output<typeof LookAheadSource>;

/** The sources that the relay follows in the cluster, with manifests in a folder of their name in infra/rbac. */
export const AnnouncementSource = LookAheadSource.exclude(["launches"]);
export type AnnouncementSource = z.output<typeof AnnouncementSource>;

/** The node settings of a cluster. */
export const NodeSettings = z.strictObject({
  labels: LabelSettings.prefault({}),
  /**
   * Seconds until a node that is not Ready is checked again; they grow to 60 while its state does not change.
   */
  monitorSeconds: z.number().min(1).max(60).prefault(5),
  deletion: DeletionSettings.prefault({}),
  /** The sources by which machines are looked up before their nodes join. */
  lookAhead: z.array(LookAheadSource).max(LookAheadSource.options.length).prefault([]),
});
export type NodeSettings = z.output<typeof NodeSettings>;

/** The flags about nodes. */
export const nodeFlags: ControllerFlags = {
  key: "nodes",
  flags: [
    {
      option: "--node-monitor-period <duration>",
      help: "how often nodes that are not Ready are checked (default: 5s)",
      sets: "nodes.monitorSeconds",
    },
    {
      option: "--node-deletion-grace <duration>",
      help: "between two answers that an instance is gone (default: 30s)",
      sets: "nodes.deletion.graceSeconds",
    },
    {
      option: "--delete-nodes [boolean]",
      help: "whether nodes whose instance is gone are deleted (default: true)",
      sets: "nodes.deletion.enabled",
    },
    {
      option: "--delete-unseen-nodes [boolean]",
      help: "whether also those whose instance was never seen (default: false)",
      sets: "nodes.deletion.unseen",
    },
    {
      option: "--look-ahead <list>",
      help: "look machines up before they join: launches, node-claims, kubelet-csrs",
      sets: "nodes.lookAhead",
    },
  ],
  read(typed, { faults }) {
    const monitorPeriod = getText(typed, "nodeMonitorPeriod");
    const monitorSeconds = readDuration("--node-monitor-period", monitorPeriod, MONITOR, faults);
    const grace = getText(typed, "nodeDeletionGrace");
    const graceSeconds = readDuration("--node-deletion-grace", grace, GRACE, faults);
    const enabled = readSwitch("--delete-nodes", typed["deleteNodes"], faults);
    const unseen = readSwitch("--delete-unseen-nodes", typed["deleteUnseenNodes"], faults);
    if (enabled === false && unseen === true) {
      const message =
        "contradicts --delete-nodes=false, with which no node is deleted; leave one of the two out";
      faults.push({ name: "--delete-unseen-nodes", message });
    }
    const lookAhead = readSources(getText(typed, "lookAhead"), faults);
    return dropUndefined({
      monitorSeconds,
      deletion: dropUndefined({ enabled, unseen, graceSeconds }),
      lookAhead,
    });
  },
};

function readSources(text: string | undefined, faults: ConfigurationFault[]): LookAheadSource[] | undefined {
  if (text === undefined) return undefined;
  const sources = z.array(LookAheadSource).safeParse(text.split(","));
  if (sources.success) return [...new Set(sources.data)];
  const known = LookAheadSource.options.join(", ");
  const message = `"${sanitizeText(text)}" is not a list of sources; separate some of ${known} by commas`;
  faults.push({ name: "--look-ahead", message });
  return undefined;
}

/** Examples that fit the schema of the settings, which makes the final check. */
const EXAMPLES = "5s, 30s or 1m0s";

const MONITOR: DurationRange = { from: 1, to: 60, words: "1s to 1m0s", examples: EXAMPLES };

const GRACE: DurationRange = { from: 1, to: 300, words: "1s to 5m0s", examples: EXAMPLES };
