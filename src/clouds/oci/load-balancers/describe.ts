import type { DescribedLoadBalancer } from "#clouds/diagnosis.ts";
import { KINDS } from "#clouds/oci/load-balancers/names.ts";
import type { ObservedBalancer, OciState } from "#clouds/oci/load-balancers/state.ts";
import { isOfCluster } from "#clouds/oci/load-balancers/tags.ts";
import type { Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/** Describes a Service's resources on OCI for people. */
export function describeOnOci(
  _service: Service,
  state: unknown,
  { cluster }: Settings,
): DescribedLoadBalancer {
  // The observation comes from our own capability, which has parsed OCI's answers.
  const { found, several, groups } = state as OciState;
  const isOurs = found.some(({ balancer }) => isOfCluster(balancer.freeformTags ?? undefined, cluster));
  const isAny = found.length > 0 || several !== undefined;
  return {
    belongsTo: isOurs ? "service" : isAny ? "other" : "none",
    lines: [
      ...found.flatMap(describeBalancer),
      ...(several === undefined ? [] : [`several of one name: ${several.join(", ")}`]),
      ...groups.map(({ group, rules }) => `network security group ${group.id}: ${rules.length} rules`),
    ],
  };
}

function describeBalancer({ kind, balancer, isBusy, failure }: ObservedBalancer): readonly string[] {
  const addresses = (balancer.ipAddresses ?? []).map(({ ipAddress }) => ipAddress);
  const listeners = Object.entries(balancer.listeners ?? {});
  const sets = Object.entries(balancer.backendSets ?? {});
  return [
    `${KINDS[kind]} ${balancer.id}, ${balancer.lifecycleState}, at ${addresses.join(", ") || "no address yet"}`,
    ...listeners.map(
      ([name, { protocol, port, defaultBackendSetName }]) =>
        `listener ${name}: ${protocol}:${port} to ${defaultBackendSetName}`,
    ),
    ...sets.map(([name, { backends }]) => `backend set ${name}: ${(backends ?? []).length} backends`),
    ...(isBusy ? ["a work request is not done"] : []),
    ...(failure === undefined ? [] : [failure]),
  ];
}
