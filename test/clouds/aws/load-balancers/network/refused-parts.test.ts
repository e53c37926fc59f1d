import { expect, test } from "vitest";
import { awsLoadBalancerModel as model } from "#clouds/aws/load-balancers/model.ts";
import { parsePermissions } from "#clouds/aws/load-balancers/vpc/rules.ts";
import type { LoadBalancerQuestion } from "#core/service/model.ts";
import type { FakeElbv2 } from "#test/clouds/aws/load-balancers/fake-elbv2.ts";
import {
  buildInstance,
  buildNodes,
  buildQuestion,
  buildService,
  buildSettings,
  buildVpc,
  converge,
  createNetworkWorld,
  observe,
} from "#test/clouds/aws/load-balancers/network/world.ts";

// A part of a load balancer that is refused must not change what reaches the nodes: the load balancer serves
// unchanged until the Service is repaired, and its targets follow the nodes.

const SHARED = buildSettings({ sharedBackendSecurityGroup: true });
const ONE_NODE = buildNodes("i-1");
const LIMITED = { loadBalancerSourceRanges: ["192.0.2.0/24"] };
const IPV6_INSTANCES = buildVpc({ instances: { "i-1": buildInstance({ primaryIpv6: "fd00:0:0:1::1" }) } });
const DUAL_STACK = { ipFamilies: ["IPv6", "IPv4"], ipFamilyPolicy: "RequireDualStack" };

function listNodeRules(aws: FakeElbv2): string[] {
  const nodes = aws.vpc.groups.find(({ group }) => group.GroupName === "nodes");
  return parsePermissions(nodes?.ingress ?? [])
    .map(({ protocol, ports, peer }) => `${protocol} ${ports?.join("-")} ${peer}`)
    .sort();
}

/** Runs all steps, and returns the most open rules of the nodes at any time. */
function watchNodeRules(aws: FakeElbv2, asked: LoadBalancerQuestion, of = SHARED): Set<string> {
  const seen = new Set<string>();
  let observed: unknown = observe(aws, asked, of);
  for (let round = 0; round < 12; round += 1) {
    const step = model.planStep(asked, observed, of);
    if (step.kind !== "act") break;
    for (const action of step.actions) {
      observed = model.applyResult(observed, action, aws.apply(action));
      for (const rule of listNodeRules(aws)) seen.add(rule);
    }
  }
  return seen;
}

test("a refused placement keeps the rule of the health check in use", () => {
  const aws = createNetworkWorld();
  converge(aws, buildQuestion(buildService(LIMITED)));
  const before = listNodeRules(aws);
  const refused = buildService(LIMITED, { "healthcheck-port": "9001", "eip-allocations": "eipalloc-1" });
  expect(converge(aws, buildQuestion(refused))).toMatchObject({
    kind: "refused",
    issue: { code: "ElasticIPsOfOtherCount" },
  });
  expect(listNodeRules(aws)).toEqual(before);
});

test("refused security groups open no node port to all clients", () => {
  const aws = createNetworkWorld();
  converge(aws, buildQuestion(buildService()), SHARED);
  const before = listNodeRules(aws);
  const refused = buildService({}, { "security-groups": "sg-nope" });
  expect(converge(aws, buildQuestion(refused), SHARED)).toMatchObject({
    kind: "refused",
    issue: { code: "SecurityGroupNotAllowed" },
  });
  expect(listNodeRules(aws)).toEqual(before);
});

test("a missing group of the Service opens no node port to all clients", () => {
  const aws = createNetworkWorld();
  converge(aws, buildQuestion(buildService({}, { "security-groups": "sg-nodes" })), SHARED);
  const before = new Set(listNodeRules(aws));
  expect(watchNodeRules(aws, buildQuestion(buildService()))).toEqual(before);
});

test("the targets of a load balancer with a refused part follow the nodes", () => {
  const aws = createNetworkWorld();
  converge(aws, buildQuestion(buildService(), buildNodes("i-1")), SHARED);
  const refused = buildQuestion(buildService({}, { "security-groups": "sg-nope" }));
  const actions = model.followNodes?.(refused, observe(aws, refused, SHARED), SHARED);
  expect(actions).toMatchObject([{ action: "elbv2:RegisterTargets" }]);
});

test("targets follow the nodes before the listener that AWS rejects", () => {
  const aws = createNetworkWorld();
  converge(aws, buildQuestion(buildService(), buildNodes("i-1")));
  const ports = [
    { name: "http", protocol: "TCP", port: 80, nodePort: 30_080 },
    { name: "https", protocol: "TCP", port: 443, nodePort: 30_443 },
  ];
  const certificate = "arn:aws:acm:eu-central-1:123456789012:certificate/gone";
  const secured = buildService({ ports }, { "ssl-cert": certificate, "ssl-ports": "https" });
  const allowed = buildSettings({ allow: { certificates: [certificate] } });
  /** Runs one event: all steps until AWS rejects the listener. */
  const runUntilRejected = (asked: LoadBalancerQuestion): void => {
    let observed: unknown = observe(aws, asked, allowed);
    for (let round = 0; round < 12; round += 1) {
      const step = model.planStep(asked, observed, allowed);
      if (step.kind !== "act") throw new Error(step.kind);
      for (const action of step.actions) {
        if (action.action === "elbv2:CreateListener") return;
        observed = model.applyResult(observed, action, aws.apply(action));
      }
    }
    throw new Error("no listener is created");
  };
  runUntilRejected(buildQuestion(secured, buildNodes("i-1")));
  const asked = buildQuestion(secured, buildNodes("i-2"));
  runUntilRejected(asked);
  const { targetGroups } = observe(aws, asked, allowed);
  const served = targetGroups.find(({ group }) => group.Port === 30_080);
  expect(served?.targets).toMatchObject([{ Id: "i-2" }]);
});

test.each([
  { ranges: ["192.0.2.0/24"], targets: "IPv6", clients: "IPv4" },
  { ranges: ["::/0", "192.0.2.0/24"], targets: "IPv6", clients: "IPv4" },
])("refuses $ranges for $targets targets, which all $clients clients would reach", ({ ranges }) => {
  const aws = createNetworkWorld();
  const asked = buildQuestion(buildService({ ...DUAL_STACK, loadBalancerSourceRanges: ranges }));
  expect(converge(aws, asked)).toMatchObject({ kind: "refused", issue: { code: "IPFamilies" } });
});

test("allows limited IPv6 ranges for IPv6 targets if all IPv4 clients may come", () => {
  const aws = createNetworkWorld(IPV6_INSTANCES);
  const ranges = ["0.0.0.0/0", "2001:db8::/32"];
  const asked = buildQuestion(buildService({ ...DUAL_STACK, loadBalancerSourceRanges: ranges }), ONE_NODE);
  expect(converge(aws, asked)).toMatchObject({ kind: "settled", warnings: [] });
});

test("warns if hidden client addresses let all IPv6 clients reach limited ranges", () => {
  const aws = createNetworkWorld(IPV6_INSTANCES);
  const spec = { ...DUAL_STACK, loadBalancerSourceRanges: ["0.0.0.0/0", "2001:db8::/32"] };
  const asked = buildQuestion(
    buildService(spec, { "target-group-attributes": "preserve_client_ip.enabled=false" }),
    ONE_NODE,
  );
  expect(converge(aws, asked)).toMatchObject({
    kind: "settled",
    warnings: [{ code: "InvalidAnnotation", value: "preserve_client_ip.enabled=false" }],
  });
});

test("a warning about a load balancer without groups recommends no mode that adds none", () => {
  const aws = createNetworkWorld();
  const asked = buildQuestion(
    buildService(LIMITED, { "target-group-attributes": "preserve_client_ip.enabled=false" }),
  );
  converge(aws, asked);
  const step = converge(aws, asked, buildSettings({ nlbSecurityGroupMode: "Managed" }));
  expect(JSON.stringify(step)).toContain("preserve_client_ip.enabled=true");
  expect(JSON.stringify(step)).not.toContain("nlbSecurityGroupMode");
});
