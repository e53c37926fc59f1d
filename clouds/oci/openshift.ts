import type { OciInstance, Vnic } from "#clouds/oci/objects.ts";

/** The namespace of defined tags by which an instance is known to be OpenShift's; undefined of any other. */
export function openShiftNamespace({ definedTags = {} }: OciInstance): string | undefined {
  return Object.keys(definedTags).find((namespace) => namespace.startsWith("openshift-"));
}

/** The secondary VNIC over which an OpenShift node has its boot volume: its addresses are the node's too. */
export function secondVnicOf(vnics: readonly Vnic[], namespace: string | undefined): Vnic | undefined {
  if (namespace === undefined) return undefined;
  return vnics.find(
    ({ isPrimary, definedTags = {} }) =>
      !isPrimary && definedTags[namespace]?.["boot-volume-type"] === "ISCSI",
  );
}
