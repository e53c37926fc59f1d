import type { DemoCloud } from "#cli/demo/clouds/demo-cloud.ts";

/** The clouds that a demo can use. */
export const DEMO_CLOUDS = ["aws", "digitalocean"] as const;
export type DemoCloudName = (typeof DEMO_CLOUDS)[number];

/** Starts the cloud of that name; it may write files to `folder`. */
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
