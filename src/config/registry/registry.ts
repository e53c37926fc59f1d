import type { Cluster, Clusters } from "#config/cluster.ts";
import type { ClustersFile, ClustersFileError } from "#config/clusters-file.ts";
import type { Clock } from "#kube/follow/clock.ts";

/** A source of cluster entries: a file, SSM parameters, or objects of a management cluster. */
export interface ClusterRegistry {
  readonly kind: RegistryKind;
  /** As an operator writes it, for messages and logs. */
  readonly name: string;
  /** Reads the current content; rejects with `ClustersFileError` if it is unreadable. */
  read(signal?: AbortSignal): Promise<ClustersFile>;
  /** Follows the content until the signal fires. */
  follow(options: FollowRegistryOptions): Promise<void>;
  /** Returns the clusters as functions read them, one name at a time. */
  byName(): RegistryClusters;
}

export type RegistryKind = "file" | "ssm" | "kubernetes";

export interface FollowRegistryOptions {
  /** Ends following. */
  readonly signal: AbortSignal;
  /** Called with the first content and with every change. */
  readonly onContent: (content: ClustersFile) => void;
  /** Called once for each state in which the content is unreadable or invalid. */
  readonly onError: (error: ClustersFileError) => void;
  /** Registers a function that rereads the registry at once; returns a function that unregisters it. */
  readonly onReread?: (reread: () => void) => () => void;
  /** Milliseconds between two reads. */
  readonly intervalMs?: number;
  readonly clock?: Clock;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
}

/** The clusters of a registry by name. A faulty entry is never replaced by its previous content. */
export type RegistryClusters = Clusters & {
  /** All usable clusters. */
  all(): Promise<readonly Cluster[]>;
  /** The usable clusters with these names, for registries where reading all costs more. */
  named(names: readonly string[]): Promise<readonly Cluster[]>;
  /** The clusters that can be read before the first event at no cost to others; may be empty. */
  ahead(): Promise<readonly Cluster[]>;
};
