import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { listCompartments, type OciCloudConfig } from "#clouds/oci/config.ts";
import { needsIpv6 } from "#clouds/oci/instance.ts";
import type { Member } from "#clouds/oci/members.ts";
import { hasEnded, type OciInstance } from "#clouds/oci/objects.ts";
import type { IPv4Field, MemberRequest, NoInstance, Query, Resolution } from "#clouds/oci/query.ts";
import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
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

/**
 * Returns what proves an instance foreign by its compartment alone; undefined if the compartment is the
 * cluster's.
 */
function checkCompartment({ id, compartmentId }: OciInstance, config: OciCloudConfig): Fault | undefined {
  const compartments = listCompartments(config);
  if (compartments.includes(compartmentId)) return undefined;
  return buildForeignFault(id, `expected compartment ${compartments.join(" or ")}, found ${compartmentId}`);
}

/**
 * Returns what proves an instance foreign; undefined if it belongs to the cluster. A terminated one may have
 * lost its network; the node's instance annotation then decides.
 */
function checkOwnership({ instance, vcn }: Member, node: Node, config: OciCloudConfig): Fault | undefined {
  const compartment = checkCompartment(instance, config);
  if (compartment !== undefined || config.vcn === undefined || vcn === config.vcn) return compartment;
  if (vcn !== undefined) return buildForeignFault(instance.id, `expected VCN ${config.vcn}, found ${vcn}`);
  const written = `${config.auth.tenancy}/${config.vcn}/${instance.id}`;
  if (hasEnded(instance) && node.metadata.annotations?.[INSTANCE_ANNOTATION] === written) return undefined;
  return buildForeignFault(
    instance.id,
    `expected VCN ${config.vcn}, found none: it is terminated, and the node does not prove that it was its own`,
  );
}

function buildForeignFault(id: string, reason: string): Fault {
  return { code: "Foreign", message: `instance ${id} is not the cluster's: ${reason}` };
}
