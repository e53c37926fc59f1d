import fc from "fast-check";
import { expect, test } from "vitest";
import { awsLoadBalancerModel as model } from "#clouds/aws/load-balancers/model.ts";
import type { LoadBalancerQuestion } from "#core/service/model.ts";
import type { Settings } from "#core/settings.ts";
import type { FakeElbv2 } from "#test/clouds/aws/load-balancers/fake-elbv2.ts";
import { auditForAnHour } from "#test/clouds/aws/load-balancers/network/audit.ts";
import {
  buildDeletionQuestion,
  buildInstance,
  buildNodes,
  buildQuestion,
  buildService,
  buildSettings,
  buildSubnet,
  converge,
  createNetworkWorld,
  observe,
} from "#test/clouds/aws/load-balancers/network/world.ts";

const port = fc.record({
  protocol: fc.constantFrom("TCP", "UDP"),
  port: fc.constantFrom(53, 80, 443),
  nodePort: fc.constantFrom(30053, 30080, 30443, 40000),
});

const spec = fc.record({
  ports: fc.uniqueArray(port, {
    minLength: 1,
    maxLength: 4,
    selector: (each) => `${each.protocol} ${each.port}`,
  }),
  externalTrafficPolicy: fc.constantFrom("Cluster", "Local"),
  healthCheckNodePort: fc.constantFrom(32000, 32001),
  families: fc.constantFrom(
    {},
    { ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy: "PreferDualStack" },
    { ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy: "RequireDualStack" },
    { ipFamilies: ["IPv6"], ipFamilyPolicy: "SingleStack" },
  ),
  loadBalancerSourceRanges: fc.constantFrom([], ["10.0.0.0/8"], ["10.0.1.0/24", "fd00::/8"], ["0.0.0.0/0"]),
});

const annotations = fc.record(
  {
    internal: fc.constantFrom("true", "false"),
    subnets: fc.constantFrom("subnet-a", "subnet-a,subnet-b", "subnet-c,subnet-b", "nowhere"),
    "ssl-cert": fc.constant("arn:aws:acm:eu-central-1:123456789012:certificate/0123"),
    "ssl-ports": fc.constantFrom("443", "*", "80,443"),
    "ssl-negotiation-policy": fc.constant("ELBSecurityPolicy-TLS13-1-2-2021-06"),
    "backend-protocol": fc.constantFrom("ssl", "tcp"),
    "healthcheck-protocol": fc.constantFrom("TCP", "HTTP", "https"),
    "healthcheck-port": fc.constantFrom("traffic-port", "8080"),
    "healthcheck-path": fc.constantFrom("/ready", "/"),
    "healthcheck-interval": fc.constantFrom("5", "10", "30"),
    "healthcheck-timeout": fc.constantFrom("2", "5", "20"),
    "healthcheck-healthy-threshold": fc.constantFrom("2", "5"),
    "healthcheck-unhealthy-threshold": fc.constantFrom("2", "5"),
    "target-group-attributes": fc.constantFrom(
      "preserve_client_ip.enabled=false",
      "proxy_protocol_v2.enabled=true",
      "preserve_client_ip.enabled=true,proxy_protocol_v2.enabled=false",
    ),
    "additional-resource-tags": fc.constantFrom("team=a", "team=b,stage=prod", "constructor=1"),
    "access-log-enabled": fc.constantFrom("true", "false"),
    "access-log-s3-bucket-name": fc.constantFrom("logs", "other"),
    "access-log-s3-bucket-prefix": fc.constantFrom("a", "b"),
    "cross-zone-load-balancing-enabled": fc.constantFrom("true", "false"),
    "security-groups": fc.constantFrom("sg-nodes", "sg-nodes,sg-own"),
    "eip-allocations": fc.constantFrom("eipalloc-1,eipalloc-2", "eipalloc-1"),
  },
  { requiredKeys: [] },
);

const cloud = fc.record({
  nlbSecurityGroupMode: fc.constantFrom(undefined, "Managed"),
  sharedBackendSecurityGroup: fc.constantFrom(undefined, true),
  disableSecurityGroupIngress: fc.constantFrom(undefined, undefined, true),
  clusterServiceLoadBalancerHealthProbeMode: fc.constantFrom(undefined, "Shared"),
});

const wish = fc.record({
  spec,
  annotations,
  ids: fc.subarray(["i-1", "i-2", "i-3", "i-4", "i-unknown"]),
  isGone: fc.constantFrom(false, false, false, true),
  cloud,
});

/** Changes by others to our resources. */
const DRIFTS: readonly ((aws: FakeElbv2) => void)[] = [
  () => undefined,
  (aws) => aws.listeners.delete([...aws.listeners.keys()][0] ?? ""),
  (aws) => {
    for (const each of aws.groups.values()) each.targets = each.targets.slice(1);
  },
  (aws) => {
    for (const each of aws.groups.values()) each.attributes["proxy_protocol_v2.enabled"] = "true";
  },
  (aws) => {
    for (const each of aws.balancers.values()) each.attributes["load_balancing.cross_zone.enabled"] = "true";
  },
  (aws) => {
    for (const each of aws.balancers.values())
      each.tags = { "kubernetes.io/cluster/prod": "owned", by: "hand" };
  },
  (aws) => {
    for (const each of aws.groups.values()) each.group = { ...each.group, HealthyThresholdCount: 7 };
  },
  (aws) => {
    aws.vpc = { ...aws.vpc, groups: aws.vpc.groups.map((each) => ({ ...each, ingress: [] })) };
  },
  (aws) => {
    for (const each of aws.balancers.values()) each.loadBalancer.State = { Code: "active" };
  },
];

const step = fc.record({ wish, drift: fc.constantFrom(...DRIFTS) });

const ALLOW = {
  securityGroups: ["sg-own"],
  subnets: [],
  elasticIPs: ["eipalloc-1", "eipalloc-2"],
  certificates: ["arn:aws:acm:eu-central-1:123456789012:certificate/0123"],
  buckets: ["logs", "other"],
};

function theWorld(): FakeElbv2 {
  const aws = createNetworkWorld({
    subnets: [buildSubnet("a"), buildSubnet("b"), buildSubnet("c", { ipv6: false, isPublic: false })],
    instances: {
      "i-1": buildInstance({ primaryIpv6: "fd00::1" }),
      "i-2": buildInstance({ zone: "eu-central-1b" }),
      "i-3": buildInstance({ state: "stopped" }),
      "i-4": buildInstance({ state: "pending" }),
    },
  });
  const own = { GroupId: "sg-own", GroupName: "own", VpcId: "vpc-1" };
  aws.vpc = { ...aws.vpc, groups: [...aws.vpc.groups, { group: own, tags: {}, ingress: [] }] };
  return aws;
}

function asked({
  spec: { families, ...rest },
  annotations: said,
  ids,
  isGone,
}: WishOf): LoadBalancerQuestion {
  const of = buildService({ ...rest, ...families }, said);
  return isGone ? buildDeletionQuestion(of) : buildQuestion(of, buildNodes(...ids));
}
type WishOf = typeof wish extends fc.Arbitrary<infer Of> ? Of : never;

function settingsOf({ cloud: keys }: WishOf): Settings {
  return buildSettings({ ...keys, allow: ALLOW });
}

test("any sequence of desired states and foreign changes reaches a fixed point, and deletion leaves nothing", () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 4 }), (steps) => {
      const aws = theWorld();
      const shared = new Set<string | undefined>();
      for (const { wish: of, drift } of steps) {
        const what = asked(of);
        const where = settingsOf(of);
        if (what.wanted && model.precheck(what, where) !== undefined) continue;
        const end = converge(aws, what, where);
        expect(end.kind).not.toBe("act");
        // A repeated request changes nothing, and nothing is done in AWS.
        const done = aws.done.length;
        expect(converge(aws, what, where)).toEqual(end);
        expect(aws.done).toHaveLength(done);
        if (end.kind === "settled" && what.wanted) expect(served(aws)).toEqual(portsOf(what));
        drift(aws);
        for (const { group } of aws.vpc.groups) shared.add(group.GroupName);
      }
      const end = converge(aws, buildDeletionQuestion(buildService()), buildSettings({ allow: ALLOW }));
      expect(end).toEqual({ kind: "settled", ingress: [], warnings: [] });
      expect([aws.balancers.size, aws.groups.size, aws.listeners.size]).toEqual([0, 0, 0]);
      const left = aws.vpc.groups.map(({ group }) => group.GroupName ?? "");
      expect(left.filter((name) => !name.startsWith("k8s-backend-")).sort()).toEqual(["nodes", "own"]);
      auditForAnHour(aws);
      const described = JSON.stringify(aws.vpc.groups.flatMap(({ ingress }) => ingress));
      expect(described).not.toMatch(/rule\/nlb\/(client|health|mtu)/);
    }),
    { numRuns: 150 },
  );
}, 120_000);

test("the applied results and AWS's observation lead to the same plan after every action", () => {
  fc.assert(
    fc.property(wish, wish, (one, other) => {
      const aws = theWorld();
      for (const of of [one, other]) {
        const what = asked(of);
        const where = settingsOf(of);
        if (what.wanted && model.precheck(what, where) !== undefined) continue;
        let folded: unknown = observe(aws, what, where);
        for (let round = 0; round < 12; round += 1) {
          const next = model.planStep(what, folded, where);
          if (next.kind !== "act") break;
          for (const action of next.actions) {
            folded = model.applyResult(folded, action, aws.apply(action));
            expect(model.planStep(what, folded, where)).toEqual(
              model.planStep(what, observe(aws, what, where), where),
            );
          }
        }
      }
    }),
    { numRuns: 100 },
  );
}, 120_000);

/** Returns the listeners, and whether each has its own target group. */
function served(aws: FakeElbv2): readonly string[] {
  const targets = [...aws.listeners.values()].map(
    ({ listener }) => listener.DefaultActions?.[0]?.TargetGroupArn,
  );
  expect(new Set(targets).size).toBe(aws.groups.size);
  return [...aws.listeners.values()].map(({ listener }) => String(listener.Port)).sort();
}

function portsOf({ service: { spec: of } }: LoadBalancerQuestion): readonly string[] {
  return [...new Set((of.ports ?? []).map((each) => String(each.port)))].sort();
}
