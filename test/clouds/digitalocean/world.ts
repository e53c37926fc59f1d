import type { Cloud } from "#clouds/cloud.ts";
import { createDigitalOceanCloud } from "#clouds/digitalocean/cloud.ts";
import { DigitalOceanCloudConfig } from "#clouds/digitalocean/kind.ts";
import type { HttpCloudOptions } from "#clouds/http/cloud-options.ts";
import { fixedToken } from "#clouds/http/token-file.ts";
import type { FakeDroplet } from "#emulators/digitalocean/droplets.ts";
import { REGION, TAG, TOKEN, VPC } from "#emulators/digitalocean/names.ts";
import { type FakeDigitalOcean, startFakeDigitalOcean } from "#emulators/digitalocean/server.ts";
import { aNode } from "#test/clouds/builders.ts";

/** A fake DigitalOcean, and clouds on it whose waits are counted and not waited. */
export interface DigitalOceanWorld {
  readonly fake: FakeDigitalOcean;
  /** What was slept, in milliseconds; the clock goes on by as much. */
  readonly slept: number[];
  /** Lets the clock of the clouds go on. */
  pass(ms: number): void;
  cloud(config?: Record<string, unknown>, options?: HttpCloudOptions): Cloud;
  close(): Promise<void>;
}

/** By VPC and tag, unless told otherwise. */
export function aConfig(traits: Record<string, unknown> = {}): DigitalOceanCloudConfig {
  return DigitalOceanCloudConfig.parse({
    provider: "digitalocean",
    region: REGION,
    vpc: VPC,
    dropletTag: TAG,
    ...traits,
  });
}

export async function aWorld(): Promise<DigitalOceanWorld> {
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
        aConfig({ apiURL: fake.url, ...config }),
        fixedToken(TOKEN, "the token"),
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

/** The node of a droplet, with its provider ID. */
export function identified({ id, name }: FakeDroplet) {
  return aNode({ name, providerID: `digitalocean://${id}` });
}

/** The node of a droplet as a kubelet without provider ID registers it. */
export function named({ name }: FakeDroplet) {
  return aNode({ name });
}

/** How many requests there were of each sort; `lists` by their query. */
export function asked({ requests }: FakeDigitalOcean): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { path, query } of requests) {
    const sort = path !== "/v2/droplets" ? "read" : query["type"] === undefined ? "list" : query["type"];
    counts[sort] = (counts[sort] ?? 0) + 1;
  }
  return counts;
}
