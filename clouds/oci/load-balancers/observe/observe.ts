import type { Outcome } from "#clouds/http/outcome.ts";
import { toObservation } from "#clouds/observation.ts";
import { findBalancers } from "#clouds/oci/load-balancers/observe/balancers.ts";
import { observeNetwork } from "#clouds/oci/load-balancers/observe/network.ts";
import type { ObserveContext, ServiceQuery } from "#clouds/oci/load-balancers/observe/service-query.ts";
import type { InstanceAddresses, OciState } from "#clouds/oci/load-balancers/state.ts";
import { ok } from "#clouds/outcome.ts";
import type { Observation } from "#core/capability.ts";

/** Services whose details are read in parallel. */
const AT_ONCE = 4;

/** Observes the load balancers of Services; undefined for a Service whose uid gives no valid name. */
export async function observeLoadBalancers(
  queries: readonly (ServiceQuery | undefined)[],
  addresses: Outcome<Readonly<Record<string, InstanceAddresses>>>,
  context: ObserveContext,
): Promise<readonly Observation[]> {
  const answers = new Map<ServiceQuery, Observation>();
  const waiting = queries.filter((each) => each !== undefined);
  const services = waiting.length;
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      answers.set(next, toObservation(await readState(next, services, addresses, context)));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return queries.map((each) => (each === undefined ? INVALID_QUESTION : (answers.get(each) ?? UNANSWERED)));
}

async function readState(
  query: ServiceQuery,
  services: number,
  addresses: Outcome<Readonly<Record<string, InstanceAddresses>>>,
  context: ObserveContext,
): Promise<Outcome<OciState>> {
  if (addresses.kind === "fault" && query.instances.length > 0) return addresses;
  const allAddresses = addresses.kind === "ok" ? addresses.value : {};
  const ownAddresses = query.instances.flatMap((id) =>
    allAddresses[id] === undefined ? [] : [[id, allAddresses[id]] as const],
  );
  const balancers = await findBalancers(query, services, context);
  if (balancers.kind === "fault") return balancers;
  const hasLoadBalancer = balancers.value.found.length > 0;
  const state = { ...balancers.value, addresses: Object.fromEntries(ownAddresses) };
  // No change of its groups and rules is known.
  if (query.onlyTargets && hasLoadBalancer) return ok({ ...state, groups: [], named: {}, subnets: {} });
  const network = await observeNetwork(query, balancers.value.found, context);
  return network.kind === "fault" ? network : ok({ ...state, ...network.value });
}

const INVALID_QUESTION: Observation = {
  kind: "error",
  code: "Invalid",
  message: "no question about a Service, or its uid holds something that no load balancer's name may hold",
};

const UNANSWERED: Observation = { kind: "error", code: "Unavailable", message: "OCI: no answer" };
