import type { Check } from "#cli/doctor/check.ts";
import { reportFailure, reportSkipped } from "#core/check-result.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";

/** Checks whether the cloud accepts the configured credentials. */
export const cloudCredentials: Check = {
  name: "cloud credentials",
  async run({ cloud, reached: { cluster } }, signal) {
    const diagnosis = await cloud().catch((error: unknown) => getErrorMessage(error));
    if (diagnosis === undefined) return reportSkipped(`the cloud ${cluster.cloud.provider} needs none`);
    if (typeof diagnosis === "string")
      return reportFailure(diagnosis, "see `cloud` of the cluster, and the files that it names");
    return diagnosis.credentials(signal);
  },
};

/** Checks whether the network or tag that identifies the cluster's instances exists, and contains any. */
export const cloudNetwork: Check = {
  name: "cloud network",
  needs: [cloudCredentials.name],
  async run({ cloud, reached: { cluster } }, signal) {
    const diagnosis = await cloud();
    return diagnosis?.network(signal) ?? reportSkipped(`the cloud ${cluster.cloud.provider} has none`);
  },
};
