import type { ActionCall } from "#clouds/cloud.ts";
import { createCapabilityCalls } from "#clouds/http/capability-calls.ts";
import type { ClosableCapability } from "#clouds/loaded-capability.ts";
import { observationOf } from "#clouds/observation.ts";
import type { OciApis } from "#clouds/oci/api.ts";
import { compartmentsOf, type OciCloudConfig } from "#clouds/oci/kind.ts";
import { actOnOci } from "#clouds/oci/load-balancers/act.ts";
import { type AskInstances, findAddresses } from "#clouds/oci/load-balancers/observe/addresses.ts";
import { observeHoldings } from "#clouds/oci/load-balancers/observe/holdings.ts";
import { type Observing, observeLoadBalancers } from "#clouds/oci/load-balancers/observe/observe.ts";
import { readsOf } from "#clouds/oci/load-balancers/observe/reads.ts";
import { soughtBy } from "#clouds/oci/load-balancers/observe/sought.ts";
import { observeOrphans } from "#clouds/oci/load-balancers/orphans/observe-orphans.ts";
import { HoldingsQuestion } from "#core/service/holdings.ts";
import { addUsage, NO_CLOUD_USAGE } from "#core/usage.ts";

/** What load balancers of a cluster are observed and changed with. */
export interface LoadBalancerWorld {
  readonly config: OciCloudConfig;
  /** The cluster's name, which tags say. */
  readonly cluster: string;
  readonly apis: OciApis;
  /** Opens a call's share of the quotas, as the answer for nodes does. */
  readonly enter: (call: ActionCall) => () => void;
  /** The cloud's own answer for nodes. */
  readonly instances: AskInstances;
  /** Milliseconds since the epoch. */
  readonly wallClock: () => number;
}

/** The capability `loadBalancers`: load balancers and network load balancers, with the security groups that are managed for them. */
export function createLoadBalancers({
  config,
  cluster,
  apis,
  enter,
  instances,
  wallClock,
}: LoadBalancerWorld): ClosableCapability {
  const calls = createCapabilityCalls({ title: "OCI", enter });
  return {
    async observe(questions, call) {
      let found = NO_CLOUD_USAGE;
      const { answers, usage } = await calls.observe(questions, call, async (turn) => {
        const observing: Observing = {
          ...{ cluster, wallClock, compartments: compartmentsOf(config), vcn: config.vcn },
          managesGroups: config.loadBalancer?.securityListManagementMode !== "None",
          reads: readsOf(apis, turn),
        };
        // That is of the cluster as a whole, and asked alone.
        const [ofAll] = questions.flatMap((each) => HoldingsQuestion.safeParse(each).data ?? []);
        if (ofAll !== undefined) {
          const { auditAt } = ofAll;
          const held =
            auditAt === undefined
              ? observationOf(await observeHoldings(observing))
              : await observeOrphans(observing, auditAt, config.loadBalancerPrefix);
          return questions.map(() => held);
        }
        const sought = questions.map((each) => soughtBy(each, config));
        const known = sought.filter((each) => each !== undefined);
        const targets = await findAddresses(known, instances, call);
        found = targets.usage;
        return observeLoadBalancers(sought, targets.addresses, observing);
      });
      return { answers, usage: addUsage(found, usage) };
    },
    act: (action, call) => calls.act(action, call, (turn) => actOnOci(action, apis, turn)),
    // Connections are the cloud's.
    close() {},
  };
}
