import type { Cloud } from "#clouds/cloud.ts";
import type { HttpCloudOptions } from "#clouds/http/cloud-options.ts";
import { createCattleCloud } from "#clouds/rancher/cattle/cloud.ts";
import { cattleSign } from "#clouds/rancher/cattle/sign.ts";
import {
  ACCESS_KEY,
  type FakeCattle,
  SECRET_KEY,
  startFakeCattle,
} from "#test/clouds/rancher/fake-cattle.ts";

/** A fake environment, and clouds on it that wait no time. */
export interface CattleWorld {
  readonly fake: FakeCattle;
  cloud(options?: HttpCloudOptions): Cloud;
  close(): Promise<void>;
}

export const KEYS = { CATTLE_ACCESS_KEY: ACCESS_KEY, CATTLE_SECRET_KEY: SECRET_KEY };

export async function aCattleWorld(): Promise<CattleWorld> {
  const fake = await startFakeCattle();
  const clouds: Cloud[] = [];
  let now = 0;
  return {
    fake,
    cloud(options) {
      const server = { url: fake.url };
      const made = createCattleCloud(
        { server, sign: cattleSign(server, KEYS, "blue") },
        {
          sleep: async (delayMs) => {
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
