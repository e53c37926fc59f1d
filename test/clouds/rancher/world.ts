import { createFixedToken } from "#clouds/http/authorizer.ts";
import { createRancherCloud } from "#clouds/rancher/cloud.ts";
import type { Distribution } from "#clouds/rancher/config.ts";
import { createFakedWorld, type FakedWorld } from "#test/clouds/faked-world.ts";
import {
  CLUSTER,
  type FakeManagement,
  NAMESPACE,
  startFakeManagement,
  TOKEN,
} from "#test/clouds/rancher/fake-management.ts";

/** A fake management server, and clouds on it of one distribution or the other. */
export type RancherWorld = FakedWorld<FakeManagement, Distribution>;

/** Creates the world; by default lists are read again each time. */
export async function createRancherWorld(): Promise<RancherWorld> {
  const fake = await startFakeManagement();
  const server = { url: fake.url, cluster: CLUSTER, namespace: NAMESPACE };
  const access = { server, authorize: createFixedToken(TOKEN, "the token") };
  return createFakedWorld(fake, (distribution = "rke2", options) =>
    createRancherCloud(distribution, access, { maxListAgeMs: 0, ...options }),
  );
}
