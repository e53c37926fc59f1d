import type { Check } from "#cli/doctor/check.ts";
import { reportOk, reportWarning } from "#core/check-result.ts";
import { taggingWatch } from "#core/tagging/watch.ts";

/** Checks whether the tagging controller has anything to do. */
export const tags: Check = {
  name: "tags",
  controller: taggingWatch.name,
  async run({ reached: { cluster } }) {
    const keys = Object.keys(cluster.tagging.tags);
    if (keys.length > 0)
      return reportOk(`${keys.join(", ")} on each ${cluster.tagging.resources.join(", ")}`);
    return reportWarning(
      "none are set",
      "set tagging.tags of the cluster's entry (--tags), or take tagging off its controllers",
    );
  },
};
