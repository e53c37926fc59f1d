import type { Outcome } from "#clouds/http/outcome.ts";
import { foreignCompartment, foreignMember } from "#clouds/oci/belonging.ts";
import { wantsIpv6 } from "#clouds/oci/instance.ts";
import type { OciCloudConfig } from "#clouds/oci/kind.ts";
import type { IPv4Field, Member, Wanted } from "#clouds/oci/members.ts";
import type { Query } from "#clouds/oci/query.ts";
import type { NoInstance, Resolution } from "#clouds/oci/resolution.ts";
import type { Node } from "#core/node/node.ts";

/** What is said of a node: its instance, which is the cluster's, or why not. */
export type Verdict = { readonly kind: "member"; readonly member: Member } | NoInstance;

/** Puts together what a node's search and its instance's network came to. */
export function verdictOn(
  node: Node,
  resolution: Resolution | undefined,
  members: ReadonlyMap<string, Outcome<Member>>,
  config: OciCloudConfig,
): Verdict {
  if (resolution?.kind !== "instance") return resolution ?? UNKNOWN;
  const compartment = foreignCompartment(resolution.instance, config);
  if (compartment !== undefined) return { kind: "fault", fault: compartment };
  const member = members.get(resolution.instance.id);
  if (member === undefined) return UNKNOWN;
  if (member.kind === "fault") return member;
  const fault = foreignMember(member.value, node, config);
  return fault === undefined ? { kind: "member", member: member.value } : { kind: "fault", fault };
}

/** Nothing is known to come here. */
export const UNKNOWN: Verdict & Resolution = {
  kind: "fault",
  fault: { code: "Unavailable", message: "no answer" },
};

/** The resolution of a query. */
export function resolutionOf(query: Query | undefined, resolved: ReadonlyMap<Query, Resolution>): Resolution {
  return (
    (query && resolved.get(query)) ?? { kind: "fault", fault: { code: "Unavailable", message: "no answer" } }
  );
}

/** Each instance once, with what its nodes want of it. */
export function wantedOf(
  resolutions: ReadonlyMap<Node, Resolution>,
  config: OciCloudConfig,
): readonly Wanted[] {
  const wanted = new Map<string, Wanted>();
  for (const [node, resolution] of resolutions) {
    if (resolution.kind !== "instance") continue;
    const { instance } = resolution;
    if (foreignCompartment(instance, config) !== undefined) continue;
    const before = wanted.get(instance.id);
    wanted.set(instance.id, {
      instance,
      ipv6: wantsIpv6(node) || before?.ipv6 === true,
      had: [...ipv4FieldsOf(node), ...(before?.had ?? [])],
    });
  }
  return [...wanted.values()];
}

function ipv4FieldsOf({ status }: Node): readonly IPv4Field[] {
  return (status.addresses ?? []).flatMap(({ type, address }): IPv4Field[] => {
    if (address.includes(":")) return [];
    return type === "ExternalIP" ? ["publicIp"] : type === "InternalIP" ? ["privateIp"] : [];
  });
}
