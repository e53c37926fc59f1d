import { expect, test } from "vitest";
import type { AccountLimits, AccountUse } from "#clouds/aws/account-limits.ts";
import { checkLimits } from "#clouds/aws/check-limits.ts";
import type { CheckResult } from "#core/check-result.ts";
import type { Service } from "#core/service/service.ts";
import { buildService } from "#test/core/service/builders.ts";

const LIMITS: AccountLimits = {
  "network-load-balancers": 10,
  "target-groups": 20,
  "listeners-per-network-load-balancer": 4,
  "targets-per-network-load-balancer": 20,
  "targets-per-availability-zone-per-network-load-balancer": 12,
  "classic-load-balancers": 10,
  "classic-listeners": 4,
  "classic-registered-instances": 20,
};

const names = (count: number): ReadonlySet<string> =>
  new Set(Array.from({ length: count }, (_, index) => `other-${index}`));
const use = (of: { network?: number; classic?: number; targetGroups?: number }): AccountUse => ({
  network: names(of.network ?? 0),
  classic: names(of.classic ?? 0),
  targetGroups: of.targetGroups ?? 0,
});
const nodes = (count: number, zone = "a") =>
  Array.from({ length: count }, (_, index) => ({ providerID: `aws:///eu-1${zone}/i-${index}` }));

let made = 0;
function some(count: number, kind: "nlb" | "clb", ports = 1, spec: Partial<Service["spec"]> = {}): Service[] {
  const annotations: Record<string, string> =
    kind === "nlb" ? { "service.beta.kubernetes.io/aws-load-balancer-type": "nlb" } : {};
  const all = Array.from({ length: ports }, (_, index) => ({ port: 80 + index, nodePort: 30_080 + index }));
  return Array.from({ length: count }, () =>
    buildService({
      metadata: { uid: `uid-${++made}`, annotations },
      spec: { ports: all, ...spec } as Service["spec"],
    }),
  );
}
const both = ["TCP", "UDP"].map((protocol) => ({ protocol, port: 53, nodePort: 30_053 }));

test.each<
  [string, AccountUse, readonly Service[], ReturnType<typeof nodes>, CheckResult["outcome"], string, string?]
>([
  [
    "an empty account",
    use({}),
    [],
    [],
    "ok",
    "network load balancers 0 of 10; target groups 0 of 20; classic load",
  ],
  [
    "room for the requested network load balancers",
    use({ network: 5 }),
    some(3, "nlb"),
    [],
    "ok",
    "network load balancers 5 and 3 requested, of 10",
  ],
  [
    "nine of ten network load balancers",
    use({ network: 6 }),
    some(3, "nlb"),
    [],
    "warning",
    "6 and 3 requested, of 10",
    "network load balancers: request",
  ],
  [
    "all network load balancers in use",
    use({ network: 10 }),
    [],
    [],
    "warning",
    "network load balancers 10 of 10",
    "network load balancers: request",
  ],
  [
    "more network load balancers than the quota",
    use({ network: 9 }),
    some(2, "nlb"),
    [],
    "failed",
    "9 and 2 requested, of 10",
    "network load balancers: request",
  ],
  [
    "more classic load balancers than their quota",
    use({ network: 1, classic: 10 }),
    some(1, "clb"),
    [],
    "failed",
    "classic load balancers 10 and 1 requested, of 10",
    "classic load balancers: request",
  ],
  [
    "a target group for each port",
    use({ targetGroups: 15 }),
    some(2, "nlb", 3),
    [],
    "failed",
    "target groups 15 and 6 requested, of 20",
    "target groups: request",
  ],
  [
    "one target group for TCP and UDP of one port",
    use({}),
    some(1, "nlb", 1, { ports: both }),
    [],
    "ok",
    "target groups 0 and 1 requested, of 20",
  ],
  [
    "more ports than listeners of a network load balancer",
    use({}),
    some(1, "nlb", 5),
    [],
    "failed",
    "listeners per network load balancer 5 of 4",
    "listeners per network load balancer: request",
  ],
  [
    "ports beyond the listeners per classic load balancer",
    use({}),
    some(1, "clb", 5),
    [],
    "failed",
    "listeners per classic load balancer 5 of 4",
    "listeners per classic load balancer: request",
  ],
  [
    "more targets than allowed in a zone",
    use({}),
    some(1, "nlb"),
    nodes(13),
    "warning",
    "and zone 13 of 12",
    "targets per network load balancer and zone: request",
  ],
  [
    "as many targets in two zones",
    use({}),
    some(1, "nlb", 1),
    [...nodes(8), ...nodes(8, "b")],
    "ok",
    "targets per network load balancer 16 of 20; targets per network load balancer and zone 8 of 12",
  ],
  [
    "targets counted for each port",
    use({}),
    some(1, "nlb", 2),
    [...nodes(6), ...nodes(6, "b")],
    "warning",
    "targets per network load balancer 24 of 20",
    "targets per network load balancer, ",
  ],
  [
    "nodes that are not instances",
    use({}),
    some(1, "clb"),
    [{ providerID: "other://x/i-1" }, { providerID: "" }],
    "ok",
    "instances per classic load balancer 0 of 20",
  ],
  [
    "more instances than a classic load balancer allows",
    use({}),
    some(1, "clb"),
    nodes(21),
    "failed",
    "instances per classic load balancer 21 of 20",
    "instances per classic load balancer: request",
  ],
  [
    "Services of another class",
    use({ network: 10, classic: 8 }),
    some(5, "nlb", 1, { loadBalancerClass: "example.com/x" }),
    [],
    "warning",
    "network load balancers 10 of 10; target groups 0 of 20",
    "network load balancers: request",
  ],
])("limits: %s", (_, used, services, of, outcome, message, remedy) => {
  const finding = checkLimits(LIMITS, used, { services, nodes: of });
  expect(finding).toMatchObject({ outcome, message: expect.stringContaining(message) });
  if (remedy === undefined) expect(finding.remedy).toBeUndefined();
  else expect(finding.remedy).toContain(remedy);
});

test("an existing load balancer needs no quota, even if another controller made it for the Service", () => {
  const [one] = some(1, "clb");
  const classic = new Set([`a${one?.metadata.uid.replaceAll("-", "")}`]);
  const finding = checkLimits(LIMITS, { ...use({}), classic }, { services: one ? [one] : [], nodes: [] });
  expect(finding.message).toContain("classic load balancers 1 of 10");
});

test("limits that AWS does not return are not checked", () => {
  const needs = { services: some(3, "nlb"), nodes: [] };
  expect(checkLimits({ "target-groups": 9 }, use({}), needs).message).toBe(
    "target groups 0 and 3 requested, of 9",
  );
  expect(checkLimits({}, use({}), needs).outcome).toBe("warning");
});

test.each<[string, number | undefined, AccountLimits, CheckResult["outcome"]]>([
  ["equal to the account's quota", 10, LIMITS, "ok"],
  ["above the account's quota", 11, LIMITS, "warning"],
  ["above the quota of one kind only", 11, { ...LIMITS, "network-load-balancers": 50 }, "ok"],
  ["not set", undefined, LIMITS, "ok"],
  ["unknown quotas", 5_000, { "target-groups": 20 }, "ok"],
])("a configured maximum of the cluster: %s", (_, max, limits, outcome) => {
  const finding = checkLimits(limits, use({}), { services: [], nodes: [], max });
  expect(finding.outcome).toBe(outcome);
  if (outcome === "warning") expect(finding.message).toContain("loadBalancers.max is 11");
});
