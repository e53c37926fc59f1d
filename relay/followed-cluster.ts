import type { ClusterStatus } from "#relay/cluster-relay.ts";

/** Why a cluster cannot be followed as it is configured; names files and keys, never what stands in them. */
export interface ConfigurationFault {
  readonly code: string;
  readonly message: string;
}

/** How a cluster fares, followed or not. */
export interface FollowedCluster extends ClusterStatus {
  /** What is wrong with how it is configured now; what was known of it before goes on, where anything was. */
  readonly configurationFault: ConfigurationFault | undefined;
  /** Nodes that the last list of its sweep found waiting, where whoever follows it sweeps it as well. */
  readonly overdue?: number | undefined;
}

/** How a cluster fares of which nothing is known but that it cannot be followed. */
export function notFollowed(name: string, fault: ConfigurationFault): FollowedCluster {
  return { ...NOTHING, name, ready: false, failure: fault, configurationFault: fault };
}

const NOTHING = {
  invocations: 0,
  objects: 0,
  needed: 0,
  inFlight: 0,
  due: { work: 0, look: 0 },
  limited: [],
  controllers: [],
} as const;
