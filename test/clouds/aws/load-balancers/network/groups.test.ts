import { describe, expect, test } from "vitest";
import { awsLoadBalancerModel as model } from "#clouds/aws/load-balancers/model.ts";
import { sharedGroupName } from "#clouds/aws/load-balancers/network/shared-group.ts";
import { rulesOf } from "#clouds/aws/load-balancers/vpc/rules.ts";
import type { LoadBalancerQuestion } from "#core/service/model.ts";
import type { FakeElbv2 } from "#test/clouds/aws/load-balancers/fake-elbv2.ts";
import { audit, auditForAnHour } from "#test/clouds/aws/load-balancers/network/audit.ts";
import {
  converge,
  gone,
  NAME,
  observe,
  question,
  service,
  settings,
  world,
} from "#test/clouds/aws/load-balancers/network/world.ts";

const SHARED = settings({ sharedBackendSecurityGroup: true });
const MANAGED = settings({ nlbSecurityGroupMode: "Managed" });

/** The rules of a group by its name, as `tcp 80-80 0.0.0.0/0 description`. */
function rules(aws: FakeElbv2, name = "nodes"): string[] {
  const nameOf = (id: string) =>
    aws.vpc.groups.find(({ group }) => group.GroupId === id)?.group.GroupName ?? id;
  const found = aws.vpc.groups.find(({ group }) => group.GroupName === name);
  return rulesOf(found?.ingress ?? [])
    .map(({ protocol, ports, peer, description }) =>
      [protocol, ports?.join("-"), nameOf(peer), description].filter(Boolean).join(" "),
    )
    .sort();
}

function groupsOf(aws: FakeElbv2, of = service()): (string | undefined)[] {
  const ids = observe(aws, question(of)).network?.loadBalancer.SecurityGroups ?? [];
  return ids.map((id) => aws.vpc.groups.find(({ group }) => group.GroupId === id)?.group.GroupName);
}

/** What a process does that has seen something; undefined where it is cut short after so many actions. */
function carryOut(aws: FakeElbv2, asked: LoadBalancerQuestion, seen: unknown, most: number) {
  let observed = seen;
  let count = 0;
  for (;;) {
    const step = model.next(asked, observed, SHARED);
    if (step.kind !== "act") return step;
    for (const action of step.actions) {
      if (count === most) return undefined;
      count += 1;
      observed = model.fold(observed, action, aws.apply(action));
    }
  }
}

describe("rules on the nodes' groups", () => {
  test.each([
    {
      name: "everybody",
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
      name: "UDP, whose health checks are TCP",
      spec: { ports: [{ protocol: "UDP", port: 53, nodePort: 30053 }] },
      as: [
        "icmp 3-4 0.0.0.0/0 kubernetes.io/rule/nlb/mtu",
        `tcp 30053-30053 10.0.1.0/24 kubernetes.io/rule/nlb/health=${NAME}`,
        `tcp 30053-30053 10.0.2.0/24 kubernetes.io/rule/nlb/health=${NAME}`,
        `udp 30053-30053 0.0.0.0/0 kubernetes.io/rule/nlb/client=${NAME}`,
      ],
    },
  ])("let in $name", ({ spec, as }) => {
    const aws = world();
    converge(aws, question(service(spec)));
    expect(rules(aws)).toEqual(as);
  });

  test("are left alone where the operator says so", () => {
    const aws = world();
    converge(aws, question(service()), settings({ disableSecurityGroupIngress: true }));
    expect(rules(aws)).toEqual([]);
  });
});

describe("a group of the load balancer's own", () => {
  test("is made before it, with its ports and nothing else, and goes after it", () => {
    const aws = world();
    const of = service({
      ports: [
        { protocol: "TCP", port: 53, nodePort: 30053 },
        { protocol: "UDP", port: 53, nodePort: 30053 },
      ],
      loadBalancerSourceRanges: ["192.0.2.0/24"],
    });
    converge(aws, question(of), MANAGED);
    expect(groupsOf(aws)).toEqual(["k8s-default-web-a306cb4688"]);
    expect(rules(aws, "k8s-default-web-a306cb4688")).toEqual([
      "icmp 3-4 192.0.2.0/24",
      "tcp 53-53 192.0.2.0/24",
      "udp 53-53 192.0.2.0/24",
    ]);
    converge(aws, gone(of), MANAGED);
    expect(aws.vpc.groups.map(({ group }) => group.GroupName)).toEqual(["nodes"]);
  });

  test("comes to none that was made without, as AWS attaches none later; an annotation that asks for it is told so", () => {
    const aws = world();
    converge(aws, question(service()));
    const asked = question(service({}, { "security-groups": "sg-nodes" }));
    expect(converge(aws, asked, MANAGED)).toMatchObject({
      kind: "settled",
      warnings: [{ code: "UnsupportedAnnotation" }],
    });
    expect(groupsOf(aws)).toEqual([]);
  });

  test("is kept in order on one that has it, when the operator wants none any more", () => {
    const aws = world();
    converge(aws, question(service()), MANAGED);
    converge(aws, question(service({ loadBalancerSourceRanges: ["192.0.2.0/24"] })));
    expect(rules(aws, "k8s-default-web-a306cb4688")).toEqual([
      "icmp 3-4 192.0.2.0/24",
      "tcp 80-80 192.0.2.0/24",
    ]);
  });
});

describe("the group that all load balancers of a cluster share", () => {
  const name = sharedGroupName("prod");
  const other = service(
    { ports: [{ protocol: "TCP", port: 443, nodePort: 31443 }] },
    {},
    { name: "api", uid: "00000000-8d1b-4c7e-9a44-0b1c2d3e4f50" },
  );

  test("is let in once for all Services", () => {
    const aws = world();
    converge(aws, question(service()), SHARED);
    const one = rules(aws);
    expect(one).toEqual([
      `tcp 30000-32767 ${name} serverless-ccm.io/rule/nlb/backend`,
      `udp 30000-32767 ${name} serverless-ccm.io/rule/nlb/backend`,
    ]);
    converge(aws, question(other), SHARED);
    expect(rules(aws)).toEqual(one);
    expect(groupsOf(aws)).toEqual(["k8s-default-web-a306cb4688", name]);
    expect(rules(aws, name)).toEqual([]);
  });

  test("is let in at the node ports that are configured, and at others by rules of the Service", () => {
    const aws = world();
    converge(
      aws,
      question(service()),
      settings({ clusterTag: "prod", sharedBackendSecurityGroup: true, serviceNodePortRange: "20000-22767" }),
    );
    const of = rules(aws);
    expect(of).toContain(`tcp 20000-22767 ${name} serverless-ccm.io/rule/nlb/backend`);
    expect(of.filter((rule) => rule.startsWith("tcp 30080-30080"))).not.toEqual([]);
  });

  test("has rules of single Services for ports that are no node ports, which go with them; health checks may be shared", () => {
    const aws = world();
    const of = service(
      { ports: [{ protocol: "TCP", port: 80, nodePort: 8080 }] },
      { "healthcheck-port": "9000" },
    );
    converge(aws, question(other), SHARED);
    converge(aws, question(of), SHARED);
    expect(rules(aws)).toContain(`tcp 8080-8080 ${name} kubernetes.io/rule/nlb/client=${NAME}`);
    expect(rules(aws)).toContain(`tcp 9000-9000 ${name} serverless-ccm.io/rule/nlb/health`);
    converge(aws, gone(of), SHARED);
    expect(rules(aws)).toHaveLength(3);
    auditForAnHour(aws);
    expect(rules(aws)).toHaveLength(2);
  });

  /** The names of all groups that there are. */
  const names = (aws: ReturnType<typeof world>) => aws.vpc.groups.map(({ group }) => group.GroupName).sort();

  test("is undone one by one when the operator turns it off, and goes once none has it", () => {
    const aws = world();
    converge(aws, question(service()), SHARED);
    converge(aws, question(other), SHARED);
    converge(aws, question(service()));
    expect(groupsOf(aws)).toEqual(["k8s-default-web-a306cb4688"]);
    expect(rules(aws)).toContain(`tcp 30080-30080 0.0.0.0/0 kubernetes.io/rule/nlb/client=${NAME}`);
    // The other one still comes in by it.
    expect(rules(aws)).toContain(`tcp 30000-32767 ${name} serverless-ccm.io/rule/nlb/backend`);
    auditForAnHour(aws);
    expect(rules(aws)).toContain(`tcp 30000-32767 ${name} serverless-ccm.io/rule/nlb/backend`);
    converge(aws, question(other));
    expect(names(aws)).toContain(name);
    auditForAnHour(aws);
    expect(names(aws)).toEqual(["k8s-default-api-979c6fb159", "k8s-default-web-a306cb4688", "nodes"]);
    expect(rules(aws).join()).not.toContain("backend");
    const before = aws.done.length;
    converge(aws, question(service()));
    expect(aws.done.slice(before)).toEqual([]);
  });

  test("shuts nobody out while it is undone: what lets the traffic in comes before the group goes", () => {
    const aws = world();
    converge(aws, question(service()), SHARED);
    const before = aws.done.length;
    converge(aws, question(service()));
    expect(aws.done.slice(before).map(({ action }) => action)).toEqual([
      // Its own rules, and the one that it shares with other Services.
      "ec2:AuthorizeSecurityGroupIngress",
      "ec2:AuthorizeSecurityGroupIngress",
      "elbv2:SetSecurityGroups",
    ]);
  });

  test("goes from a load balancer whose other groups an annotation has named", () => {
    const aws = world();
    const of = service({}, { "security-groups": "sg-nodes" });
    converge(aws, question(of), SHARED);
    expect(groupsOf(aws)).toEqual(["nodes", name]);
    converge(aws, question(of));
    expect(groupsOf(aws)).toEqual(["nodes"]);
    auditForAnHour(aws);
    expect(names(aws)).toEqual(["nodes"]);
  });

  test("goes by the audit once it has been unused for ten minutes, after the rules that let it in", () => {
    const aws = world();
    converge(aws, question(service()), SHARED);
    converge(aws, question(other), SHARED);
    converge(aws, gone(other), SHARED);
    expect(audit(aws, 0, SHARED)).toEqual([]);
    converge(aws, gone(service()), SHARED);
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

  test("stays, with its rules, for one that comes while the last one goes", () => {
    const aws = world();
    converge(aws, question(service()), SHARED);
    // The one that comes sees the group and its rules before the other one goes.
    const coming = question(other);
    const seen = observe(aws, coming, SHARED);
    converge(aws, gone(service()), SHARED);
    audit(aws, 0, SHARED);
    expect(carryOut(aws, coming, seen, Number.POSITIVE_INFINITY)).toMatchObject({ kind: "settled" });
    expect(groupsOf(aws, other)).toContain(name);
    auditForAnHour(aws);
    expect(rules(aws)).toEqual([
      `tcp 30000-32767 ${name} serverless-ccm.io/rule/nlb/backend`,
      `udp 30000-32767 ${name} serverless-ccm.io/rule/nlb/backend`,
    ]);
  });

  test("stays, with its rules, where rules of nodes are not ours to change", () => {
    const aws = world();
    converge(aws, question(service()), SHARED);
    converge(aws, gone(service()), SHARED);
    expect(audit(aws, 0, settings({ disableSecurityGroupIngress: true }))).toEqual([]);
  });

  test("is not taken for ours where it is another's", () => {
    const aws = world();
    const group = { GroupId: "sg-theirs", GroupName: name, VpcId: "vpc-1" };
    aws.vpc = { ...aws.vpc, groups: [...aws.vpc.groups, { group, tags: {}, ingress: [] }] };
    expect(converge(aws, question(service()), SHARED)).toMatchObject({
      kind: "refused",
      problem: { code: "NameTaken" },
    });
    expect(aws.done).toEqual([]);
    converge(aws, gone(service()), SHARED);
    expect(names(aws)).toContain(name);
  });
});
