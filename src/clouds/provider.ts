import type * as z from "zod";
import type { Cloud } from "#clouds/cloud.ts";
import type { ClusterObjects } from "#clouds/cluster-objects.ts";
import type { DescribedLoadBalancer, Diagnosis } from "#clouds/diagnosis.ts";
import type { OwnershipClaim } from "#clouds/ownership-claim.ts";
import type { NodeTagsModel } from "#core/node-tags.ts";
import type { LoadBalancerModel } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/** The environment of a process, like `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Inputs of loading a cloud apart from its configuration. */
export interface LoadCloudOptions {
  /**
   * The cluster's name: it identifies the caller in the cloud's logs, and the owner of instances that name
   * their cluster.
   */
  readonly clusterName?: string;
  /** The name of the calling function; undefined in a process that runs all controllers. */
  readonly functionName?: string | undefined;
  /** The AWS role that the function assumes for clusters without a configured role. */
  readonly sessionRoleArn?: string | undefined;
  /** Access to the cluster's objects, for clouds that store data in them; used only by capabilities. */
  readonly objects?: ClusterObjects;
}

/** The schema of one cloud's configuration; its `provider` is a literal. */
export type CloudSchema = z.ZodType<{ readonly provider: string }> & z.core.$ZodTypeDiscriminable;

/**
 * A cloud as a value: all that other code asks of it. It imports no SDK and opens nothing, so every process
 * imports every provider. Its methods import what costs time or memory, and each function's bundle has only
 * the imports that the function needs (build/leave-out-plugin.ts).
 */
export interface CloudProvider<Schema extends CloudSchema = CloudSchema> {
  /** As in `--cloud-provider` and a cluster's `cloud.provider`. */
  readonly provider: z.output<Schema>["provider"];
  /** The cloud is only for tests and trials: README.md and the suites of whole clusters leave it out. */
  readonly forTrials?: true;
  /**
   * The schema of a cluster's `cloud:`, and with `provider` added of a `--cloud-config` file. Strict: an
   * unknown key is a fault.
   */
  readonly config: Schema;
  /**
   * Environment variables that set a key if the file does not; the first one that is set counts. Their names
   * are those of this cloud's own controller. A nested key, such as `server.url`, is set only if the file has
   * its parent.
   */
  readonly environment: Readonly<Record<string, readonly string[]>>;
  /**
   * Other names of it for `--cloud-provider`, with the keys of the configuration that each sets if the file
   * does not.
   */
  readonly presets?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /**
   * Converts a `--cloud-config` file if this cloud's own controller has another format, or one that holds a
   * secret. The result has the form of a cluster's `cloud:`, with the file's name in place of a secret.
   */
  convertFile?(document: Readonly<Record<string, unknown>>, file: string): Readonly<Record<string, unknown>>;
  /**
   * Describes the source of the functions' credentials, as the end of a sentence for operators; never
   * contains a credential.
   */
  describeCredentialSource(config: z.output<Schema>): string;
  /**
   * Equal for configurations that share API quotas; holds no secret. Empty if only the cluster itself is
   * called.
   */
  getQuotaKey(config: z.output<Schema>): string;
  /**
   * Returns the criteria by which the account's resources belong to the cluster of this name. Two clusters
   * with matching claims are not both served. Absent if clusters cannot share an account.
   */
  getOwnershipClaim?(config: z.output<Schema>, clusterName: string): OwnershipClaim | undefined;
  /** Returns likely mistakes that are no faults, such as a region unknown at build time; one line each. */
  listConfigWarnings?(config: z.output<Schema>): readonly string[];
  /** Default keys of a new cluster entry; existing entries do not get them. */
  readonly newEntry?: Readonly<Record<string, unknown>>;
  /**
   * For operators: how the brakes on deletion count a scale-in without the autoscaler's taint. Absent if
   * terminated instances stay visible long enough, so that they do not count.
   */
  readonly scaleIn?: string;
  /**
   * Prefixes of the labels that this cloud adds to type, zone and region; a node's snapshot keeps such
   * labels.
   */
  readonly labelPrefixes: readonly string[];
  /** Returns further labels that it adds because of its configuration; a node's snapshot keeps them too. */
  listLabels?(config: z.output<Schema>): readonly string[];
  /** Returns keys of node labels and annotations from which it answers; a node's snapshot keeps them. */
  listNodeKeys?(config: z.output<Schema>): readonly string[];
  /**
   * Whether a source other than the node knows the returned addresses; true by default. If only the node
   * reports them, they must not be certified.
   */
  hasTrustedAddresses?(config: z.output<Schema>): boolean;
  /**
   * Returns the one `spec.loadBalancerClass` of this cluster's Services; undefined for those without a class
   * and of our own classes.
   */
  getLoadBalancerClass?(config: z.output<Schema>): string | undefined;
  /**
   * Creates the cloud; only here its code and SDK are imported. Rejects if files in the configuration are
   * unusable.
   */
  load(config: z.output<Schema>, options: LoadCloudOptions): Promise<Cloud>;
  /**
   * The addresses of load balancers in the status of Services: only hostnames by default. With "ip" a cluster
   * needs infra/admission/addresses/ if it has our admission policies.
   */
  readonly ingress?: "hostname" | "ip";
  /** Imports the decisions about load balancers of Services; absent if this cloud has none. */
  importLoadBalancerModel?(): Promise<LoadBalancerModel>;
  /** Imports the decisions about tags of machines; absent if this cloud has none. */
  importNodeTagsModel?(): Promise<NodeTagsModel>;
  /** Describes an observation of the capability `loadBalancers` for people; absent without load balancers. */
  describeLoadBalancer?(service: Service, state: unknown, settings: Settings): Promise<DescribedLoadBalancer>;
  /**
   * Creates the checks of a configuration for `doctor`; absent if there is nothing to check. Rejects if files
   * in the configuration are unusable.
   */
  diagnose?(config: z.output<Schema>, options: LoadCloudOptions): Promise<Diagnosis | undefined>;
}

/** Infers a provider's type from its schema alone. */
export function defineCloudProvider<Schema extends CloudSchema>(
  kind: CloudProvider<Schema>,
): CloudProvider<Schema> {
  return kind;
}
