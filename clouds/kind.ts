import type * as z from "zod";
import type { Cloud } from "#clouds/cloud.ts";
import type { ClusterObjects } from "#clouds/cluster-objects.ts";
import type { OwnershipClaim } from "#clouds/ownership-claim.ts";

/** The environment of a process, as `process.env` is. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What loading a cloud takes beyond its configuration. */
export interface LoadCloudOptions {
  /** The cluster's name: who asks, as the cloud's own logs show it, and whose an instance is that names its cluster. */
  readonly clusterName?: string;
  /** The name of the deployed function that asks; a process in which all controllers run has none. */
  readonly functionName?: string | undefined;
  /** The role of AWS that the function assumes for clusters whose configuration names none. */
  readonly sessionRoleArn?: string | undefined;
  /** The cluster's objects, for clouds that keep what they have there; asked only when a capability is. */
  readonly objects?: ClusterObjects;
}

/** The schema of one cloud's configuration; `provider` is a literal there. */
export type CloudSchema = z.ZodType<{ readonly provider: string }> & z.core.$ZodTypeDiscriminable;

/**
 * A cloud as a value: all that the rest of the house needs to know of it before it is used. It holds no SDK and opens
 * nothing, so every process imports every kind; what costs time or memory stands behind `load`.
 */
export interface CloudKind<Schema extends CloudSchema = CloudSchema> {
  /** As `--cloud-provider` and a cluster's `cloud.provider` name it. */
  readonly provider: z.output<Schema>["provider"];
  /** A cluster's `cloud:`, and with `provider` added a `--cloud-config` file. Strict: an unknown key is a fault. */
  readonly config: Schema;
  /**
   * By key of the configuration, the environment variables that supply it where the file is silent; the first one that
   * is set counts. They are where users of this cloud's own controller expect them. A key within another, as `server.url`, is
   * supplied where the file has that other one.
   */
  readonly environment: Readonly<Record<string, readonly string[]>>;
  /** Other names of it for `--cloud-provider`, and keys of the configuration that each stands for where the file is silent. */
  readonly presets?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /**
   * A `--cloud-config` file, where this cloud's own controller has one that says the same in another way, or holds a secret: as a
   * cluster's `cloud:` says it, with the file's name where a secret was.
   */
  fromFile?(document: Readonly<Record<string, unknown>>, file: string): Readonly<Record<string, unknown>>;
  /** Where the functions' credentials come from, as the end of a sentence for operators; never one of them. */
  credentialSource(config: z.output<Schema>): string;
  /** Equal for configurations that spend from the same API quotas; holds no secret. Empty where nobody is asked but the cluster itself. */
  quotaKey(config: z.output<Schema>): string;
  /**
   * By what the account's resources are told to be the cluster's of this name; two clusters whose claims agree are not both served.
   * Absent where there is no account that clusters could share.
   */
  ownership?(config: z.output<Schema>, clusterName: string): OwnershipClaim | undefined;
  /** What is no fault, and most likely a mistake, such as a region that nobody knew when this was built; each in one line. */
  doubts?(config: z.output<Schema>): readonly string[];
  /** Keys that a new entry of a cluster has where nobody says otherwise; entries of old go without them. */
  readonly newEntry?: Readonly<Record<string, unknown>>;
  /**
   * For operators, what a scale-in without the autoscaler's taint counts for with the brakes of deletion; absent where terminated
   * instances stay visible long enough for none of it to count.
   */
  readonly scaleIn?: string;
  /** Prefixes of the labels that this cloud adds beyond type, zone and region; a node's snapshot keeps labels under them. */
  readonly labelPrefixes: readonly string[];
  /** Labels that it adds beyond those because of its configuration; a node's snapshot keeps them too. */
  labelsOf?(config: z.output<Schema>): readonly string[];
  /** Keys of labels and of annotations of nodes by which it answers for them; a node's snapshot keeps these. */
  nodeKeysOf?(config: z.output<Schema>): readonly string[];
  /**
   * Whether the addresses that it answers are known to somebody else than the node itself; so without it. Where they are the node's own
   * word nobody may be given a certificate for them.
   */
  vouchesForAddresses?(config: z.output<Schema>): boolean;
  /** The one `spec.loadBalancerClass` whose Services are this cluster's; undefined for those without a class and of our own. */
  loadBalancerClassOf?(config: z.output<Schema>): string | undefined;
  /** Makes the cloud; its code, and with it its SDK, is imported here and nowhere else. Rejects where files it names are unusable. */
  load(config: z.output<Schema>, options: LoadCloudOptions): Promise<Cloud>;
}

/** Gives a kind its type by its schema alone. */
export function cloudKind<Schema extends CloudSchema>(kind: CloudKind<Schema>): CloudKind<Schema> {
  return kind;
}
