import { describe, expect, test } from "vitest";
import { describeServicesBeyondLimit, findSharedWork } from "#cli/handover/one-at-a-time.ts";
import type { ObservedController, SecondCcm } from "#core/second-ccm.ts";

const NODES = ["cloud-node-controller", "cloud-node-lifecycle-controller"] as const;
const ALL = [...NODES, "service-lb-controller", "node-route-controller", "tagging"] as const;

function stock(isLive: boolean, ...recent: readonly ObservedController["name"][]): SecondCcm {
  const lastSeen = "2026-03-01T12:00:00Z";
  return {
    manager: "aws-cloud-controller-manager",
    lastSeen,
    isLive,
    controllers: recent.map((name) => ({ name, lastSeen, by: "event", isRecent: true })),
  };
}

describe("a hand-over", () => {
  test.each(["service-lb-controller", "node-route-controller"] as const)(
    "is rejected while the stock controller still runs %s, with the flag that stops it",
    (name) => {
      const why = findSharedWork("over", [...NODES, name], [stock(true, name)], false);
      expect(why).toContain(`aws-cloud-controller-manager still runs ${name}`);
      expect(why).toContain(`Restart it with --controllers=*,-${name},`);
      expect(why).toContain("`serverless-ccm handover` again with --anyway");
    },
  );

  test("is rejected while the stock controller is active and may run what leaves no trace", () => {
    const why = findSharedWork("over", ALL, [stock(true, "cloud-node-controller")], false);
    expect(why).toContain("may run service-lb-controller, node-route-controller, tagging");
    expect(why).toContain("--controllers=*,-service-lb-controller,-node-route-controller,-tagging");
  });

  test.each([
    ["of nodes alone", NODES, [stock(true, "cloud-node-controller", "service-lb-controller")], false],
    ["after a stock controller that has stopped", ALL, [stock(false)], false],
    ["without a stock controller", ALL, [], false],
    ["that the operator answers for", ALL, [stock(true, "service-lb-controller")], true],
  ] as const)("%s continues", (_, controllers, others, anyway) => {
    expect(findSharedWork("over", controllers, others, anyway)).toBeUndefined();
  });

  test("reports if more Services request a load balancer than the cluster may have", () => {
    expect(describeServicesBeyondLimit(100, 100)).toBeUndefined();
    expect(describeServicesBeyondLimit(120, 100)).toMatch(
      /^note: 120 Services of type LoadBalancer, and loadBalancers\.max is 100: .* no new one is made .* Set loadBalancers\.max to 120/,
    );
  });
});

test("a hand-back is rejected while both would run Services", () => {
  expect(findSharedWork("back", ALL, [stock(true, "service-lb-controller")], false)).toContain(
    "`serverless-ccm handback` again with --anyway",
  );
});
