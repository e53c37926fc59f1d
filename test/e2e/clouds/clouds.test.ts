import { test } from "vitest";
import { type CloudLife, playCloud } from "#test/e2e/clouds/play-cloud.ts";
import { startEmbeddedCluster } from "#test/e2e/clouds/stage-plane.ts";
import { STAGED_CLOUDS } from "#test/e2e/clouds/staged-clouds.ts";

// A small cluster on the embedded API server, with each cloud's fake. `npm run test:clouds` runs a hundred
// nodes on a real one for each cloud. It also deletes Services before they have an address, and then waits
// for late resources.
const LIFE: CloudLife = { nodes: 25, gone: 5, deletions: ["with its address"] };

test.concurrent.for(["digitalocean", "openstack"])(
  "%s: nodes come up, and go with their instances; a Service gets its load balancer",
  async (provider, { expect }) => {
    const cloud = await STAGED_CLOUDS[provider]?.();
    if (cloud === undefined) throw new Error(`${provider} is not staged`);
    const cluster = await startEmbeddedCluster();
    try {
      expect(await playCloud(cloud, cluster, LIFE)).toEqual({
        up: 25,
        naked: 0,
        deleted: 5,
        deletedWrongly: 0,
        isToldOfGone: true,
        requests: expect.any(Number),
        services: cloud.loadBalancers === undefined ? [] : [{ name: "web", gone: "with its address" }],
        problems: [],
      });
    } finally {
      await cluster.close();
    }
    await cloud.close();
  },
);
