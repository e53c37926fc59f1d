import type { DefinedTags, FreeformTags } from "#clouds/oci/load-balancers/annotations/tags.ts";
import type { Settings } from "#core/settings.ts";

/** Tags of one kind of resources. */
export interface ConfiguredTags {
  readonly freeform?: FreeformTags | undefined;
  readonly defined?: DefinedTags | undefined;
}

/** What of a cluster's cloud its load balancers depend on: keys of `OciCloudConfig`, as that has parsed them. */
export interface LoadBalancerConfiguration {
  readonly compartment: string;
  readonly compartments?: readonly string[] | undefined;
  readonly vcn?: string | undefined;
  readonly loadBalancer?:
    | {
        readonly disabled?: boolean | undefined;
        readonly subnet1?: string | undefined;
        readonly subnet2?: string | undefined;
        readonly securityListManagementMode?: string | undefined;
      }
    | undefined;
  readonly tags?:
    | { readonly loadBalancer?: ConfiguredTags | undefined; readonly common?: ConfiguredTags | undefined }
    | undefined;
  readonly loadBalancerPrefix?: string | undefined;
}

/** A cluster's settings as load balancers read them. */
export function configurationOf({ cloud }: Pick<Settings, "cloud">): LoadBalancerConfiguration {
  // It was parsed as an `OciCloudConfig`; whoever calls has chosen this model by its provider.
  return cloud as unknown as LoadBalancerConfiguration;
}

/** The compartments that a cluster's load balancers may be in, that of the cluster first. */
export function compartmentsOf({
  compartment,
  compartments = [],
}: LoadBalancerConfiguration): readonly string[] {
  return [...new Set([compartment, ...compartments])];
}
