import { apiServer } from "#cli/doctor/api-server.ts";
import type { Check, CheckContext } from "#cli/doctor/check.ts";
import { cloudCredentials } from "#cli/doctor/cloud.ts";
import type { NetworkDiagnosis } from "#clouds/diagnosis.ts";
import {
  type CheckResult,
  reportFailure,
  reportOk,
  reportSkipped,
  reportWarning,
} from "#core/check-result.ts";
import { OPERATED_CONTROLLERS, type OperatedController } from "#core/controllers.ts";
import type { ControllerFunctionName } from "#core/descriptors.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { getMaxLoadBalancers } from "#core/service/settings.ts";

/** A check of what one controller needs. */
type ControllerCheck = Omit<Check, "controller">;

/** Checks whether the cloud grants the configured identity what load balancers need. */
export const cloudPermissions: ControllerCheck = {
  name: "cloud permissions",
  needs: [cloudCredentials.name],
  async run({ cloud, reached: { cluster } }, signal) {
    const diagnosis = await cloud();
    return (
      diagnosis?.permissions?.(signal) ??
      reportSkipped(`the cloud ${cluster.cloud.provider} has none that doctor checks`)
    );
  },
};

type NetworkInspection = (
  of: NetworkDiagnosis,
  signal: AbortSignal,
  context: CheckContext,
) => Promise<CheckResult>;

/** Checks whether load balancers have subnets. */
export const subnets = createNetworkCheck("subnets", (of, signal) => of.subnets(signal));

/** Checks whether it is clear which security group of an instance must admit load balancers. */
export const nodeSecurityGroups = createNetworkCheck("node security groups", (of, signal) =>
  of.securityGroups(signal),
);

/** Checks whether there are route tables for routes to pods. */
export const routeTables = createNetworkCheck("route tables", (of, signal) => of.routeTables(signal));

/** Checks the number of our load balancers against the limit. */
export const loadBalancers: ControllerCheck = {
  name: "load balancers",
  needs: ["api-server"],
  async run({ reached, services }) {
    const listed = await services().catch((error: unknown) => getErrorMessage(error));
    if (typeof listed === "string") return reportFailure(listed, GRANT);
    const max = getMaxLoadBalancers(reached.cluster.loadBalancers);
    const held = listed.filter(({ standing }) => standing === "holds").length;
    const waiting = listed.length - held;
    const words = `${held} of the ${max} that loadBalancers.max allows${waiting === 0 ? "" : `, ${waiting} more requested`}`;
    if (held + waiting > max) return reportFailure(words, RAISE);
    return held >= NEARLY * max ? reportWarning(words, RAISE) : reportOk(words);
  },
};

const NEARLY = 0.9;

const GRANT = "kubectl apply -f infra/rbac/service-lb-controller/";

const RAISE =
  "raise loadBalancers.max of the cluster's entry, below the account's own quotas of load balancers; or delete Services";

/** Checks whether the account's limits allow what Services request. */
export const accountLimits: ControllerCheck = {
  ...createNetworkCheck("account limits", async (of, signal, { services, nodes, reached }) => {
    const listed = await services().catch(() => undefined);
    if (listed === undefined) return reportSkipped("Services cannot be listed");
    const { nodes: joined } = await nodes();
    const { max } = reached.cluster.loadBalancers;
    return of.accountLimits({ services: listed.map(({ service }) => service), nodes: joined, max }, signal);
  }),
  needs: [apiServer.name, cloudCredentials.name],
};

function createNetworkCheck(name: string, look: NetworkInspection): ControllerCheck {
  return {
    name,
    needs: [cloudCredentials.name],
    async run(context, signal) {
      const {
        cloud,
        reached: { cluster },
      } = context;
      const network = (await cloud())?.forControllers;
      return network === undefined
        ? reportSkipped(`the cloud ${cluster.cloud.provider} has none that doctor checks`)
        : look(network, signal, context);
    },
  };
}

/** By function: what its controller needs of the cloud; one more check of a controller is a line here. */
const BY_FUNCTION: Partial<Readonly<Record<ControllerFunctionName, readonly ControllerCheck[]>>> = {
  service: [cloudPermissions, loadBalancers, accountLimits, subnets, nodeSecurityGroups],
  route: [routeTables],
};

/** The checks of all controllers, in listing order; each runs only if its controller is enabled. */
export const CONTROLLER_CHECKS: readonly Check[] = OPERATED_CONTROLLERS.flatMap((operated) =>
  [...(BY_FUNCTION[operated.functionName] ?? []), ...listSettingsChecks(operated)].map((check) => ({
    ...check,
    controller: operated.name,
  })),
);

/** Lists the check whether a controller has anything to do by its settings. */
function listSettingsChecks({ settingsCheck }: OperatedController): readonly ControllerCheck[] {
  if (settingsCheck === undefined) return [];
  const { name } = settingsCheck;
  return [{ name, run: async ({ reached: { cluster } }) => settingsCheck.check(cluster) }];
}
