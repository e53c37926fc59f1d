import { isInPlace, isTagged, type Owner } from "#clouds/digitalocean/load-balancers/belonging.ts";
import { listLoadBalancers } from "#clouds/digitalocean/load-balancers/requests.ts";
import type { Api, Turn } from "#clouds/http/api.ts";
import { failureOf, invalid } from "#clouds/observation.ts";
import type { Observation } from "#core/capability.ts";
import type { HoldingsState } from "#core/service/holdings.ts";

/** All load balancers that carry the cluster's tag; which Service they are of nothing on them tells. */
export async function observeHoldings(owner: Owner, api: Api, turn: Turn): Promise<Observation> {
  if (owner.clusterID === undefined) return UNKNOWN;
  const list = await listLoadBalancers(api, turn);
  if (list.kind === "fault") return failureOf(list.fault);
  const own = list.value.filter((balancer) => isInPlace(balancer, owner) && isTagged(balancer, owner));
  const state: HoldingsState = {
    holdings: own.map(({ id, name }) => ({ kind: "load balancer", id, name })),
  };
  return { kind: "observed", state };
}

const UNKNOWN = invalid("without clusterID no load balancer of the account can be told to be the cluster's");
