import type { Cluster, Clusters } from "#config/cluster.ts";
import type { ClustersFile, ClustersFileError } from "#config/clusters-file.ts";
import type { Clock } from "#kube/follow/clock.ts";

/** A place where clusters are written down: a file, parameters of SSM, or objects of a management cluster. */
export interface ClusterHome {
  readonly kind: HomeKind;
  /** As an operator writes it, for messages and logs. */
  readonly name: string;
  /** All that is written there now; rejects with `ClustersFileError` where nobody can tell. */
  read(signal?: AbortSignal): Promise<ClustersFile>;
  /** Looks at it until the signal fires. */
  follow(options: FollowHomeOptions): Promise<void>;
  /** As functions read them, which know one name or the next. */
  byName(): ClustersOfHome;
}

export type HomeKind = "file" | "ssm" | "kubernetes";

/** How a home is followed. */
export interface FollowHomeOptions {
  /** Ends it. */
  readonly signal: AbortSignal;
  /** What is written there, at first and whenever it changed. */
  readonly onContent: (content: ClustersFile) => void;
  /** It cannot be read any more, or nobody can mean what it says; said once for each state that it is in. */
  readonly onError: (error: ClustersFileError) => void;
  /** Calls what it is given whenever the home is to be read again at once; answers with how to end that. */
  readonly onReread?: (reread: () => void) => () => void;
  /** Milliseconds between two looks. */
  readonly intervalMs?: number;
  readonly clock?: Clock;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
}

/** The clusters of a home by name; what became faulty is not covered up with what was there before. */
export type ClustersOfHome = Clusters & {
  /** All that can be used. */
  all(): Promise<readonly Cluster[]>;
  /** Those of these names that can be used, where reading all would cost more. */
  named(names: readonly string[]): Promise<readonly Cluster[]>;
  /** Those that can be known before any is asked for, at no cost to others; possibly none. */
  ahead(): Promise<readonly Cluster[]>;
};
