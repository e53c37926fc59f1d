import type { Outcome } from "#clouds/http/outcome.ts";
import type { OciCloudConfig } from "#clouds/oci/config.ts";
import { needsIpv6 } from "#clouds/oci/instance.ts";
import type { IPv4Field, MemberRequest } from "#clouds/oci/member-sources.ts";
import type { Member } from "#clouds/oci/members.ts";
import { checkCompartment, checkOwnership } from "#clouds/oci/ownership.ts";
import type { Query } from "#clouds/oci/query.ts";
import type { NoInstance, Resolution } from "#clouds/oci/resolution.ts";
import type { Node } from "#core/node/node.ts";

/** The result for a node: its instance, which belongs to the cluster, or why it has no instance. */
export type NodeResult = { readonly kind: "member"; readonly member: Member } | NoInstance;

/** Combines the results of a node's search and of its instance's network. */
export function buildNodeResult(
  node: Node,
  resolution: Resolution | undefined,
  members: ReadonlyMap<string, Outcome<Member>>,
  config: OciCloudConfig,
): NodeResult {
  if (resolution?.kind !== "instance") return resolution ?? UNKNOWN;
  const compartment = checkCompartment(resolution.instance, config);
  if (compartment !== undefined) return { kind: "fault", fault: compartment };
  const member = members.get(resolution.instance.id);
  if (member === undefined) return UNKNOWN;
  if (member.kind === "fault") return member;
  const fault = checkOwnership(member.value, node, config);
  return fault === undefined ? { kind: "member", member: member.value } : { kind: "fault", fault };
}

/** No known path reaches this value. */
export const UNKNOWN: NodeResult & Resolution = {
  kind: "fault",
  fault: { code: "Unavailable", message: "no answer" },
};

/** Returns the resolution of a query. */
export function getResolution(
  query: Query | undefined,
  resolved: ReadonlyMap<Query, Resolution>,
): Resolution {
  return (
    (query && resolved.get(query)) ?? { kind: "fault", fault: { code: "Unavailable", message: "no answer" } }
  );
}

/** Collects each instance once, with what its nodes need. */
export function collectRequests(
  resolutions: ReadonlyMap<Node, Resolution>,
  config: OciCloudConfig,
): readonly MemberRequest[] {
  const requests = new Map<string, MemberRequest>();
  for (const [node, resolution] of resolutions) {
    if (resolution.kind !== "instance") continue;
    const { instance } = resolution;
    if (checkCompartment(instance, config) !== undefined) continue;
    const previous = requests.get(instance.id);
    requests.set(instance.id, {
      instance,
      ipv6: needsIpv6(node) || previous?.ipv6 === true,
      knownFields: [...listIpv4Fields(node), ...(previous?.knownFields ?? [])],
    });
  }
  return [...requests.values()];
}

function listIpv4Fields({ status }: Node): readonly IPv4Field[] {
  return (status.addresses ?? []).flatMap(({ type, address }): IPv4Field[] => {
    if (address.includes(":")) return [];
    return type === "ExternalIP" ? ["publicIp"] : type === "InternalIP" ? ["privateIp"] : [];
  });
}
