import { describe, expect, test } from "vitest";
import { awsLoadBalancerModel as model } from "#clouds/aws/load-balancers/model.ts";
import { GRACE_MS, planUnusedRules } from "#clouds/aws/load-balancers/orphans/unused-rules.ts";
import { buildPermissions, parsePermissions } from "#clouds/aws/load-balancers/vpc/rules.ts";
import type { FakeElbv2 } from "#test/clouds/aws/load-balancers/fake-elbv2.ts";
import { audit, auditForAnHour, planAudit } from "#test/clouds/aws/load-balancers/network/audit.ts";
import {
  buildDeletionQuestion,
  buildQuestion,
  buildService,
  buildSettings,
  converge,
  createNetworkWorld,
  NAME,
  observe,
} from "#test/clouds/aws/load-balancers/network/world.ts";

const PROBED = buildSettings({ clusterServiceLoadBalancerHealthProbeMode: "Shared" });
const RANGES = ["192.0.2.0/24"];
const web = buildService({ loadBalancerSourceRanges: RANGES });
const api = buildService(
  { loadBalancerSourceRanges: RANGES, ports: [{ protocol: "TCP", port: 443, nodePort: 31443 }] },
  {},
  { name: "api", uid: "00000000-8d1b-4c7e-9a44-0b1c2d3e4f50" },
);
const DESCRIBE = "ec2:UpdateSecurityGroupRuleDescriptionsIngress";

function rules(aws: FakeElbv2): string[] {
  const found = aws.vpc.groups.find(({ group }) => group.GroupName === "nodes");
  return parsePermissions(found?.ingress ?? [])
    .map(({ protocol, ports, peer, description }) => `${protocol} ${ports?.join("-")} ${peer} ${description}`)
    .sort();
}

const health = (aws: FakeElbv2) => rules(aws).filter((rule) => rule.includes("10256"));
const mtu = (aws: FakeElbv2) => rules(aws).filter((rule) => rule.startsWith("icmp"));

/**
 * Describes the shared rules for a health check by one of the load balancers, as older versions and the stock
 * controller do.
 */
function describeAsBefore(aws: FakeElbv2, name = NAME): void {
  aws.vpc = {
    ...aws.vpc,
    groups: aws.vpc.groups.map((of) => ({
      ...of,
      ingress: buildPermissions(
        parsePermissions(of.ingress).map((rule) =>
          rule.ports?.[0] === 10_256
            ? { ...rule, description: `kubernetes.io/rule/nlb/health=${name}` }
            : rule,
        ),
      ),
    })),
  };
}

test("the rule for path MTU discovery stays for clients that a health check rule allows in", () => {
  const aws = createNetworkWorld();
  const spec = { ports: [{ protocol: "TCP", port: 443, nodePort: 31_443 }] };
  converge(aws, buildQuestion(buildService({ ...spec, loadBalancerSourceRanges: RANGES })));
  const hidden = { "target-group-attributes": "preserve_client_ip.enabled=false" };
  const changed = buildQuestion(buildService({ ...spec, loadBalancerSourceRanges: RANGES }, hidden));
  converge(aws, changed);
  const before = mtu(aws);
  auditForAnHour(aws);
  expect(mtu(aws)).toEqual(before);
  const done = aws.done.length;
  converge(aws, changed);
  expect(aws.done.length).toBe(done);
});

describe("the rules for a health check that Services share", () => {
  test("are described as shared, and stay while any Service has its check there", () => {
    const aws = createNetworkWorld();
    converge(aws, buildQuestion(web), PROBED);
    converge(aws, buildQuestion(api), PROBED);
    expect(health(aws)).toEqual([
      "tcp 10256-10256 10.0.1.0/24 serverless-ccm.io/rule/nlb/health",
      "tcp 10256-10256 10.0.2.0/24 serverless-ccm.io/rule/nlb/health",
    ]);
    converge(aws, buildDeletionQuestion(web), PROBED);
    auditForAnHour(aws);
    expect(health(aws)).toHaveLength(2);
    converge(aws, buildDeletionQuestion(api), PROBED);
    expect(health(aws)).toHaveLength(2);
    auditForAnHour(aws);
    expect(rules(aws)).toEqual([]);
  });

  test("stay for others if the deleted Service is in their description, as in older versions", () => {
    const aws = createNetworkWorld();
    converge(aws, buildQuestion(web), PROBED);
    converge(aws, buildQuestion(api), PROBED);
    describeAsBefore(aws);
    converge(aws, buildDeletionQuestion(web), PROBED);
    expect(health(aws)).toHaveLength(2);
    auditForAnHour(aws);
    expect(health(aws)).toHaveLength(2);
    converge(aws, buildDeletionQuestion(api), PROBED);
    auditForAnHour(aws);
    expect(rules(aws)).toEqual([]);
  });

  test("get the shared description by the audit, in place", () => {
    const aws = createNetworkWorld();
    converge(aws, buildQuestion(web), PROBED);
    converge(aws, buildQuestion(api), PROBED);
    describeAsBefore(aws);
    expect(audit(aws, 0)).toEqual([DESCRIBE, DESCRIBE]);
    expect(health(aws)[0]).toMatch(/ serverless-ccm\.io\/rule\/nlb\/health$/);
    expect(audit(aws, 10)).toEqual([]);
    const before = aws.done.length;
    converge(aws, buildQuestion(web), PROBED);
    expect(aws.done.length).toBe(before);
  });

  test("belong to one Service if another cluster's load balancer is checked at the same port of other nodes", () => {
    const aws = createNetworkWorld();
    const local = { ...web.spec, externalTrafficPolicy: "Local", healthCheckNodePort: 32_000 };
    const ours = buildService(local, {}, { name: "ours" });
    const theirs = buildService(local, {}, { name: "theirs", uid: "11111111-8d1b-4c7e-9a44-0b1c2d3e4f50" });
    converge(aws, buildQuestion(ours));
    converge(aws, buildQuestion(theirs));
    for (const one of aws.balancers.values())
      if (one.tags["kubernetes.io/service-name"] === "default/theirs")
        Object.assign(one, { tags: { "kubernetes.io/cluster/other": "owned" } });
    const own = () => rules(aws).filter((rule) => rule.includes("32000"));
    const before = own();
    expect(before).toHaveLength(2);
    auditForAnHour(aws);
    expect(own()).toEqual(before);
    converge(aws, buildDeletionQuestion(ours));
    auditForAnHour(aws);
    expect(own()).toEqual([]);
  });

  test("for ports made equal by annotation stay as well", () => {
    const aws = createNetworkWorld();
    const named = { "healthcheck-port": "9000" };
    const [one, other] = [web, api].map((of) =>
      buildService(of.spec, named, { name: of.metadata.name, uid: of.metadata.uid }),
    );
    if (one === undefined || other === undefined) throw new Error("two Services");
    converge(aws, buildQuestion(one));
    converge(aws, buildQuestion(other));
    converge(aws, buildDeletionQuestion(one));
    auditForAnHour(aws);
    expect(rules(aws).filter((rule) => rule.includes("9000"))).toHaveLength(2);
  });
});

describe("the rule for path MTU discovery", () => {
  test("stays if a load balancer is created while another one is deleted", () => {
    const aws = createNetworkWorld();
    converge(aws, buildQuestion(web));
    const coming = buildQuestion(api);
    let seen: unknown = observe(aws, coming);
    converge(aws, buildDeletionQuestion(web));
    audit(aws, 0);
    for (let step = model.planStep(coming, seen, buildSettings()); step.kind === "act"; ) {
      for (const action of step.actions) seen = model.applyResult(seen, action, aws.apply(action));
      step = model.planStep(coming, seen, buildSettings());
    }
    expect(mtu(aws)).toHaveLength(1);
    auditForAnHour(aws);
    expect(mtu(aws)).toEqual(["icmp 3-4 192.0.2.0/24 kubernetes.io/rule/nlb/mtu"]);
  });

  test("is removed when no client of its network has been allowed for ten minutes", () => {
    const aws = createNetworkWorld();
    converge(aws, buildQuestion(web));
    converge(aws, buildDeletionQuestion(web));
    expect(audit(aws, 0)).toEqual([DESCRIBE]);
    expect(mtu(aws)).toEqual([
      "icmp 3-4 192.0.2.0/24 kubernetes.io/rule/nlb/mtu unused since 2026-03-01T12:00:00.000Z",
    ]);
    expect(audit(aws, GRACE_MS / 60_000 - 1)).toEqual([]);
    expect(audit(aws, GRACE_MS / 60_000)).toEqual(["ec2:RevokeSecurityGroupIngress"]);
    expect(rules(aws)).toEqual([]);
  });
});

test("shared rules of a group stay as they are without proof that it is the cluster nodes' group", () => {
  const aws = createNetworkWorld();
  converge(aws, buildQuestion(web), PROBED);
  converge(aws, buildDeletionQuestion(web), PROBED);
  aws.vpc = { ...aws.vpc, groups: aws.vpc.groups.map((each) => ({ ...each, tags: {} })) };
  const before = rules(aws);
  auditForAnHour(aws);
  expect(before.length).toBeGreaterThan(0);
  expect(rules(aws)).toEqual(before);
  aws.vpc = { ...aws.vpc, groups: aws.vpc.groups.map((each) => ({ ...each, isOnNodesAlone: true })) };
  auditForAnHour(aws);
  expect(rules(aws)).toEqual([]);
});

test("rules of others, and those in groups of other clusters, stay as they are", () => {
  const aws = createNetworkWorld();
  const rule = (description: string | undefined, from: "ipv4" | "group" = "ipv4", peer = "192.0.2.0/24") =>
    ({ protocol: "tcp", ports: [10_256, 10_256], from, peer, description }) as const;
  const ingress = buildPermissions([rule("by hand"), rule(undefined, "group", "sg-bastion")]);
  const theirs = buildPermissions([
    rule("kubernetes.io/rule/nlb/mtu"),
    rule("kubernetes.io/rule/nlb/health=a1", "group", "sg-1"),
  ]);
  const [nodes] = aws.vpc.groups;
  if (nodes === undefined) throw new Error("no group of nodes");
  const foreign = {
    group: { GroupId: "sg-f", GroupName: "f" },
    tags: { "kubernetes.io/cluster/other": "owned" },
  };
  aws.vpc = {
    ...aws.vpc,
    groups: [
      { ...nodes, ingress },
      { ...foreign, ingress: theirs },
    ],
  };
  expect(planAudit(aws, 0)).toEqual([]);
});

describe("the rule for a group that classic load balancers share", () => {
  const NOW = new Date("2026-03-01T12:00:00Z");
  const state = (description: string | undefined, on: readonly string[], own = on) => ({
    groups: [
      {
        group: { GroupId: "sg-nodes", GroupName: "nodes" },
        tags: { "kubernetes.io/cluster/prod": "shared" },
        ingress: buildPermissions([
          { protocol: "-1", ports: undefined, from: "group", peer: "sg-byo", description },
          { protocol: "-1", ports: undefined, from: "group", peer: "sg-own", description: undefined },
        ]),
      },
      { group: { GroupId: "sg-own", GroupName: "k8s-elb-a1" }, tags: {}, ingress: [] },
    ],
    checkedPorts: [],
    networkGroups: [],
    classicGroups: on,
    ownClassicGroups: own,
  });
  const SHARED = "serverless-ccm.io/rule/elb/backend";
  const told = (given: ReturnType<typeof state>) =>
    planUnusedRules(given, NOW, buildSettings()).map(({ action, parameters }) => [
      action.replace("ec2:", "").replace("SecurityGroup", ""),
      parsePermissions(parameters["IpPermissions"] as never)[0]?.description,
    ]);

  test.each([
    ["stays while one of them has it", state(SHARED, ["sg-byo"]), []],
    [
      "is described as unused when no load balancer has it",
      state(SHARED, []),
      [["UpdateRuleDescriptionsIngress", `${SHARED} unused since ${NOW.toISOString()}`]],
    ],
    [
      "goes after a while",
      state(`${SHARED} unused since 2026-03-01T11:50:00.000Z`, []),
      [["RevokeIngress", `${SHARED} unused since 2026-03-01T11:50:00.000Z`]],
    ],
    [
      "is described as before when one has it again",
      state(`${SHARED} unused since 2026-03-01T11:50:00.000Z`, ["sg-byo"]),
      [["UpdateRuleDescriptionsIngress", SHARED]],
    ],
    [
      "of an older version is taken on while a load balancer of the cluster has it",
      state(undefined, ["sg-byo", "sg-own"]),
      [["UpdateRuleDescriptionsIngress", SHARED]],
    ],
    ["by hand stays as it is", state(undefined, ["sg-byo"], []), []],
  ])("%s", (_, given, expected) => {
    expect(told(given)).toEqual(expected);
  });
});
