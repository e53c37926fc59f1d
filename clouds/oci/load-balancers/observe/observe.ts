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
  sought: readonly (ServiceQuery | undefined)[],
  addresses: Outcome<Readonly<Record<string, InstanceAddresses>>>,
  observing: ObserveContext,
): Promise<readonly Observation[]> {
  const answers = new Map<ServiceQuery, Observation>();
  const waiting = sought.filter((each) => each !== undefined);
  const services = waiting.length;
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      answers.set(next, toObservation(await readState(next, services, addresses, observing)));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return sought.map((each) => (each === undefined ? NAMELESS : (answers.get(each) ?? UNANSWERED)));
}

async function readState(
  sought: ServiceQuery,
  services: number,
  addresses: Outcome<Readonly<Record<string, InstanceAddresses>>>,
  observing: ObserveContext,
): Promise<Outcome<OciState>> {
  if (addresses.kind === "fault" && sought.instances.length > 0) return addresses;
  const known = addresses.kind === "ok" ? addresses.value : {};
  const own = sought.instances.flatMap((id) => (known[id] === undefined ? [] : [[id, known[id]] as const]));
  const balancers = await findBalancers(sought, services, observing);
  if (balancers.kind === "fault") return balancers;
  const isMade = balancers.value.found.length > 0;
  const seen = { ...balancers.value, addresses: Object.fromEntries(own) };
  // No change of its groups and rules is known.
  if (sought.onlyTargets && isMade) return ok({ ...seen, groups: [], named: {}, subnets: {} });
  const network = await observeNetwork(sought, balancers.value.found, observing);
  return network.kind === "fault" ? network : ok({ ...seen, ...network.value });
}

const NAMELESS: Observation = {
  kind: "error",
  code: "Invalid",
  message: "no question about a Service, or its uid holds something that no load balancer's name may hold",
};

const UNANSWERED: Observation = { kind: "error", code: "Unavailable", message: "OCI: no answer" };
