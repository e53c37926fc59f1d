import type { OciCloudConfig } from "#clouds/oci/config.ts";
import type { Inventory } from "#clouds/oci/inventory.ts";
import type { OciInstance } from "#clouds/oci/objects.ts";

/** What an instance needs beyond the common facts. */
export interface MemberRequest {
  readonly instance: OciInstance;
  readonly ipv6: boolean;
  /**
   * IPv4 addresses that its node has. If a list does not show one, it is read singly, because one list may be
   * incomplete.
   */
  readonly knownFields: readonly IPv4Field[];
}

/** Sources of the network and the addresses of instances. */
export interface MemberSources {
  readonly inventory: Inventory;
  readonly config: OciCloudConfig;
  readonly primaries: KnownPrimaries;
  /** Lists that began at this time or later prove that a resource exists. */
  readonly since: number;
  /** Start of the batch. */
  readonly beganAt: number;
}

/** A field of a VNIC. */
export type IPv4Field = "privateIp" | "publicIp";

/** Instances by id; the primary VNIC of an instance never changes. */
export type KnownPrimaries = Map<string, string>;
