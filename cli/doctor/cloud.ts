import type { Check } from "#cli/doctor/check.ts";
import { failed, skipped } from "#core/finding.ts";
import { messageOf } from "#core/message-of.ts";
import { serviceWatch } from "#core/service/watch.ts";

/** Whether the cloud accepts whoever is configured to ask it. */
export const cloudCredentials: Check = {
  name: "cloud credentials",
  async run({ cloud, reached: { cluster } }, signal) {
    const diagnosis = await cloud().catch((error: unknown) => messageOf(error));
    if (diagnosis === undefined) return skipped(`the cloud ${cluster.cloud.provider} needs none`);
    if (typeof diagnosis === "string")
      return failed(diagnosis, "see `cloud` of the cluster, and the files that it names");
    return diagnosis.credentials(signal);
  },
};

/** Whether what tells the cluster's instances from others is there, and holds any. */
export const cloudNetwork: Check = {
  name: "cloud network",
  needs: [cloudCredentials.name],
  async run({ cloud, reached: { cluster } }, signal) {
    const diagnosis = await cloud();
    return diagnosis?.network(signal) ?? skipped(`the cloud ${cluster.cloud.provider} has none`);
  },
};

/** Whether the cloud lets whoever is configured do what load balancers take. */
export const cloudPermissions: Check = {
  name: "cloud permissions",
  controller: serviceWatch.name,
  needs: [cloudCredentials.name],
  async run({ cloud, reached: { cluster } }, signal) {
    const diagnosis = await cloud();
    return (
      diagnosis?.permissions?.(signal) ??
      skipped(`the cloud ${cluster.cloud.provider} has none that are looked at`)
    );
  },
};
