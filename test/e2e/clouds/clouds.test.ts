import { test } from "vitest";
import { playCloud } from "#test/e2e/clouds/play-cloud.ts";
import { startEmbeddedCluster } from "#test/e2e/clouds/stage-plane.ts";
import { STAGED_CLOUDS } from "#test/e2e/clouds/staged-clouds.ts";

// A small cluster on the embedded API server, on one cloud with load balancers and one without; `npm run test:clouds` plays a hundred
// nodes on a real one, on each cloud.
test.concurrent.for(["digitalocean", "openstack"])(
  "%s: nodes come up, and go with their instances; a Service has its load balancer",
  async (provider, { expect }) => {
    const cloud = await STAGED_CLOUDS[provider]?.();
    if (cloud === undefined) throw new Error(`${provider} is not staged`);
    const cluster = await startEmbeddedCluster();
    try {
      expect(await playCloud(provider, cloud, cluster, { nodes: 25, gone: 5 })).toEqual({
        provider,
        up: 25,
        naked: 0,
        deleted: 5,
        deletedWrongly: 0,
        requests: expect.any(Number),
        service: cloud.loadBalancers === undefined ? "none" : "made and gone",
        problems: [],
      });
    } finally {
      await cluster.close();
    }
    await cloud.close();
  },
);
