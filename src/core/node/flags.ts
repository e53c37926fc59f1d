import {
  type ControllerFlags,
  type DurationRange,
  dropUndefined,
  getText,
  readDuration,
  readSwitch,
} from "#core/flags.ts";

/** The flags about nodes that are not Ready. */
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
    return dropUndefined({ monitorSeconds, deletion: dropUndefined({ enabled, unseen, graceSeconds }) });
  },
};

/** Examples that fit the schema of the settings, which makes the final check. */
const EXAMPLES = "5s, 30s or 1m0s";

const MONITOR: DurationRange = { from: 1, to: 60, words: "1s to 1m0s", examples: EXAMPLES };

const GRACE: DurationRange = { from: 1, to: 300, words: "1s to 5m0s", examples: EXAMPLES };
