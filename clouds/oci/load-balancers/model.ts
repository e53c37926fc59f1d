import { getLoadBalancerKind } from "#clouds/oci/load-balancers/annotations/read-annotations.ts";
import { applyResult } from "#clouds/oci/load-balancers/apply-result.ts";
import { getConfiguration } from "#clouds/oci/load-balancers/configuration.ts";
import { describeDesired } from "#clouds/oci/load-balancers/desired-hash.ts";
import { readDesiredState } from "#clouds/oci/load-balancers/desired-state/desired-state.ts";
import { followNodesOnOci } from "#clouds/oci/load-balancers/follow-nodes.ts";
import { ociOrphanModel } from "#clouds/oci/load-balancers/orphans/model.ts";
import { plan } from "#clouds/oci/load-balancers/plan.ts";
import type { OciState } from "#clouds/oci/load-balancers/state.ts";
import { isOfCluster } from "#clouds/oci/load-balancers/tags.ts";
import { selectBackends, selectTarget } from "#clouds/oci/load-balancers/targets.ts";
import { toIssue } from "#clouds/oci/load-balancers/to-issue.ts";
import type { LoadBalancerModel } from "#core/service/model.ts";

/**
 * The load balancer model of OCI: load balancers and network load balancers, created as the stock controller
 * does.
 */
export const ociLoadBalancerModel: LoadBalancerModel = {
  precheck({ service, wanted }, settings) {
    // Classes belong to other controllers, and so does everything if load balancers are disabled.
    const isOff = getConfiguration(settings).loadBalancer?.disabled === true;
    if (service.spec.loadBalancerClass !== undefined || isOff) return { kind: "elsewhere" };
    if (!wanted) return undefined;
    const read = readDesiredState(service, settings);
    return read.kind === "refused" ? read : undefined;
  },
  // The observation comes from our own capability, which has parsed OCI's answers.
  planStep: (question, observed, settings) => plan(question, observed as OciState, settings),
  isVisible(question, observed, { cluster }) {
    const kind = getLoadBalancerKind(question.service.metadata.annotations);
    const { found } = observed as OciState;
    return found.some(
      (each) => each.kind === kind && isOfCluster(each.balancer.freeformTags ?? undefined, cluster),
    );
  },
  followNodes: followNodesOnOci,
  listLostTargets(question, observed) {
    const { found, addresses } = observed as OciState;
    const { IPv4 = [], IPv6 = [] } = selectBackends(question, addresses);
    const desiredAddresses: ReadonlySet<unknown> = new Set([...IPv4, ...IPv6]);
    const backends = found.flatMap(({ balancer }) =>
      Object.values(balancer.backendSets ?? {}).flatMap((set) => set.backends ?? []),
    );
    // OCI identifies a backend by its address; its node is unknown.
    return backends.some(({ ipAddress }) => !desiredAddresses.has(ipAddress)) ? [undefined] : [];
  },
  applyResult: (observed, action, result) => applyResult(observed as OciState, action, result),
  toIssue: toIssue,
  // A load balancer that could not be created never served anyone: its group is removed again.
  needsRollback: ({ action }, observed) =>
    action.endsWith(":CreateLoadBalancer") && (observed as OciState).found.length === 0,
  describeDesired: describeDesired,
  orphans: ociOrphanModel,
  getTarget: selectTarget,
};
