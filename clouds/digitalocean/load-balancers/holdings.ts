import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import { listOrphanMarks, parseServiceTag } from "#clouds/digitalocean/load-balancers/orphans/tags.ts";
import {
  getServiceUid,
  isOfClusterAlone,
  type Owner,
} from "#clouds/digitalocean/load-balancers/ownership.ts";
import { listLoadBalancers } from "#clouds/digitalocean/load-balancers/requests.ts";
import type { DigitalOceanState } from "#clouds/digitalocean/load-balancers/state.ts";
import type { Api } from "#clouds/http/api.ts";
import type { CallContext } from "#clouds/http/call-context.ts";
import { buildInvalid, toFailure } from "#clouds/observation.ts";
import type { Observation } from "#core/capability.ts";
import type { Holding, HoldingsQuestion, HoldingsState } from "#core/service/holdings.ts";
import { selectOldestMark } from "#core/service/orphans/mark.ts";

/**
 * Lists all load balancers with the cluster's tag, each with its Service if a tag names it; for an audit,
 * with the fields that it reads.
 */
export async function observeHoldings(
  { auditAt }: HoldingsQuestion,
  owner: Owner,
  api: Api,
  callContext: CallContext,
): Promise<Observation> {
  if (owner.clusterID === undefined) return NO_CLUSTER_ID;
  const list = await listLoadBalancers(api, callContext);
  if (list.kind === "fault") return toFailure(list.fault);
  const clusterBalancers = list.value.filter((balancer) => isOfClusterAlone(balancer, owner));
  const holdings = clusterBalancers.map((balancer) => buildHolding(balancer, auditAt !== undefined));
  const oldest = auditAt === undefined ? undefined : selectOldestMark(holdings, Date.parse(auditAt));
  const balancers = clusterBalancers.filter(({ id }) => id === oldest?.id);
  const removableState: DigitalOceanState = { balancers, targets: [], certificates: [] };
  const removable = oldest === undefined ? {} : { removable: { id: oldest.id, state: removableState } };
  return { kind: "observed", state: { holdings, ...removable } satisfies HoldingsState };
}

function buildHolding(balancer: LoadBalancer, isAudit: boolean): Holding {
  const { id, name } = balancer;
  const service = parseServiceTag(balancer);
  const uid = isAudit ? getServiceUid(balancer) : undefined;
  const mark = isAudit ? listOrphanMarks(balancer).at(-1) : undefined;
  return {
    ...{ kind: "load balancer", id, name },
    ...(service === undefined ? {} : { service }),
    ...(uid === undefined ? {} : { uid }),
    ...(mark === undefined ? {} : { mark: mark.text }),
  };
}

const NO_CLUSTER_ID = buildInvalid(
  "without clusterID no load balancer of the account can be assigned to the cluster",
);
