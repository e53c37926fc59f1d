import { kindOf } from "#clouds/oci/load-balancers/annotations/read-annotations.ts";
import { configurationOf } from "#clouds/oci/load-balancers/configuration.ts";
import { desiredOf } from "#clouds/oci/load-balancers/desired.ts";
import { foldAction } from "#clouds/oci/load-balancers/fold.ts";
import { followNodesOnOci } from "#clouds/oci/load-balancers/follow-nodes.ts";
import { ociOrphanModel } from "#clouds/oci/load-balancers/orphans/model.ts";
import { plan } from "#clouds/oci/load-balancers/plan.ts";
import { problemOf } from "#clouds/oci/load-balancers/problem-of.ts";
import type { OciState } from "#clouds/oci/load-balancers/state.ts";
import { isOfCluster } from "#clouds/oci/load-balancers/tags.ts";
import { backendsOf, targetOfService } from "#clouds/oci/load-balancers/targets.ts";
import { readWanted } from "#clouds/oci/load-balancers/wanted/wanted.ts";
import type { LoadBalancerModel } from "#core/service/model.ts";

/** What load balancers are on OCI: load balancers and network load balancers, as the stock controller makes them. */
export const ociLoadBalancerModel: LoadBalancerModel = {
  before({ service, wanted }, settings) {
    // Classes are other controllers', and so is everything where load balancers are switched off.
    const isOff = configurationOf(settings).loadBalancer?.disabled === true;
    if (service.spec.loadBalancerClass !== undefined || isOff) return { kind: "elsewhere" };
    if (!wanted) return undefined;
    const read = readWanted(service, settings);
    return read.kind === "refused" ? read : undefined;
  },
  // The observation is our own capability's, which has parsed what OCI answered.
  next: (question, observed, settings) => plan(question, observed as OciState, settings),
  shows(question, observed, { cluster }) {
    const kind = kindOf(question.service.metadata.annotations);
    const { found } = observed as OciState;
    return found.some(
      (seen) => seen.kind === kind && isOfCluster(seen.balancer.freeformTags ?? undefined, cluster),
    );
  },
  followNodes: followNodesOnOci,
  lostTargets(question, observed) {
    const { found, addresses } = observed as OciState;
    const { IPv4 = [], IPv6 = [] } = backendsOf(question, addresses);
    const wanted: ReadonlySet<unknown> = new Set([...IPv4, ...IPv6]);
    const backends = found.flatMap(({ balancer }) =>
      Object.values(balancer.backendSets ?? {}).flatMap((set) => set.backends ?? []),
    );
    // OCI knows a backend by its address: which node had it is not told.
    return backends.some(({ ipAddress }) => !wanted.has(ipAddress)) ? [undefined] : [];
  },
  fold: (observed, action, result) => foldAction(observed as OciState, action, result),
  problemOf,
  // Nobody was served by a load balancer that could not be made: the group that was made for it goes again.
  undoes: ({ action }, observed) =>
    action.endsWith(":CreateLoadBalancer") && (observed as OciState).found.length === 0,
  desired: desiredOf,
  orphans: ociOrphanModel,
  targetOf: targetOfService,
};
