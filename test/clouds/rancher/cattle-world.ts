import { createCattleCloud } from "#clouds/rancher/cattle/cloud.ts";
import { cattleSign } from "#clouds/rancher/cattle/sign.ts";
import { type FakedWorld, fakedWorld } from "#test/clouds/faked-world.ts";
import {
  ACCESS_KEY,
  type FakeCattle,
  SECRET_KEY,
  startFakeCattle,
} from "#test/clouds/rancher/fake-cattle.ts";

/** A fake environment, and clouds on it. */
export type CattleWorld = FakedWorld<FakeCattle, never>;

export const KEYS = { CATTLE_ACCESS_KEY: ACCESS_KEY, CATTLE_SECRET_KEY: SECRET_KEY };

export async function aCattleWorld(): Promise<CattleWorld> {
  const fake = await startFakeCattle();
  const server = { url: fake.url };
  const access = { server, sign: cattleSign(server, KEYS, "blue") };
  return fakedWorld(fake, (_, options) => createCattleCloud(access, options));
}
