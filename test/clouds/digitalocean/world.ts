import type { Cloud } from "#clouds/cloud.ts";
import { createDigitalOceanCloud } from "#clouds/digitalocean/cloud.ts";
import { DigitalOceanCloudConfig } from "#clouds/digitalocean/config.ts";
import { createFixedToken } from "#clouds/http/authorizer.ts";
import type { HttpCloudOptions } from "#clouds/http/cloud-options.ts";
import type { FakeDroplet } from "#emulators/digitalocean/droplets.ts";
import { REGION, TAG, TOKEN, VPC } from "#emulators/digitalocean/names.ts";
import { type FakeDigitalOcean, startFakeDigitalOcean } from "#emulators/digitalocean/server.ts";
import { buildNode } from "#test/clouds/builders.ts";

/** A fake DigitalOcean, and clouds on it that count their waits without waiting. */
export interface DigitalOceanWorld {
  readonly fake: FakeDigitalOcean;
  /** The waits in milliseconds; each moves the clock. */
  readonly slept: number[];
  /** Moves the clock of the clouds. */
  pass(ms: number): void;
  cloud(config?: Record<string, unknown>, options?: HttpCloudOptions): Cloud;
  close(): Promise<void>;
}

/** Builds a configuration; by default by VPC and tag. */
export function buildConfig(traits: Record<string, unknown> = {}): DigitalOceanCloudConfig {
  return DigitalOceanCloudConfig.parse({
    provider: "digitalocean",
    region: REGION,
    vpc: VPC,
    dropletTag: TAG,
    ...traits,
  });
}

export async function createNodeWorld(): Promise<DigitalOceanWorld> {
  const fake = await startFakeDigitalOcean();
  const slept: number[] = [];
  const clouds: Cloud[] = [];
  let now = 0;
  return {
    fake,
    slept,
    pass(ms) {
      now += ms;
    },
    cloud(config, options) {
      const made = createDigitalOceanCloud(
        buildConfig({ apiURL: fake.url, ...config }),
        createFixedToken(TOKEN, "the token"),
        {
          sleep: async (delayMs) => {
            slept.push(delayMs);
            now += delayMs;
          },
          now: () => now,
          random: () => 0.5,
          ...options,
        },
      );
      clouds.push(made);
      return made;
    },
    async close() {
      await Promise.all(clouds.map((cloud) => cloud.close()));
      await fake.close();
    },
  };
}

/** Builds the node of a droplet, with its provider ID. */
export function buildIdentifiedNode({ id, name }: FakeDroplet) {
  return buildNode({ name, providerID: `digitalocean://${id}` });
}

/** Builds the node of a droplet as a kubelet without provider ID registers it. */
export function buildNamedNode({ name }: FakeDroplet) {
  return buildNode({ name });
}

/** Counts the requests of each sort; `lists` by their query. */
export function countRequests({ requests }: FakeDigitalOcean): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { path, query } of requests) {
    const sort = path !== "/v2/droplets" ? "read" : query["type"] === undefined ? "list" : query["type"];
    counts[sort] = (counts[sort] ?? 0) + 1;
  }
  return counts;
}
