import type { DefinedTags, FreeformTags } from "#clouds/oci/load-balancers/tags.ts";
import type { Settings } from "#core/settings.ts";

/** Tags of one type of resources. */
export interface ConfiguredTags {
  readonly freeform?: FreeformTags | undefined;
  readonly defined?: DefinedTags | undefined;
}

/**
 * The part of a cluster's cloud configuration that its load balancers read: keys of the parsed
 * `OciCloudConfig`.
 */
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

/** Returns a cluster's settings as load balancers read them. */
export function getConfiguration({ cloud }: Pick<Settings, "cloud">): LoadBalancerConfiguration {
  // It was parsed as an `OciCloudConfig`; the caller has chosen this model by its provider.
  return cloud as unknown as LoadBalancerConfiguration;
}

/** Returns the compartments of a cluster's load balancers, the cluster's own first. */
export function listCompartments({
  compartment,
  compartments = [],
}: LoadBalancerConfiguration): readonly string[] {
  return [...new Set([compartment, ...compartments])];
}
