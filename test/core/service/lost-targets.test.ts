import { describe, expect, test } from "vitest";
import type { DecisionContext } from "#core/controller.ts";
import type { Issue, TargetNode } from "#core/service/model.ts";
import {
  buildContext,
  buildListing,
  buildRelated,
  buildServedService,
  buildService,
  converge,
  createController,
  type Script,
} from "#test/core/service/builders.ts";

const WISH = JSON.stringify([{ protocol: "TCP", port: 80, nodePort: 30_080 }]);
const BOTH = { wish: WISH, targets: ["i-a", "i-b"] };
const SERVED = await buildServedService();
const A: TargetNode = { name: "a", providerID: "i-a" };
const B: TargetNode = { name: "b", providerID: "i-b" };
const C: TargetNode = { name: "c", providerID: "i-c" };
const NAMED: Script = { lostTargets: "by instance" };
const UNNAMED: Script = { lostTargets: "without their nodes" };
const PROBLEM: Issue = { code: "InvalidAnnotation", field: "example.kubernetes.io/a", value: "b" };
const REFUSED: Script = { ...NAMED, before: { kind: "refused", issue: PROBLEM }, follows: true };

/** An audit by an event with node `a` alone. */
const AUDIT = { reason: "refresh", related: buildRelated([A]) } as const;

/** The audit after the API server has listed these nodes. */
function listing(...nodes: readonly TargetNode[]): DecisionContext {
  return buildListing(nodes, 0, AUDIT);
}

describe("a load balancer with a target that is not a node of the event", () => {
  test.each<[string, Script, DecisionContext, string, number]>([
    ["no list of nodes was requested", NAMED, buildContext(AUDIT), "the nodes cannot be listed", 10],
    [
      "the API server still lists its node",
      NAMED,
      listing(A, B),
      "the API server lists 1 nodes with targets",
      2,
    ],
    [
      "its node is unknown, and the API server lists another node that the event lacks",
      UNNAMED,
      listing(A, C),
      "the API server lists 1 nodes with targets",
      2,
    ],
  ])("keeps the target while %s", async (_, script, asked, message, afterSeconds) => {
    const { object, shelf, decisions } = await converge(SERVED, BOTH, asked, script);
    expect([object, shelf]).toEqual([SERVED, BOTH]);
    expect(decisions).toMatchObject([
      {
        kind: "retry",
        afterSeconds,
        because: { code: "LoadBalancerInProgress", message: expect.stringContaining(message) },
      },
    ]);
  });

  test.each<[string, Script, DecisionContext]>([
    ["the API server does not list its node", NAMED, listing(A)],
    ["all other listed nodes never were its targets", NAMED, listing(A, C)],
    ["its node is unknown, and the API server lists no node that the event lacks", UNNAMED, listing(A)],
    [
      "its node is unknown, and the other listed node cannot be a target yet",
      UNNAMED,
      listing(A, { name: "c" }),
    ],
    ["the cloud reports no lost targets", {}, buildContext(AUDIT)],
  ])("loses the target if %s", async (_, script, asked) => {
    const { shelf, decisions } = await converge(SERVED, BOTH, asked, script);
    expect(shelf).toEqual({ wish: WISH, targets: ["i-a"] });
    expect(decisions.at(-1)?.kind).toBe("unchanged");
  });

  test("keeps the target while its Service is refused and no list was requested, and reports the refusal", async () => {
    const { object, shelf, decisions } = await converge(SERVED, BOTH, buildContext(AUDIT), REFUSED);
    expect([object, shelf]).toEqual([SERVED, BOTH]);
    expect(decisions).toMatchObject([
      { kind: "retry", afterSeconds: 10, because: { code: "InvalidAnnotation" } },
    ]);
  });

  test("loses the target while its Service is refused and its node is not listed", async () => {
    const { shelf } = await converge(SERVED, BOTH, listing(A), REFUSED);
    expect(shelf).toEqual({ wish: WISH, targets: ["i-a"] });
  });
});

describe("the nodes are", () => {
  const ONE = { kind: "observed", state: { wish: WISH, targets: ["i-a"] } } as const;
  const TWO = { kind: "observed", state: BOTH } as const;
  const NONE = { kind: "error", code: "Throttled", message: "slow down" } as const;

  test.each([
    ["listed before a target is removed", NAMED, SERVED, TWO, true],
    ["listed before a refused Service loses a target", REFUSED, SERVED, TWO, true],
    ["not listed if no target is lost", NAMED, SERVED, ONE, false],
    ["not listed if the cloud did not answer", NAMED, SERVED, NONE, false],
    ["not listed on a cloud that reports no lost targets", {}, SERVED, TWO, false],
    ["not listed for a refused Service without a load balancer", REFUSED, buildService(), TWO, false],
  ])("%s", async (_, script, object, answer, isListed) => {
    const controller = await createController(script);
    const reference = controller.getStateReference?.(
      [{ object, answer, hint: undefined }],
      buildContext(AUDIT),
    );
    expect(reference !== undefined).toBe(isListed);
  });
});
