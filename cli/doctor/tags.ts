import type { Check } from "#cli/doctor/check.ts";
import { ok, warning } from "#core/finding.ts";
import { taggingWatch } from "#core/tagging/watch.ts";

/** Whether the tagging controller has anything to do. */
export const tags: Check = {
  name: "tags",
  controller: taggingWatch.name,
  async run({ reached: { cluster } }) {
    const keys = Object.keys(cluster.tagging.tags);
    if (keys.length > 0) return ok(`${keys.join(", ")} on each ${cluster.tagging.resources.join(", ")}`);
    return warning(
      "none are set",
      "set tagging.tags of the cluster's entry (--tags), or take tagging off its controllers",
    );
  },
};
