import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import { isOfClusterAlone } from "#clouds/digitalocean/load-balancers/belonging.ts";
import { configurationOf } from "#clouds/digitalocean/load-balancers/configuration.ts";
import { orphanMarksOf, orphanTagOf, serviceOf } from "#clouds/digitalocean/load-balancers/orphans/tags.ts";
import type { DigitalOceanState } from "#clouds/digitalocean/load-balancers/state.ts";
import type { LoadBalancerAction, LoadBalancerStep, OrphanModel } from "#core/service/model.ts";

/** How what is orphaned on DigitalOcean is marked, and goes: only ever what carries the tags of the cluster and of that very Service. */
export const orphanModel: OrphanModel = {
  mark: ({ id, mark }, text) => ({
    action: "TagLoadBalancer",
    target: id,
    parameters: {
      tag: orphanTagOf(id, text),
      ...(mark === undefined ? {} : { instead: orphanTagOf(id, mark) }),
    },
  }),
  unmark: ({ id, mark = "" }) => unmarking(orphanTagOf(id, mark)),
  next({ id, service }, observed, settings) {
    // The observation is our own capability's, which has parsed what the API answered.
    const { balancers } = observed as DigitalOceanState;
    const balancer = balancers.find((each) => each.id === id);
    const isIts = balancer !== undefined && isOfClusterAlone(balancer, configurationOf(settings));
    if (!isIts || serviceOf(balancer) !== service) return { kind: "settled", ingress: [], warnings: [] };
    const because = { code: "DeleteLoadBalancer", message: `${balancer.name} (${id})` };
    // Without its mark it is found once more, and waits anew, if this is cut short in between; its tag would be left for good.
    const marks = orphanMarksOf(balancer).map(({ tag }) => ({
      ...{ action: "DeleteTag", target: tag, parameters: {} },
    }));
    const deletion = { action: "DeleteLoadBalancer", target: id, parameters: {} };
    const [first = deletion, ...more] = [...marks, deletion];
    return { kind: "act", because, actions: [first, ...more] };
  },
};

/** Takes off what an audit has marked, as the load balancer is a living Service's; undefined where nothing is. */
export function unmarked(balancer: LoadBalancer): LoadBalancerStep | undefined {
  const [first, ...more] = orphanMarksOf(balancer).map(({ tag }) => unmarking(tag));
  if (first === undefined) return undefined;
  const because = { code: "UnmarkLoadBalancer", message: `${balancer.id} is no orphan` };
  return { kind: "act", because, actions: [first, ...more] };
}

/** The same as a mark's deletion, by a name that a stop of deletions lets through: it calls one off. */
function unmarking(tag: string): LoadBalancerAction {
  return { action: "UnmarkLoadBalancer", target: tag, parameters: {} };
}
