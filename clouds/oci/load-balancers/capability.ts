import type { ActionCall } from "#clouds/cloud.ts";
import { createCapabilityCalls } from "#clouds/http/capability-calls.ts";
import type { ClosableCapability } from "#clouds/lazy-capability.ts";
import { toObservation } from "#clouds/observation.ts";
import type { OciApis } from "#clouds/oci/api.ts";
import { listCompartments, type OciCloudConfig } from "#clouds/oci/config.ts";
import { actOnOci } from "#clouds/oci/load-balancers/act.ts";
import { findAddresses, type ReadInstances } from "#clouds/oci/load-balancers/observe/addresses.ts";
import { observeHoldings } from "#clouds/oci/load-balancers/observe/holdings.ts";
import { observeLoadBalancers } from "#clouds/oci/load-balancers/observe/observe.ts";
import { createReads } from "#clouds/oci/load-balancers/observe/reads.ts";
import { type ObserveContext, parseServiceQuery } from "#clouds/oci/load-balancers/observe/service-query.ts";
import { observeOrphans } from "#clouds/oci/load-balancers/orphans/observe-orphans.ts";
import { HoldingsQuestion } from "#core/service/holdings.ts";
import { addUsage, NO_CLOUD_USAGE } from "#core/usage.ts";

/** Dependencies for context and changing a cluster's load balancers. */
export interface LoadBalancerDependencies {
  readonly config: OciCloudConfig;
  /** The cluster's name, which tags contain. */
  readonly cluster: string;
  readonly apis: OciApis;
  /** Opens a call's share of the quotas, as instance requests do. */
  readonly enter: (call: ActionCall) => () => void;
  /** The cloud's own instance requests. */
  readonly instances: ReadInstances;
  /** Milliseconds since the epoch. */
  readonly wallClock: () => number;
}

/**
 * Creates the capability `loadBalancers`: load balancers and network load balancers, with their managed
 * security groups.
 */
export function createLoadBalancers({
  config,
  cluster,
  apis,
  enter,
  instances,
  wallClock,
}: LoadBalancerDependencies): ClosableCapability {
  const calls = createCapabilityCalls({ title: "OCI", enter });
  return {
    async observe(questions, call) {
      let targetUsage = NO_CLOUD_USAGE;
      const { answers, usage } = await calls.observe(questions, call, async (callContext) => {
        const context: ObserveContext = {
          ...{ cluster, wallClock, compartments: listCompartments(config), vcn: config.vcn },
          managesGroups: config.loadBalancer?.securityListManagementMode !== "None",
          reads: createReads(apis, callContext),
        };
        // This question is about the whole cluster and comes alone.
        const [ofAll] = questions.flatMap((each) => HoldingsQuestion.safeParse(each).data ?? []);
        if (ofAll !== undefined) {
          const { auditAt } = ofAll;
          const held =
            auditAt === undefined
              ? toObservation(await observeHoldings(context))
              : await observeOrphans(context, auditAt, config.loadBalancerPrefix);
          return questions.map(() => held);
        }
        const queries = questions.map((each) => parseServiceQuery(each, config));
        const validQueries = queries.filter((each) => each !== undefined);
        const targets = await findAddresses(validQueries, instances, call);
        targetUsage = targets.usage;
        return observeLoadBalancers(queries, targets.addresses, context);
      });
      return { answers, usage: addUsage(targetUsage, usage) };
    },
    act: (action, call) => calls.act(action, call, (callContext) => actOnOci(action, apis, callContext)),
    // It uses the connections of its cloud.
    close() {},
  };
}
