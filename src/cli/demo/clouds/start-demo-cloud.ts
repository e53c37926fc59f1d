import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Machine } from "#cli/demo/nodes.ts";
import { createAwsCloud } from "#clouds/aws/cloud.ts";
import { AwsCloudConfig } from "#clouds/aws/config.ts";
import type { Cloud } from "#clouds/cloud.ts";
import { createDigitalOceanCloud } from "#clouds/digitalocean/cloud.ts";
import { DigitalOceanCloudConfig } from "#clouds/digitalocean/config.ts";
import { createTokenFile } from "#clouds/http/authorizer.ts";
import type { ClusterEntry } from "#config/cluster.ts";
import * as digitalOcean from "#emulators/digitalocean/names.ts";
import { startFakeDigitalOcean } from "#emulators/digitalocean/server.ts";
import { startEc2 } from "#emulators/ec2/server.ts";

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

const EC2_REGION = "eu-central-1";
const EC2_VPC = "vpc-0de30de30de30de30";
const EC2_CONFIG = { provider: "aws", region: EC2_REGION, vpc: EC2_VPC } as const;

/** Starts an emulated EC2 endpoint. */
async function startAws(): Promise<DemoCloud> {
  const ec2 = await startEc2({ region: EC2_REGION, behaviour: { latencyMs: CLOUD_LATENCY_MS } });
  return {
    words: "AWS SDK → EC2 (embedded)",
    config: EC2_CONFIG,
    // The SDK reads endpoint and keys from the environment, as for users.
    environment: { AWS_ENDPOINT_URL_EC2: ec2.url },
    load: () => createAwsCloud(AwsCloudConfig.parse(EC2_CONFIG)),
    add(count) {
      const instances = ec2.addInstances(Array.from({ length: count }, () => ({ vpcId: EC2_VPC })));
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
  const file = join(folder, "digitalocean-token");
  // The token is not secret: the API is on this machine.
  await writeFile(file, digitalOcean.TOKEN, { mode: 0o600 });
  const fake = await startFakeDigitalOcean();
  fake.before = async () => {
    await sleep(CLOUD_LATENCY_MS);
  };
  const config = {
    ...({ provider: "digitalocean", region: digitalOcean.REGION, vpc: digitalOcean.VPC } as const),
    dropletTag: digitalOcean.TAG,
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
