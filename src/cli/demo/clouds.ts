import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Machine } from "#cli/demo/nodes.ts";
import { AwsCloudConfig } from "#clouds/aws/config.ts";
import type { Cloud } from "#clouds/cloud.ts";
import { DigitalOceanCloudConfig } from "#clouds/digitalocean/config.ts";
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

/** The clouds that a demo can use. */
export const DEMO_CLOUDS = ["aws", "digitalocean"] as const;
export type DemoCloudName = (typeof DEMO_CLOUDS)[number];

/** Starts the cloud of that name; it may write files to `folder`. */
export async function startDemoCloud(name: DemoCloudName, folder: string): Promise<DemoCloud> {
  switch (name) {
    case "aws":
      return startAws();
    case "digitalocean":
      return startDigitalOcean(folder);
    default:
      return name satisfies never;
  }
}

/** The latency of each call to the cloud in milliseconds, as in the same region. */
const LATENCY_MS = 60;

/** Starts an emulated EC2 endpoint. */
async function startAws(): Promise<DemoCloud> {
  const { createAwsCloud } = await import("#clouds/aws/cloud.ts");
  const { startEc2 } = await import("#emulators/ec2/server.ts");
  const config = { provider: "aws", region: "eu-central-1", vpc: "vpc-0de30de30de30de30" } as const;
  const ec2 = await startEc2({ region: config.region, behaviour: { latencyMs: LATENCY_MS } });
  return {
    words: "AWS SDK → EC2 (embedded)",
    config,
    // The SDK reads endpoint and keys from the environment, as for users.
    environment: { AWS_ENDPOINT_URL_EC2: ec2.url },
    load: () => createAwsCloud(AwsCloudConfig.parse(config)),
    add(count) {
      const instances = ec2.addInstances(Array.from({ length: count }, () => ({ vpcId: config.vpc })));
      return instances.map(({ id, availabilityZone, privateDnsName }) => ({
        name: privateDnsName,
        providerID: `aws:///${availabilityZone}/${id}`,
      }));
    },
    counts: () => ec2.counts(),
    close: () => ec2.close(),
  };
}

/** Starts an emulated DigitalOcean API, with its token in a file. */
async function startDigitalOcean(folder: string): Promise<DemoCloud> {
  const { createDigitalOceanCloud } = await import("#clouds/digitalocean/cloud.ts");
  const { createTokenFile } = await import("#clouds/http/authorizer.ts");
  const { REGION, TAG, TOKEN, VPC } = await import("#emulators/digitalocean/names.ts");
  const { startFakeDigitalOcean } = await import("#emulators/digitalocean/server.ts");
  const file = join(folder, "digitalocean-token");
  // The token is not secret: the API is on this machine.
  await writeFile(file, TOKEN, { mode: 0o600 });
  const fake = await startFakeDigitalOcean();
  fake.before = async () => {
    await sleep(LATENCY_MS);
  };
  const config = {
    ...({ provider: "digitalocean", region: REGION, vpc: VPC, dropletTag: TAG } as const),
    ...{ apiURL: fake.url, tokenFile: file },
  };
  return {
    words: "HTTP → DigitalOcean (embedded)",
    config,
    environment: {},
    load: () => createDigitalOceanCloud(DigitalOceanCloudConfig.parse(config), createTokenFile(file)),
    add: (count) =>
      Array.from({ length: count }, () => {
        const { id, name } = fake.add();
        return { name, providerID: `digitalocean://${id}` };
      }),
    counts() {
      const calls = fake.requests.map(({ method, path }) => `${method} ${path.replace(/\/\d+$/, "/{id}")}`);
      return Object.fromEntries(
        [...Map.groupBy(calls, (call) => call)].map(([call, all]) => [call, all.length]),
      );
    },
    close: () => fake.close(),
  };
}
