import type { Machine } from "#cli/demo/nodes.ts";
import type { Cloud } from "#clouds/cloud.ts";
import type { ClusterEntry } from "#config/cluster.ts";

/** The emulated cloud of a demo, on this machine. */
export interface DemoCloud {
  /** Describes the API, for the line that tells what the demo shows. */
  readonly words: string;
  /** The `cloud:` of a cluster. */
  readonly config: ClusterEntry["cloud"];
  /** The environment variables that processes need to reach it. */
  readonly environment: Readonly<Record<string, string>>;
  /** Loads the cloud for functions in this process, whose environment is set before. */
  load(): Cloud;
  /** Adds running machines. */
  add(count: number): Machine[];
  /** Returns the number of calls so far, by their names. */
  counts(): Readonly<Record<string, number>>;
  close(): Promise<void>;
}

/** The latency of each call to the cloud in milliseconds, as in the same region. */
export const CLOUD_LATENCY_MS = 60;
