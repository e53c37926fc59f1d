import type { OciInstance, Vnic } from "#clouds/oci/objects.ts";

/** Returns the namespace of defined tags that marks an OpenShift instance; undefined for others. */
export function getOpenShiftNamespace({ definedTags = {} }: OciInstance): string | undefined {
  return Object.keys(definedTags).find((namespace) => namespace.startsWith("openshift-"));
}

/** Finds the secondary VNIC of an OpenShift node's boot volume: its addresses belong to the node too. */
export function findSecondVnic(vnics: readonly Vnic[], namespace: string | undefined): Vnic | undefined {
  if (namespace === undefined) return undefined;
  return vnics.find(
    ({ isPrimary, definedTags = {} }) =>
      !isPrimary && definedTags[namespace]?.["boot-volume-type"] === "ISCSI",
  );
}
