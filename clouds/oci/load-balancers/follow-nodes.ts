import { findAnnotation, getReader } from "#clouds/oci/load-balancers/annotations/table.ts";
import { buildBackend, formatBackendKey } from "#clouds/oci/load-balancers/bodies.ts";
import { buildAction } from "#clouds/oci/load-balancers/changes.ts";
import { getConfiguration } from "#clouds/oci/load-balancers/configuration.ts";
import { selectFamilies } from "#clouds/oci/load-balancers/desired-state/families.ts";
import { type DesiredPort, readPorts } from "#clouds/oci/load-balancers/desired-state/ports.ts";
import { isOurs, wait, waitWhileBusy } from "#clouds/oci/load-balancers/phase.ts";
import type { BackendSet, ObservedBalancer, OciState } from "#clouds/oci/load-balancers/state.ts";
import { selectBackends } from "#clouds/oci/load-balancers/targets.ts";
import type { LoadBalancerModel } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/**
 * Returns the change that brings the next backend set to the nodes while another part of the Service is
 * rejected. Policy, health check and all other settings of the set stay as OCI shows them. OCI accepts one
 * change at a time, so the controller waits between changes. Undefined if the load balancer's ownership is
 * unproven, its label selector is invalid, or no node has an address.
 */
export const followNodesOnOci: NonNullable<LoadBalancerModel["followNodes"]> = (
  question,
  observed,
  settings,
) => {
  // The observation comes from our own capability, which has parsed OCI's answers.
  const state = observed as OciState;
  const { service } = question;
  const context = { service, configuration: getConfiguration(settings), cluster: settings.cluster };
  if (state.several !== undefined) return undefined;
  if (state.isOrdered === true) return wait("Ordered", "OCI is at what was ordered");
  const [current, ...others] = state.found.filter(({ balancer }) => isOurs(balancer, context));
  if (current === undefined || others.length > 0 || !hasReadableSelector(current, service)) return undefined;
  const busy = waitWhileBusy(current);
  if (busy !== undefined) return busy;
  if (current.failure !== undefined) return undefined;
  const families = selectFamilies(current.kind, service);
  const ports = families === undefined ? undefined : readPorts(current.kind, service, {}, families);
  if (ports?.kind !== "read") return undefined;
  const addresses = selectBackends(question, state.addresses);
  const served = ports.ports.flatMap((port) => {
    const set = current.balancer.backendSets?.[port.backendSet];
    // A backend set is never emptied.
    return set === undefined || addresses[port.family].length === 0 ? [] : [{ port, set }];
  });
  if (served.length === 0) return undefined;
  for (const { port, set } of served) {
    const backends = chooseBackends(current, set, port, addresses[port.family]);
    if (backends !== undefined)
      return [
        buildAction(current, "UpdateBackendSet", {
          name: port.backendSet,
          body: buildBackendSetUpdate(set, backends),
        }),
      ];
  }
  return [];
};

/** An invalid selector would select every node. */
function hasReadableSelector({ kind }: ObservedBalancer, { metadata }: Service): boolean {
  const written = metadata.annotations?.[findAnnotation(kind, "nodeLabelSelector")]?.trim() ?? "";
  return written === "" || getReader("nodeLabelSelector")(written).ok;
}

/**
 * Returns the desired backends of a set, and keeps existing ones as OCI shows them; undefined if nothing
 * changes.
 */
function chooseBackends(
  { kind }: ObservedBalancer,
  { backends }: BackendSet,
  { nodePort }: DesiredPort,
  addresses: readonly string[],
): readonly unknown[] | undefined {
  const currentBackends = new Map((backends ?? []).map((backend) => [formatBackendKey(backend), backend]));
  const desiredBackends = addresses.map((ipAddress) => ({ ipAddress, port: nodePort }));
  const isSame =
    desiredBackends.length === currentBackends.size &&
    desiredBackends.every((backend) => currentBackends.has(formatBackendKey(backend)));
  if (isSame) return undefined;
  return desiredBackends.map(
    (backend) => currentBackends.get(formatBackendKey(backend)) ?? buildBackend(kind, backend),
  );
}

/**
 * An update replaces the whole set: the fields of a read are sent back, without the name and empty fields.
 */
function buildBackendSetUpdate(
  set: BackendSet,
  backends: readonly unknown[],
): Readonly<Record<string, unknown>> {
  const keptFields = Object.entries(set).filter(([key, value]) => key !== "name" && value !== null);
  return { ...Object.fromEntries(keptFields), backends };
}
