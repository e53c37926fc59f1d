import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import {
  formatOrphanTag,
  listOrphanMarks,
  parseServiceTag,
} from "#clouds/digitalocean/load-balancers/orphans/tags.ts";
import { isOfClusterAlone } from "#clouds/digitalocean/load-balancers/ownership.ts";
import { type DigitalOceanState, getConfiguration } from "#clouds/digitalocean/load-balancers/state.ts";
import type { LoadBalancerAction, LoadBalancerStep, OrphanModel } from "#core/service/model.ts";

/**
 * Marks and removes orphans on DigitalOcean: only load balancers that carry the tags of the cluster and of
 * that very Service.
 */
export const orphanModel: OrphanModel = {
  mark: ({ id, mark }, text) => ({
    action: "TagLoadBalancer",
    target: id,
    parameters: {
      tag: formatOrphanTag(id, text),
      ...(mark === undefined ? {} : { instead: formatOrphanTag(id, mark) }),
    },
  }),
  unmark: ({ id, mark = "" }) => buildUnmark(formatOrphanTag(id, mark)),
  planStep({ id, service }, observed, settings) {
    // The observation comes from our own capability, which has parsed the API's answers.
    const { balancers } = observed as DigitalOceanState;
    const balancer = balancers.find((each) => each.id === id);
    const isIts = balancer !== undefined && isOfClusterAlone(balancer, getConfiguration(settings));
    if (!isIts || parseServiceTag(balancer) !== service)
      return { kind: "settled", ingress: [], warnings: [] };
    const because = { code: "DeleteLoadBalancer", message: `${balancer.name} (${id})` };
    // The mark is deleted first. If the removal is interrupted then, the next audit finds the orphan and
    // waits again; otherwise its tag would stay forever.
    const marks = listOrphanMarks(balancer).map(({ tag }) => ({
      ...{ action: "DeleteTag", target: tag, parameters: {} },
    }));
    const deletion = { action: "DeleteLoadBalancer", target: id, parameters: {} };
    const [first = deletion, ...more] = [...marks, deletion];
    return { kind: "act", because, actions: [first, ...more] };
  },
};

/** Removes an audit's mark from the load balancer of an existing Service; undefined without a mark. */
export function planUnmark(balancer: LoadBalancer): LoadBalancerStep | undefined {
  const [first, ...more] = listOrphanMarks(balancer).map(({ tag }) => buildUnmark(tag));
  if (first === undefined) return undefined;
  const because = { code: "UnmarkLoadBalancer", message: `${balancer.id} is not an orphan` };
  return { kind: "act", because, actions: [first, ...more] };
}

/**
 * Like the deletion of a mark, but under a name that is allowed while deletions are stopped: it cancels one.
 */
function buildUnmark(tag: string): LoadBalancerAction {
  return { action: "UnmarkLoadBalancer", target: tag, parameters: {} };
}
