import { describe, expect, test } from "vitest";
import { awsLoadBalancerModel as model } from "#clouds/aws/load-balancers/model.ts";
import { parsePermissions } from "#clouds/aws/load-balancers/vpc/rules.ts";
import type { Settings } from "#core/settings.ts";
import {
  buildQuestion as classicQuestion,
  createClassicWorld as classicWorld,
  converge as convergeClassic,
} from "#test/clouds/aws/load-balancers/classic/classic-world.ts";
import type { FakeElbv2 } from "#test/clouds/aws/load-balancers/fake-elbv2.ts";
import {
  buildDeletionQuestion,
  buildInstance,
  buildNodes,
  buildQuestion,
  buildService,
  buildSettings,
  converge,
  createNetworkWorld,
} from "#test/clouds/aws/load-balancers/network/world.ts";

const TAG = "kubernetes.io/cluster/prod";
const MODES: readonly (readonly [string, Settings])[] = [
  ["vpc", buildSettings()],
  ["clusterTag", buildSettings({ vpc: undefined, clusterTag: "prod" })],
  ["both", buildSettings({ clusterTag: "prod" })],
];
const PROBLEM = { code: "NodeSecurityGroupNotProven", detail: expect.stringContaining("sg-nodes") };

/** Builds a load balancer of the previous version, with rules on a node group that only usage identifies. */
function upgraded(of: Settings): FakeElbv2 {
  const aws = createNetworkWorld();
  converge(aws, buildQuestion(buildService()), of);
  setGroup(aws, { tags: {} });
  return aws;
}

function setGroup(aws: FakeElbv2, change: object): void {
  const groups = aws.vpc.groups.map((each) =>
    each.group.GroupName === "nodes" ? { ...each, ...change } : each,
  );
  aws.vpc = { ...aws.vpc, groups };
}

const rules = (aws: FakeElbv2) => parsePermissions(aws.vpc.groups.flatMap(({ ingress }) => ingress));

describe.each(MODES)("an upgrade with an unproven group of nodes, configured by %s,", (_, of) => {
  test("keeps the rules, follows the nodes, and reports it on the Service", () => {
    const aws = upgraded(of);
    const before = rules(aws);
    expect(before.length).toBeGreaterThan(0);
    const instances = { ...aws.vpc.instances, "i-3": buildInstance() };
    aws.vpc = { ...aws.vpc, instances };
    const changed = buildService({ ports: [{ protocol: "TCP", port: 80, nodePort: 30999 }] });
    const settled = converge(aws, buildQuestion(changed, buildNodes("i-1", "i-2", "i-3")), of);
    expect(settled).toMatchObject({ kind: "settled", warnings: [PROBLEM] });
    expect(rules(aws)).toEqual(before);
    expect([...aws.groups.values()].map(({ targets }) => targets.length)).toEqual([3]);
  });

  test.each([
    ["is tagged", { tags: { [TAG]: "owned" } }, {}],
    ["is tagged as shared", { tags: { [TAG]: "shared" } }, {}],
    ["is seen on the cluster's instances alone", { isOnNodesAlone: true }, {}],
    ["is listed", {}, { allow: { nodeSecurityGroups: ["sg-nodes"] } }],
  ])("corrects the rules once the group %s", (__, change, cloud) => {
    const aws = upgraded(of);
    const proven = { ...of, cloud: { ...of.cloud, ...cloud } };
    const changed = buildService({ ports: [{ protocol: "TCP", port: 80, nodePort: 30999 }] });
    converge(aws, buildQuestion(changed), of);
    setGroup(aws, change);
    expect(converge(aws, buildQuestion(changed), proven)).toMatchObject({ kind: "settled", warnings: [] });
    const ports = rules(aws).flatMap(({ protocol, ports: range }) => (protocol === "tcp" ? [range] : []));
    expect(ports).toEqual([[30999, 30999]]);
  });

  test("deletes a Service without waiting for the rules, which stay", () => {
    const aws = upgraded(of);
    const before = rules(aws);
    expect(converge(aws, buildDeletionQuestion(buildService()), of)).toEqual({
      kind: "settled",
      ingress: [],
      warnings: [],
    });
    expect([aws.balancers.size, aws.groups.size]).toEqual([0, 0]);
    expect(rules(aws)).toEqual(before);
  });
});

test("a classic load balancer is deleted while an unproven group names its security group, which stays", () => {
  const elb = classicWorld();
  convergeClassic(elb, classicQuestion());
  elb.security.untag({ Resources: ["sg-nodes"], Tags: [{ Key: TAG }] });
  const before = structuredClone(elb.security.groups.get("sg-nodes"));
  const deletion = classicQuestion({ wanted: false });
  expect(convergeClassic(elb, deletion)).toMatchObject({ kind: "settled" });
  expect(elb.classics.size).toBe(0);
  expect(elb.security.groups.get("sg-nodes")).toEqual(before);
  const names = [...elb.security.groups.values()].map(({ group }) => group.GroupName);
  expect(names).toContainEqual(expect.stringMatching(/^k8s-elb-/));
});

test.each([
  ["vpc", { vpc: "vpc-1" }, "InvalidField"],
  ["vpc and the range of the API server", { vpc: "vpc-1", serviceNodePortRange: "1-65535" }, undefined],
  ["clusterTag", { vpc: undefined, clusterTag: "prod" }, undefined],
  ["both", { vpc: "vpc-1", clusterTag: "prod" }, undefined],
])(
  "a node port outside the cluster's range, such as a database's, configured by %s: %s",
  (_, cloud, code) => {
    for (const type of ["nlb", ""])
      for (const spec of [
        { ports: [{ protocol: "TCP", port: 80, nodePort: 5432 }] },
        {
          ports: [{ protocol: "TCP", port: 80, nodePort: 30080 }],
          externalTrafficPolicy: "Local",
          healthCheckNodePort: 22,
        },
      ]) {
        const refused = model.precheck(buildQuestion(buildService(spec, { type })), buildSettings(cloud));
        expect(refused?.kind === "refused" ? refused.issue.code : refused).toBe(code);
      }
  },
);
