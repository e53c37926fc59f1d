import type { Machine } from "#cli/demo/nodes.ts";
import type { Cloud } from "#clouds/cloud.ts";
import type { ClusterEntry } from "#config/cluster.ts";

/** The cloud that a demo plays on, on this machine. */
export interface DemoCloud {
  /** How it is asked, and what is asked, for the line that says what is shown. */
  readonly words: string;
  /** A cluster's `cloud:`. */
  readonly config: ClusterEntry["cloud"];
  /** What processes need in their environment to reach it. */
  readonly environment: Readonly<Record<string, string>>;
  /** For functions in this process; its environment is set by then. */
  load(): Cloud;
  /** Machines that are there from now on. */
  add(count: number): Machine[];
  /** The calls that it has had so far, by their names. */
  counts(): Readonly<Record<string, number>>;
  close(): Promise<void>;
}

/** Milliseconds that each call to the cloud takes, as from a machine in the same region. */
export const CLOUD_LATENCY_MS = 60;

/** The clouds that a demo can play on. */
export const DEMO_CLOUDS = ["aws", "digitalocean"] as const;
export type DemoCloudName = (typeof DEMO_CLOUDS)[number];

/** Starts the one of that name; `folder` is for what it has to write down. */
export async function startDemoCloud(name: DemoCloudName, folder: string): Promise<DemoCloud> {
  switch (name) {
    case "aws":
      return (await import("#cli/demo/clouds/aws.ts")).startAws();
    case "digitalocean":
      return (await import("#cli/demo/clouds/digitalocean.ts")).startDigitalOcean(folder);
    default:
      return name satisfies never;
  }
}
