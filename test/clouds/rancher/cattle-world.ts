import { createCattleCloud, createCattleSigner } from "#clouds/rancher/cattle/cloud.ts";
import { createFakedWorld, type FakedWorld } from "#test/clouds/faked-world.ts";
import {
  ACCESS_KEY,
  type FakeCattle,
  SECRET_KEY,
  startFakeCattle,
} from "#test/clouds/rancher/fake-cattle.ts";

/** A fake environment, and clouds on it. */
export type CattleWorld = FakedWorld<FakeCattle, never>;

export const KEYS = { CATTLE_ACCESS_KEY: ACCESS_KEY, CATTLE_SECRET_KEY: SECRET_KEY };

export async function createCattleWorld(): Promise<CattleWorld> {
  const fake = await startFakeCattle();
  const server = { url: fake.url };
  const access = { server, sign: createCattleSigner(server, KEYS, "blue") };
  return createFakedWorld(fake, (_, options) => createCattleCloud(access, options));
}
