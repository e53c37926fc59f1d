import { GROUP, KINDS } from "#clouds/oci/load-balancers/names.ts";
import { plan } from "#clouds/oci/load-balancers/plan.ts";
import type { OciState } from "#clouds/oci/load-balancers/state.ts";
import { isOfCluster, ORPHANED_TAG, SERVICE_TAG } from "#clouds/oci/load-balancers/tags.ts";
import type { Holding } from "#core/service/holdings.ts";
import type { LoadBalancerAction, LoadBalancerStep, OrphanModel } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/**
 * Marks and removes orphans on OCI: only resources that carry the tags of the cluster and of that very
 * Service.
 */
export const ociOrphanModel: OrphanModel = {
  mark: ({ kind, id }, text) => buildMark(kind, id, text),
  unmark: ({ kind, id }) => buildMark(kind, id),
  planStep(holding, observed, settings) {
    // The observation comes from our own capability, which has parsed OCI's answers.
    const state = observed as OciState;
    const hasTags = ({ freeformTags: tags }: { readonly freeformTags?: Tags }): boolean =>
      isOfCluster(tags ?? undefined, settings.cluster) && tags?.[SERVICE_TAG] === holding.service;
    const found = state.found.filter(({ balancer }) => hasTags(balancer));
    const groups = state.groups.filter(({ group }) => hasTags(group));
    // A group with an existing load balancer is in use; without one the group is a separate holding.
    const isElsewhere =
      holding.isPart === true ? found.length > 0 : !found.some(({ balancer }) => balancer.id === holding.id);
    if (isElsewhere && state.isOrdered !== true) return NOTHING_LEFT;
    const question = { service: buildOrphanedService(holding), wanted: false, nodes: [] };
    const step = plan(question, { ...state, found, groups }, settings);
    if (step.kind !== "act" || holding.isPart === true || holding.mark === undefined) return step;
    // The group outlives the load balancer: the same mark keeps its deletion time.
    const { mark } = holding;
    const unmarked = groups.filter(({ group }) => group.freeformTags?.[ORPHANED_TAG] !== mark);
    const [first, ...more] = [
      ...unmarked.map(({ group }) => buildMark(GROUP, group.id, mark)),
      ...step.actions,
    ];
    return first === undefined ? step : { ...step, actions: [first, ...more] };
  },
};

type Tags = Readonly<Record<string, string>> | null | undefined;

const NOTHING_LEFT: LoadBalancerStep = { kind: "settled", ingress: [], warnings: [] };

function buildMark(kind: string, target: string, text?: string): LoadBalancerAction {
  const parameters = text === undefined ? {} : { orphaned: text };
  if (kind === GROUP) return { action: "vcn:MarkNetworkSecurityGroup", target, parameters };
  return { action: `${kind === KINDS.nlb ? "nlb" : "lb"}:MarkLoadBalancer`, target, parameters };
}

const UID = /(?:^|[-/])([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})$/;

/**
 * Returns the uid in the name of a load balancer or group, without dashes; undefined if the name holds none.
 */
export function parseUid(name: string): string | undefined {
  return UID.exec(name)?.[1]?.replaceAll("-", "");
}

/** Builds a Service that no longer exists from its remains. */
export function buildOrphanedService({ service = "", uid = "" }: Pick<Holding, "service" | "uid">): Service {
  const [namespace = "", name = ""] = service.split("/");
  return {
    metadata: {
      ...{ namespace, name, uid: uid.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5") },
      resourceVersion: "0",
      creationTimestamp: new Date(0).toISOString(),
    },
    spec: {},
  };
}
