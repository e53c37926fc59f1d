import { annotationOf, readerOf } from "#clouds/oci/load-balancers/annotations/table.ts";
import { backendKey, newBackend } from "#clouds/oci/load-balancers/bodies.ts";
import { action } from "#clouds/oci/load-balancers/changes.ts";
import { configurationOf } from "#clouds/oci/load-balancers/configuration.ts";
import { busyWith, isOurs, wait } from "#clouds/oci/load-balancers/standing.ts";
import type { BackendSet, OciState, SeenBalancer } from "#clouds/oci/load-balancers/state.ts";
import { backendsOf } from "#clouds/oci/load-balancers/targets.ts";
import { familiesOf } from "#clouds/oci/load-balancers/wanted/families.ts";
import { readPorts, type WantedPort } from "#clouds/oci/load-balancers/wanted/ports.ts";
import type { LoadBalancerModel } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/**
 * Returns the change by which the next backend set comes to hold the nodes while something else of the Service is refused; policy, health
 * check and all other settings of the set stay as OCI shows them. OCI takes one change at a time, and is waited for in between. Undefined
 * where no load balancer can be told to be the Service's, where its label selector cannot be read, and where no node has an address.
 */
export const followNodesOnOci: NonNullable<LoadBalancerModel["followNodes"]> = (
  question,
  observed,
  settings,
) => {
  // The observation is our own capability's, which has parsed what OCI answered.
  const state = observed as OciState;
  const { service } = question;
  const whose = { service, configuration: configurationOf(settings), cluster: settings.cluster };
  if (state.several !== undefined) return undefined;
  if (state.isOrdered === true) return wait("Ordered", "OCI is at what was ordered");
  const [seen, ...others] = state.found.filter(({ balancer }) => isOurs(balancer, whose));
  if (seen === undefined || others.length > 0 || !hasReadableSelector(seen, service)) return undefined;
  const busy = busyWith(seen);
  if (busy !== undefined) return busy;
  if (seen.failure !== undefined) return undefined;
  const families = familiesOf(seen.kind, service);
  const ports = families === undefined ? undefined : readPorts(seen.kind, service, {}, families);
  if (ports?.kind !== "read") return undefined;
  const addresses = backendsOf(question, state.addresses);
  const served = ports.ports.flatMap((port) => {
    const set = seen.balancer.backendSets?.[port.backendSet];
    // A backend set is never emptied.
    return set === undefined || addresses[port.family].length === 0 ? [] : [{ port, set }];
  });
  if (served.length === 0) return undefined;
  for (const { port, set } of served) {
    const backends = chooseBackends(seen, set, port, addresses[port.family]);
    if (backends !== undefined)
      return [action(seen, "UpdateBackendSet", { name: port.backendSet, body: bodyWith(set, backends) })];
  }
  return [];
};

/** A selector that cannot be read would choose every node. */
function hasReadableSelector({ kind }: SeenBalancer, { metadata }: Service): boolean {
  const written = metadata.annotations?.[annotationOf(kind, "nodeLabelSelector")]?.trim() ?? "";
  return written === "" || readerOf("nodeLabelSelector")(written).ok;
}

/** The backends that a set is to have, those that it keeps as OCI shows them; undefined where it has them. */
function chooseBackends(
  { kind }: SeenBalancer,
  { backends }: BackendSet,
  { nodePort }: WantedPort,
  addresses: readonly string[],
): readonly unknown[] | undefined {
  const there = new Map((backends ?? []).map((backend) => [backendKey(backend), backend]));
  const wanted = addresses.map((ipAddress) => ({ ipAddress, port: nodePort }));
  const isSame = wanted.length === there.size && wanted.every((backend) => there.has(backendKey(backend)));
  if (isSame) return undefined;
  return wanted.map((backend) => there.get(backendKey(backend)) ?? newBackend(kind, backend));
}

/** An update replaces the whole set: what a read shows of it is sent back, but for its name and what is not set. */
function bodyWith(set: BackendSet, backends: readonly unknown[]): Readonly<Record<string, unknown>> {
  const kept = Object.entries(set).filter(([key, value]) => key !== "name" && value !== null);
  return { ...Object.fromEntries(kept), backends };
}
