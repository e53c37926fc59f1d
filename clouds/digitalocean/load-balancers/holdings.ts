import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import { isOfClusterAlone, type Owner, uidOf } from "#clouds/digitalocean/load-balancers/belonging.ts";
import { orphanMarksOf, serviceOf } from "#clouds/digitalocean/load-balancers/orphans/tags.ts";
import { listLoadBalancers } from "#clouds/digitalocean/load-balancers/requests.ts";
import type { DigitalOceanState } from "#clouds/digitalocean/load-balancers/state.ts";
import type { Api, Turn } from "#clouds/http/api.ts";
import { failureOf, invalid } from "#clouds/observation.ts";
import type { Observation } from "#core/capability.ts";
import type { Holding, HoldingsQuestion, HoldingsState } from "#core/service/holdings.ts";
import { inTurn } from "#core/service/orphans/mark.ts";

/** All load balancers that carry the cluster's tag, each with the Service it was made for, where a tag says so; of an audit what it reads of them. */
export async function observeHoldings(
  { auditAt }: HoldingsQuestion,
  owner: Owner,
  api: Api,
  turn: Turn,
): Promise<Observation> {
  if (owner.clusterID === undefined) return UNKNOWN;
  const list = await listLoadBalancers(api, turn);
  if (list.kind === "fault") return failureOf(list.fault);
  const own = list.value.filter((balancer) => isOfClusterAlone(balancer, owner));
  const holdings = own.map((balancer) => holdingOf(balancer, auditAt !== undefined));
  const next = auditAt === undefined ? undefined : inTurn(holdings, Date.parse(auditAt));
  const balancers = own.filter(({ id }) => id === next?.id);
  const removed: DigitalOceanState = { balancers, targets: [], certificates: [] };
  const removable = next === undefined ? {} : { removable: { id: next.id, state: removed } };
  return { kind: "observed", state: { holdings, ...removable } satisfies HoldingsState };
}

function holdingOf(balancer: LoadBalancer, isAudit: boolean): Holding {
  const { id, name } = balancer;
  const service = serviceOf(balancer);
  const uid = isAudit ? uidOf(balancer) : undefined;
  const mark = isAudit ? orphanMarksOf(balancer).at(-1) : undefined;
  return {
    ...{ kind: "load balancer", id, name },
    ...(service === undefined ? {} : { service }),
    ...(uid === undefined ? {} : { uid }),
    ...(mark === undefined ? {} : { mark: mark.text }),
  };
}

const UNKNOWN = invalid("without clusterID no load balancer of the account can be told to be the cluster's");
