import type { Cloud } from "#clouds/cloud.ts";
import type { HttpCloudOptions } from "#clouds/http/cloud-options.ts";
import { fixedToken } from "#clouds/http/token-file.ts";
import { createRancherCloud } from "#clouds/rancher/cloud.ts";
import type { Distribution } from "#clouds/rancher/node-keys.ts";
import {
  CLUSTER,
  type FakeManagement,
  NAMESPACE,
  startFakeManagement,
  TOKEN,
} from "#test/clouds/rancher/fake-management.ts";

/** A fake management server, and clouds on it whose waits are counted and not waited. */
export interface RancherWorld {
  readonly fake: FakeManagement;
  /** What was slept, in milliseconds; the clock goes on by as much. */
  readonly slept: number[];
  /** Lets the clock of the clouds go on. */
  pass(ms: number): void;
  cloud(options?: HttpCloudOptions, distribution?: Distribution): Cloud;
  close(): Promise<void>;
}

export async function aRancherWorld(): Promise<RancherWorld> {
  const fake = await startFakeManagement();
  const slept: number[] = [];
  const clouds: Cloud[] = [];
  let now = 0;
  return {
    fake,
    slept,
    pass(ms) {
      now += ms;
    },
    cloud(options, distribution = "rke2") {
      const server = { url: fake.url, cluster: CLUSTER, namespace: NAMESPACE };
      const authorize = fixedToken(TOKEN, "the token");
      const made = createRancherCloud(
        distribution,
        { server, authorize },
        {
          sleep: async (delayMs) => {
            slept.push(delayMs);
            now += delayMs;
          },
          now: () => now,
          random: () => 0.5,
          maxListAgeMs: 0,
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
