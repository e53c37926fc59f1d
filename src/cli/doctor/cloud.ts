import { apiServer } from "#cli/doctor/api-server.ts";
import type { Check, CheckContext } from "#cli/doctor/check.ts";
import type { NetworkDiagnosis } from "#clouds/diagnosis.ts";
import {
  type CheckResult,
  reportFailure,
  reportOk,
  reportSkipped,
  reportWarning,
} from "#core/check-result.ts";
import { OPERATED_CONTROLLERS } from "#core/operations.ts";
import { routeWatch } from "#core/route/watch.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { limitLoadBalancers } from "#core/service/settings.ts";
import { serviceWatch } from "#core/service/watch.ts";

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

/** Checks whether the cloud grants the configured identity what load balancers need. */
export const cloudPermissions: Check = {
  name: "cloud permissions",
  controller: serviceWatch.name,
  needs: [cloudCredentials.name],
  async run({ cloud, reached: { cluster } }, signal) {
    const diagnosis = await cloud();
    return (
      diagnosis?.permissions?.(signal) ??
      reportSkipped(`the cloud ${cluster.cloud.provider} has none that are looked at`)
    );
  },
};

type NetworkInspection = (
  of: NetworkDiagnosis,
  signal: AbortSignal,
  context: CheckContext,
) => Promise<CheckResult>;

/** Checks whether load balancers have subnets. */
export const subnets = createNetworkCheck("subnets", serviceWatch.name, (of, signal) => of.subnets(signal));

/** Checks whether it is clear which security group of an instance must admit load balancers. */
export const nodeSecurityGroups = createNetworkCheck(
  "node security groups",
  serviceWatch.name,
  (of, signal) => of.securityGroups(signal),
);

/** Checks whether there are route tables for routes to pods. */
export const routeTables = createNetworkCheck("route tables", routeWatch.name, (of, signal) =>
  of.routeTables(signal),
);

/** Checks the number of our load balancers against the limit. */
export const loadBalancers: Check = {
  name: "load balancers",
  controller: serviceWatch.name,
  needs: ["api-server"],
  async run({ reached, services }) {
    const listed = await services().catch((error: unknown) => getErrorMessage(error));
    if (typeof listed === "string") return reportFailure(listed, GRANT);
    const max = limitLoadBalancers(reached.cluster.loadBalancers);
    const held = listed.filter(({ standing }) => standing === "holds").length;
    const waiting = listed.length - held;
    const words = `${held} of ${max} that the cluster may have${waiting === 0 ? "" : `, ${waiting} more requested`}`;
    if (held + waiting > max) return reportFailure(words, RAISE);
    return held >= NEARLY * max ? reportWarning(words, RAISE) : reportOk(words);
  },
};

const NEARLY = 0.9;

const GRANT = "kubectl apply -f infra/rbac/service-lb-controller/";

const RAISE =
  "raise loadBalancers.max of the cluster's entry, below the account's own quotas of load balancers; or delete Services";

/** Checks whether the account's limits allow what Services request. */
export const accountLimits: Check = {
  ...createNetworkCheck(
    "account limits",
    serviceWatch.name,
    async (of, signal, { services, nodes, reached }) => {
      const listed = await services().catch(() => undefined);
      if (listed === undefined) return reportSkipped("Services cannot be listed");
      const { nodes: joined } = await nodes();
      const { max } = reached.cluster.loadBalancers;
      return of.accountLimits({ services: listed.map(({ service }) => service), nodes: joined, max }, signal);
    },
  ),
  needs: [apiServer.name, cloudCredentials.name],
};

function createNetworkCheck(name: string, controller: string, look: NetworkInspection): Check {
  return {
    name,
    controller,
    needs: [cloudCredentials.name],
    async run(context, signal) {
      const {
        cloud,
        reached: { cluster },
      } = context;
      const network = (await cloud())?.forControllers;
      return network === undefined
        ? reportSkipped(`the cloud ${cluster.cloud.provider} has none that are looked at`)
        : look(network, signal, context);
    },
  };
}

/** Check whether enabled controllers have anything to do. */
export const settingsChecks: readonly Check[] = OPERATED_CONTROLLERS.flatMap(({ name, settingsCheck }) =>
  settingsCheck === undefined
    ? []
    : [
        {
          name: settingsCheck.name,
          controller: name,
          run: async ({ reached: { cluster } }) => settingsCheck.check(cluster),
        },
      ],
);
