import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { getBuiltCommandLine } from "#test/build/shared-build.ts";
import { playSharding } from "#test/sharding/play-sharding.ts";
import { createReplicas, waitUntilFollowed } from "#test/sharding/replicas.ts";
import { startTenants } from "#test/sharding/tenants.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

const say = (): void => {};

describe("three replicas of six clusters, of which one is killed, one added and one stopped,", () => {
  test("follow their clusters, and each node comes up", async () => {
    await playSharding({ clusters: 6, everyMs: 200, say });
  }, 240_000);
});

describe("two replicas by a list, one of them with the functions,", () => {
  test("follow their clusters, even after the other one has ended", async () => {
    const folder = await mkdtemp(join(tmpdir(), "sharding-list-"));
    const tenants = await startTenants(folder, 4, undefined);
    const program = join(await getBuiltCommandLine(), "serverless-ccm.mjs");
    const replicas = createReplicas(tenants, () => ["--shard-replicas=a,b"], program);
    try {
      await Promise.all([replicas.start("a", "--workers=0"), replicas.start("b", "--as-run")]);
      await waitUntilFollowed(replicas, "at first");
      const shares = await replicas.followed();
      const [own] = shares.get("b") ?? [];
      expect(shares.get("a")?.length).toBeGreaterThan(0);
      expect(own).toMatch(/^tenant-\d ok$/);
      expect(await replicas.end("a", "SIGTERM")).toBe(0);
      const cluster = own?.replace(" ok", "") ?? "";
      const node = await tenants.register(cluster);
      await waitUntilTrue("a node of the other's to be up", () => tenants.isUp(cluster, node));
      expect((await replicas.followed()).get("b")).toEqual(shares.get("b"));
      expect(await replicas.readiness("b")).toContain("replica b of a, b: ");
    } finally {
      await replicas.close();
      await tenants.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
});
