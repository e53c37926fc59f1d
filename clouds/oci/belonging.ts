import type { Fault } from "#clouds/http/outcome.ts";
import { compartmentsOf, type OciCloudConfig } from "#clouds/oci/kind.ts";
import type { Member } from "#clouds/oci/members.ts";
import { hasEnded, type OciInstance } from "#clouds/oci/objects.ts";
import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import type { Node } from "#core/node/node.ts";

/** What keeps an instance from being the cluster's, by its compartment alone; undefined where that is one of the cluster's. */
export function foreignCompartment(
  { id, compartmentId }: OciInstance,
  config: OciCloudConfig,
): Fault | undefined {
  const own = compartmentsOf(config);
  if (own.includes(compartmentId)) return undefined;
  return foreign(id, `expected compartment ${own.join(" or ")}, found ${compartmentId}`);
}

/**
 * What keeps an instance from being the cluster's; undefined where it is. Of one that has ended nothing of its network may be left:
 * then what was written on the node when it was there decides.
 */
export function foreignMember(
  { instance, vcn }: Member,
  node: Node,
  config: OciCloudConfig,
): Fault | undefined {
  const compartment = foreignCompartment(instance, config);
  if (compartment !== undefined || config.vcn === undefined || vcn === config.vcn) return compartment;
  if (vcn !== undefined) return foreign(instance.id, `expected VCN ${config.vcn}, found ${vcn}`);
  const written = `${config.auth.tenancy}/${config.vcn}/${instance.id}`;
  if (hasEnded(instance) && node.metadata.annotations?.[INSTANCE_ANNOTATION] === written) return undefined;
  return foreign(
    instance.id,
    `expected VCN ${config.vcn}, found none: it has ended, and the node does not say that it was its`,
  );
}

function foreign(id: string, because: string): Fault {
  return { code: "Foreign", message: `instance ${id} is not the cluster's: ${because}` };
}
