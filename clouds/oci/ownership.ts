import type { Fault } from "#clouds/http/outcome.ts";
import { listCompartments, type OciCloudConfig } from "#clouds/oci/config.ts";
import type { Member } from "#clouds/oci/members.ts";
import { hasEnded, type OciInstance } from "#clouds/oci/objects.ts";
import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import type { Node } from "#core/node/node.ts";

/**
 * Returns what proves an instance foreign by its compartment alone; undefined if the compartment is the
 * cluster's.
 */
export function checkCompartment(
  { id, compartmentId }: OciInstance,
  config: OciCloudConfig,
): Fault | undefined {
  const compartments = listCompartments(config);
  if (compartments.includes(compartmentId)) return undefined;
  return buildForeignFault(id, `expected compartment ${compartments.join(" or ")}, found ${compartmentId}`);
}

/**
 * Returns what proves an instance foreign; undefined if it belongs to the cluster. A terminated one may have
 * lost its network; the node's instance annotation then decides.
 */
export function checkOwnership(
  { instance, vcn }: Member,
  node: Node,
  config: OciCloudConfig,
): Fault | undefined {
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
