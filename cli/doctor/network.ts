import { apiServer } from "#cli/doctor/api-server.ts";
import type { Check, CheckContext } from "#cli/doctor/check.ts";
import { cloudCredentials } from "#cli/doctor/cloud.ts";
import type { NetworkDiagnosis } from "#clouds/diagnosis.ts";
import { type CheckResult, reportSkipped } from "#core/check-result.ts";
import { routeWatch } from "#core/route/watch.ts";
import { serviceWatch } from "#core/service/watch.ts";

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
