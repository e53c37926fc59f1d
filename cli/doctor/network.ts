import { apiServer } from "#cli/doctor/api-server.ts";
import type { Check, CheckContext } from "#cli/doctor/check.ts";
import { cloudCredentials } from "#cli/doctor/cloud.ts";
import type { NetworkDiagnosis } from "#clouds/diagnosis.ts";
import { type Finding, skipped } from "#core/finding.ts";
import { routeWatch } from "#core/route/watch.ts";
import { serviceWatch } from "#core/service/watch.ts";

type Look = (of: NetworkDiagnosis, signal: AbortSignal, context: CheckContext) => Promise<Finding>;

/** Whether load balancers have subnets to be in. */
export const subnets = networkCheck("subnets", serviceWatch.name, (of, signal) => of.subnets(signal));

/** Whether it can be told which security group of an instance is to let load balancers in. */
export const nodeSecurityGroups = networkCheck("node security groups", serviceWatch.name, (of, signal) =>
  of.securityGroups(signal),
);

/** Whether there are tables that routes to pods go to. */
export const routeTables = networkCheck("route tables", routeWatch.name, (of, signal) =>
  of.routeTables(signal),
);

/** Whether the account may have what Services ask for. */
export const accountLimits: Check = {
  ...networkCheck("account limits", serviceWatch.name, async (of, signal, { services, nodes, reached }) => {
    const listed = await services().catch(() => undefined);
    if (listed === undefined) return skipped("Services cannot be listed");
    const { nodes: joined } = await nodes();
    const { max } = reached.cluster.loadBalancers;
    return of.accountLimits({ services: listed.map(({ service }) => service), nodes: joined, max }, signal);
  }),
  needs: [apiServer.name, cloudCredentials.name],
};

function networkCheck(name: string, controller: string, look: Look): Check {
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
        ? skipped(`the cloud ${cluster.cloud.provider} has none that are looked at`)
        : look(network, signal, context);
    },
  };
}
