import type { Outcome } from "#clouds/http/outcome.ts";
import { observationOf } from "#clouds/observation.ts";
import { findBalancers } from "#clouds/oci/load-balancers/observe/balancers.ts";
import { lookAtNetwork } from "#clouds/oci/load-balancers/observe/network.ts";
import type { Reads } from "#clouds/oci/load-balancers/observe/reads.ts";
import type { Sought } from "#clouds/oci/load-balancers/observe/sought.ts";
import type { InstanceAddresses, OciState } from "#clouds/oci/load-balancers/state.ts";
import { ok } from "#clouds/outcome.ts";
import type { Observation } from "#core/capability.ts";

/** What an observation is made with. */
export interface Observing {
  readonly cluster: string;
  readonly compartments: readonly string[];
  readonly vcn: string | undefined;
  /** Whether Services that say nothing have managed groups; false where the configured mode is `None`. */
  readonly managesGroups: boolean;
  readonly reads: Reads;
  /** Milliseconds since the epoch. */
  readonly wallClock: () => number;
}

/** Services whose own details are looked at side by side. */
const AT_ONCE = 4;

/** What there is of the load balancers of some Services; undefined is a Service that none can be called after. */
export async function observeLoadBalancers(
  sought: readonly (Sought | undefined)[],
  addresses: Outcome<Readonly<Record<string, InstanceAddresses>>>,
  observing: Observing,
): Promise<readonly Observation[]> {
  const answers = new Map<Sought, Observation>();
  const waiting = sought.filter((each) => each !== undefined);
  const services = waiting.length;
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      answers.set(next, observationOf(await stateOf(next, services, addresses, observing)));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return sought.map((each) => (each === undefined ? NAMELESS : (answers.get(each) ?? UNANSWERED)));
}

async function stateOf(
  sought: Sought,
  services: number,
  addresses: Outcome<Readonly<Record<string, InstanceAddresses>>>,
  observing: Observing,
): Promise<Outcome<OciState>> {
  if (addresses.kind === "fault" && sought.instances.length > 0) return addresses;
  const known = addresses.kind === "ok" ? addresses.value : {};
  const own = sought.instances.flatMap((id) => (known[id] === undefined ? [] : [[id, known[id]] as const]));
  const balancers = await findBalancers(sought, services, observing);
  if (balancers.kind === "fault") return balancers;
  const isMade = balancers.value.found.length > 0;
  const seen = { ...balancers.value, addresses: Object.fromEntries(own) };
  // Of its groups and rules nothing has changed, as far as anybody knows.
  if (sought.onlyTargets && isMade) return ok({ ...seen, groups: [], named: {}, subnets: {} });
  const network = await lookAtNetwork(sought, balancers.value.found, observing);
  return network.kind === "fault" ? network : ok({ ...seen, ...network.value });
}

const NAMELESS: Observation = {
  kind: "error",
  code: "Invalid",
  message: "no question about a Service, or its uid holds something that no load balancer's name may hold",
};

const UNANSWERED: Observation = { kind: "error", code: "Unavailable", message: "OCI: no answer" };
