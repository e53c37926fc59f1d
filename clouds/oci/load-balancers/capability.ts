import { createMeter } from "#clouds/http/meter.ts";
import type { ClosableCapability } from "#clouds/loaded-capability.ts";
import type { OciApis } from "#clouds/oci/api.ts";
import { compartmentsOf, type OciCloudConfig } from "#clouds/oci/kind.ts";
import { actOnOci } from "#clouds/oci/load-balancers/act.ts";
import { type AskInstances, findAddresses } from "#clouds/oci/load-balancers/observe/addresses.ts";
import { observeHoldings } from "#clouds/oci/load-balancers/observe/holdings.ts";
import {
  type Observing,
  observationOf,
  observeLoadBalancers,
} from "#clouds/oci/load-balancers/observe/observe.ts";
import { readsOf } from "#clouds/oci/load-balancers/observe/reads.ts";
import { soughtBy } from "#clouds/oci/load-balancers/observe/sought.ts";
import type { Observation } from "#core/capability.ts";
import { messageOf } from "#core/message-of.ts";
import { HoldingsQuestion } from "#core/service/holdings.ts";
import { addUsage } from "#core/usage.ts";

/** What load balancers of a cluster are observed and changed with. */
export interface LoadBalancerWorld {
  readonly config: OciCloudConfig;
  /** The cluster's name, which tags say. */
  readonly cluster: string;
  readonly apis: OciApis;
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
  instances,
  wallClock,
}: LoadBalancerWorld): ClosableCapability {
  return {
    async observe(questions, call) {
      const meter = createMeter(call.onRequest);
      if (questions.length === 0) return { answers: [], usage: meter.usage() };
      if (call.signal.aborted) return { answers: questions.map(() => ABORTED), usage: meter.usage() };
      const observing: Observing = {
        ...{ cluster, wallClock, compartments: compartmentsOf(config), vcn: config.vcn },
        reads: readsOf(apis, { signal: call.signal, meter }),
      };
      try {
        // That is of the cluster as a whole, and asked alone.
        if (questions.every((each) => HoldingsQuestion.safeParse(each).success)) {
          const held = await entered(call.share, async () => observationOf(await observeHoldings(observing)));
          return { answers: questions.map(() => held), usage: meter.usage() };
        }
        const sought = questions.map((each) => soughtBy(each, config));
        const found = await findAddresses(
          sought.filter((each) => each !== undefined),
          instances,
          call,
        );
        const answers = await entered(call.share, () =>
          observeLoadBalancers(sought, found.addresses, observing),
        );
        return { answers, usage: addUsage(found.usage, meter.usage()) };
      } catch (error) {
        // Nothing is known to come here; but the contract is that nobody's batch rejects.
        const failed: Observation = {
          kind: "error",
          code: "Unavailable",
          message: `loadBalancers: ${messageOf(error)}`,
        };
        return { answers: questions.map(() => failed), usage: meter.usage() };
      }
    },
    async act(action, { signal, share, onRequest }) {
      const meter = createMeter(onRequest);
      if (signal.aborted) return { answer: ABORTED, usage: meter.usage() };
      return entered(share, () => actOnOci(action, apis, { signal, meter }));
    },
    // Connections are the cloud's.
    close() {},
  };

  async function entered<Value>(share: number, work: () => Promise<Value>): Promise<Value> {
    const leave = apis.enter(share);
    try {
      return await work();
    } finally {
      leave();
    }
  }
}

const ABORTED = { kind: "error", code: "Aborted", message: "aborted before OCI was asked" } as const;
