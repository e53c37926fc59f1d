import { describe, expect, test } from "vitest";
import { awsLoadBalancerModel as model } from "#clouds/aws/load-balancers/model.ts";
import { formatSharedGroupName } from "#clouds/aws/load-balancers/network/shared-group.ts";
import { parsePermissions } from "#clouds/aws/load-balancers/vpc/rules.ts";
import type { LoadBalancerQuestion } from "#core/service/model.ts";
import type { FakeElbv2 } from "#test/clouds/aws/load-balancers/fake-elbv2.ts";
import { audit, auditForAnHour } from "#test/clouds/aws/load-balancers/network/audit.ts";
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

const SHARED = buildSettings({ sharedBackendSecurityGroup: true });
const MANAGED = buildSettings({ nlbSecurityGroupMode: "Managed" });

/** Returns the rules of a group by its name, such as `tcp 80-80 0.0.0.0/0 description`. */
function rules(aws: FakeElbv2, name = "nodes"): string[] {
  const nameOf = (id: string) =>
    aws.vpc.groups.find(({ group }) => group.GroupId === id)?.group.GroupName ?? id;
  const found = aws.vpc.groups.find(({ group }) => group.GroupName === name);
  return parsePermissions(found?.ingress ?? [])
    .map(({ protocol, ports, peer, description }) =>
      [protocol, ports?.join("-"), nameOf(peer), description].filter(Boolean).join(" "),
    )
    .sort();
}

function groupsOf(aws: FakeElbv2, of = buildService()): (string | undefined)[] {
  const ids = observe(aws, buildQuestion(of)).network?.loadBalancer.SecurityGroups ?? [];
  return ids.map((id) => aws.vpc.groups.find(({ group }) => group.GroupId === id)?.group.GroupName);
}

/**
 * Carries out the actions of a process after an observation; returns undefined if it is cut off after so many
 * actions.
 */
function carryOut(aws: FakeElbv2, asked: LoadBalancerQuestion, seen: unknown, most: number) {
  let observed = seen;
  let count = 0;
  for (;;) {
    const step = model.planStep(asked, observed, SHARED);
    if (step.kind !== "act") return step;
    for (const action of step.actions) {
      if (count === most) return undefined;
      count += 1;
      observed = model.applyResult(observed, action, aws.apply(action));
    }
  }
}

describe("rules on the nodes' groups", () => {
  test.each([
    {
      name: "all clients",
      spec: {},
      as: [
        "icmp 3-4 0.0.0.0/0 kubernetes.io/rule/nlb/mtu",
        `tcp 30080-30080 0.0.0.0/0 kubernetes.io/rule/nlb/client=${NAME}`,
      ],
    },
    {
      name: "some networks, and health checks from the subnets",
      spec: { loadBalancerSourceRanges: ["192.0.2.0/24", "2001:db8::/32"] },
      as: [
        "icmp 3-4 192.0.2.0/24 kubernetes.io/rule/nlb/mtu",
        `tcp 30080-30080 10.0.1.0/24 kubernetes.io/rule/nlb/health=${NAME}`,
        `tcp 30080-30080 10.0.2.0/24 kubernetes.io/rule/nlb/health=${NAME}`,
        `tcp 30080-30080 192.0.2.0/24 kubernetes.io/rule/nlb/client=${NAME}`,
      ],
    },
    {
      name: "UDP with health checks over TCP",
      spec: { ports: [{ protocol: "UDP", port: 53, nodePort: 30053 }] },
      as: [
        "icmp 3-4 0.0.0.0/0 kubernetes.io/rule/nlb/mtu",
        `tcp 30053-30053 10.0.1.0/24 kubernetes.io/rule/nlb/health=${NAME}`,
        `tcp 30053-30053 10.0.2.0/24 kubernetes.io/rule/nlb/health=${NAME}`,
        `udp 30053-30053 0.0.0.0/0 kubernetes.io/rule/nlb/client=${NAME}`,
      ],
    },
  ])("allow $name", ({ spec, as }) => {
    const aws = createNetworkWorld();
    converge(aws, buildQuestion(buildService(spec)));
    expect(rules(aws)).toEqual(as);
  });

  test("stay unchanged with disableSecurityGroupIngress", () => {
    const aws = createNetworkWorld();
    converge(aws, buildQuestion(buildService()), buildSettings({ disableSecurityGroupIngress: true }));
    expect(rules(aws)).toEqual([]);
  });
});

describe("a load balancer's own group", () => {
  test("is created before it with only its ports, and is deleted after it", () => {
    const aws = createNetworkWorld();
    const of = buildService({
      ports: [
        { protocol: "TCP", port: 53, nodePort: 30053 },
        { protocol: "UDP", port: 53, nodePort: 30053 },
      ],
      loadBalancerSourceRanges: ["192.0.2.0/24"],
    });
    converge(aws, buildQuestion(of), MANAGED);
    expect(groupsOf(aws)).toEqual(["k8s-default-web-a306cb4688"]);
    expect(rules(aws, "k8s-default-web-a306cb4688")).toEqual([
      "icmp 3-4 192.0.2.0/24",
      "tcp 53-53 192.0.2.0/24",
      "udp 53-53 192.0.2.0/24",
    ]);
    converge(aws, buildDeletionQuestion(of), MANAGED);
    expect(aws.vpc.groups.map(({ group }) => group.GroupName)).toEqual(["nodes"]);
  });

  test("is never added later, as AWS rejects that; an annotation that requests it gets a Warning", () => {
    const aws = createNetworkWorld();
    converge(aws, buildQuestion(buildService()));
    const asked = buildQuestion(buildService({}, { "security-groups": "sg-nodes" }));
    expect(converge(aws, asked, MANAGED)).toMatchObject({
      kind: "settled",
      warnings: [{ code: "UnsupportedAnnotation" }],
    });
    expect(groupsOf(aws)).toEqual([]);
  });

  test("is maintained where it exists after the operator disables it", () => {
    const aws = createNetworkWorld();
    converge(aws, buildQuestion(buildService()), MANAGED);
    converge(aws, buildQuestion(buildService({ loadBalancerSourceRanges: ["192.0.2.0/24"] })));
    expect(rules(aws, "k8s-default-web-a306cb4688")).toEqual([
      "icmp 3-4 192.0.2.0/24",
      "tcp 80-80 192.0.2.0/24",
    ]);
  });
});

describe("the group that all load balancers of a cluster share", () => {
  const name = formatSharedGroupName("prod");
  const other = buildService(
    { ports: [{ protocol: "TCP", port: 443, nodePort: 31443 }] },
    {},
    { name: "api", uid: "00000000-8d1b-4c7e-9a44-0b1c2d3e4f50" },
  );

  test("is allowed once for all Services", () => {
    const aws = createNetworkWorld();
    converge(aws, buildQuestion(buildService()), SHARED);
    const one = rules(aws);
    expect(one).toEqual([
      `tcp 30000-32767 ${name} serverless-ccm.io/rule/nlb/backend`,
      `udp 30000-32767 ${name} serverless-ccm.io/rule/nlb/backend`,
    ]);
    converge(aws, buildQuestion(other), SHARED);
    expect(rules(aws)).toEqual(one);
    expect(groupsOf(aws)).toEqual(["k8s-default-web-a306cb4688", name]);
    expect(rules(aws, name)).toEqual([]);
  });

  test("is allowed at the configured node ports, and at others by rules of the Service", () => {
    const aws = createNetworkWorld();
    converge(
      aws,
      buildQuestion(buildService()),
      buildSettings({
        clusterTag: "prod",
        sharedBackendSecurityGroup: true,
        serviceNodePortRange: "20000-22767",
      }),
    );
    const of = rules(aws);
    expect(of).toContain(`tcp 20000-22767 ${name} serverless-ccm.io/rule/nlb/backend`);
    expect(of.filter((rule) => rule.startsWith("tcp 30080-30080"))).not.toEqual([]);
  });

  test("has rules of single Services for other ports, which go with them; health checks may be shared", () => {
    const aws = createNetworkWorld();
    const of = buildService(
      { ports: [{ protocol: "TCP", port: 80, nodePort: 8080 }] },
      { "healthcheck-port": "9000" },
    );
    converge(aws, buildQuestion(other), SHARED);
    converge(aws, buildQuestion(of), SHARED);
    expect(rules(aws)).toContain(`tcp 8080-8080 ${name} kubernetes.io/rule/nlb/client=${NAME}`);
    expect(rules(aws)).toContain(`tcp 9000-9000 ${name} serverless-ccm.io/rule/nlb/health`);
    converge(aws, buildDeletionQuestion(of), SHARED);
    expect(rules(aws)).toHaveLength(3);
    auditForAnHour(aws);
    expect(rules(aws)).toHaveLength(2);
  });

  /** Returns the names of all groups. */
  const names = (aws: ReturnType<typeof createNetworkWorld>) =>
    aws.vpc.groups.map(({ group }) => group.GroupName).sort();

  test("is removed one by one when the operator disables it, and is deleted once no load balancer has it", () => {
    const aws = createNetworkWorld();
    converge(aws, buildQuestion(buildService()), SHARED);
    converge(aws, buildQuestion(other), SHARED);
    converge(aws, buildQuestion(buildService()));
    expect(groupsOf(aws)).toEqual(["k8s-default-web-a306cb4688"]);
    expect(rules(aws)).toContain(`tcp 30080-30080 0.0.0.0/0 kubernetes.io/rule/nlb/client=${NAME}`);
    // The other load balancer still uses it.
    expect(rules(aws)).toContain(`tcp 30000-32767 ${name} serverless-ccm.io/rule/nlb/backend`);
    auditForAnHour(aws);
    expect(rules(aws)).toContain(`tcp 30000-32767 ${name} serverless-ccm.io/rule/nlb/backend`);
    converge(aws, buildQuestion(other));
    expect(names(aws)).toContain(name);
    auditForAnHour(aws);
    expect(names(aws)).toEqual(["k8s-default-api-979c6fb159", "k8s-default-web-a306cb4688", "nodes"]);
    expect(rules(aws).join()).not.toContain("backend");
    const before = aws.done.length;
    converge(aws, buildQuestion(buildService()));
    expect(aws.done.slice(before)).toEqual([]);
  });

  test("keeps traffic flowing during its removal: the rules that replace it come first", () => {
    const aws = createNetworkWorld();
    converge(aws, buildQuestion(buildService()), SHARED);
    const before = aws.done.length;
    converge(aws, buildQuestion(buildService()));
    expect(aws.done.slice(before).map(({ action }) => action)).toEqual([
      // Its own rules, and the one that it shares with other Services.
      "ec2:AuthorizeSecurityGroupIngress",
      "ec2:AuthorizeSecurityGroupIngress",
      "elbv2:SetSecurityGroups",
    ]);
  });

  test("is removed from a load balancer whose other groups come from an annotation", () => {
    const aws = createNetworkWorld();
    const of = buildService({}, { "security-groups": "sg-nodes" });
    converge(aws, buildQuestion(of), SHARED);
    expect(groupsOf(aws)).toEqual(["nodes", name]);
    converge(aws, buildQuestion(of));
    expect(groupsOf(aws)).toEqual(["nodes"]);
    auditForAnHour(aws);
    expect(names(aws)).toEqual(["nodes"]);
  });

  test("is deleted by the audit after ten unused minutes, after the rules that allow it in", () => {
    const aws = createNetworkWorld();
    converge(aws, buildQuestion(buildService()), SHARED);
    converge(aws, buildQuestion(other), SHARED);
    converge(aws, buildDeletionQuestion(other), SHARED);
    expect(audit(aws, 0, SHARED)).toEqual([]);
    converge(aws, buildDeletionQuestion(buildService()), SHARED);
    expect(names(aws)).toEqual([name, "nodes"].sort());
    expect(rules(aws)).toHaveLength(2);
    const described = "ec2:UpdateSecurityGroupRuleDescriptionsIngress";
    expect(audit(aws, 0, SHARED)).toEqual([described, described, "ec2:CreateTags"]);
    expect(audit(aws, 9, SHARED)).toEqual([]);
    expect(audit(aws, 10, SHARED)).toEqual([
      "ec2:RevokeSecurityGroupIngress",
      "ec2:RevokeSecurityGroupIngress",
    ]);
    expect(audit(aws, 20, SHARED)).toEqual(["ec2:DeleteSecurityGroup"]);
    expect(names(aws)).toEqual(["nodes"]);
    expect(rules(aws)).toEqual([]);
  });

  test("stays with its rules if a load balancer is created while the last one is deleted", () => {
    const aws = createNetworkWorld();
    converge(aws, buildQuestion(buildService()), SHARED);
    // The new one sees the group and its rules before the old one goes.
    const coming = buildQuestion(other);
    const seen = observe(aws, coming, SHARED);
    converge(aws, buildDeletionQuestion(buildService()), SHARED);
    audit(aws, 0, SHARED);
    expect(carryOut(aws, coming, seen, Number.POSITIVE_INFINITY)).toMatchObject({ kind: "settled" });
    expect(groupsOf(aws, other)).toContain(name);
    auditForAnHour(aws);
    expect(rules(aws)).toEqual([
      `tcp 30000-32767 ${name} serverless-ccm.io/rule/nlb/backend`,
      `udp 30000-32767 ${name} serverless-ccm.io/rule/nlb/backend`,
    ]);
  });

  test("stays with its rules with disableSecurityGroupIngress", () => {
    const aws = createNetworkWorld();
    converge(aws, buildQuestion(buildService()), SHARED);
    converge(aws, buildDeletionQuestion(buildService()), SHARED);
    expect(audit(aws, 0, buildSettings({ disableSecurityGroupIngress: true }))).toEqual([]);
  });

  test("is not used if it belongs to another owner", () => {
    const aws = createNetworkWorld();
    const group = { GroupId: "sg-theirs", GroupName: name, VpcId: "vpc-1" };
    aws.vpc = { ...aws.vpc, groups: [...aws.vpc.groups, { group, tags: {}, ingress: [] }] };
    expect(converge(aws, buildQuestion(buildService()), SHARED)).toMatchObject({
      kind: "refused",
      issue: { code: "NameTaken" },
    });
    expect(aws.done).toEqual([]);
    converge(aws, buildDeletionQuestion(buildService()), SHARED);
    expect(names(aws)).toContain(name);
  });
});
