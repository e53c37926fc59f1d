import { expect, test } from "vitest";
import { createInvocationLimiter } from "#relay/delivery/create-invocation-limiter.ts";
import type { InvocationEnd } from "#relay/delivery/invocation-limiter.ts";
import { createRelayMetrics } from "#relay/report/metrics.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";

test("the metrics show slowed clusters, failed functions and waiting invocations, while these last", async () => {
  const clock = createManualClock();
  const limiter = createInvocationLimiter({ clock, random: () => 0.5 });
  const metrics = createRelayMetrics();
  metrics.followLimiter(limiter.status);
  const shown = async (): Promise<string[]> =>
    (await metrics.text())
      .split("\n")
      .filter((line) => /^serverless_ccm_(cluster_slowed|platform_open|waiting_invocations)/.test(line));
  const end = (cluster: string, code: string, refused: boolean): void => {
    const request = { controller: "cloud-node-controller", cluster, quotaKey: "a", floorShare: 0.05 };
    const how: InvocationEnd = { code, refused, settleMs: 0, durationMs: 100, usage: undefined };
    limiter.enter(request, () => {})?.ended(how);
  };
  end("slow", "FunctionError", false);
  end("other", "Denied", true);
  end("waits", "Denied", true);
  expect(await shown()).toEqual([
    'serverless_ccm_cluster_slowed{cluster="slow"} 1',
    'serverless_ccm_platform_open{function="cloud-node-controller"} 1',
    "serverless_ccm_waiting_invocations 1",
  ]);
  await clock.advance(60_000);
  end("other", "FunctionError", false);
  await clock.advance(60_000);
  expect(await shown()).toEqual([
    'serverless_ccm_platform_open{function="cloud-node-controller"} 0',
    "serverless_ccm_waiting_invocations 0",
  ]);
});
