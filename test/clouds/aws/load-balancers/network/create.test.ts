import { expect, test } from "vitest";
import { awsLoadBalancerModel as model } from "#clouds/aws/load-balancers/model.ts";
import { auditForAnHour } from "#test/clouds/aws/load-balancers/network/audit.ts";
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

test("a Service gets a load balancer, a target group and a listener for each port, with all nodes, in two rounds", () => {
  const aws = createNetworkWorld();
  const asked = buildQuestion(
    buildService({
      ports: [
        { name: "http", protocol: "TCP", port: 80, nodePort: 30080 },
        { name: "dns", protocol: "UDP", port: 53, nodePort: 30053 },
      ],
    }),
  );
  const rounds: string[][] = [];
  let observed: unknown = observe(aws, asked);
  for (;;) {
    const step = model.planStep(asked, observed, buildSettings());
    if (step.kind !== "act") break;
    rounds.push(step.actions.map(({ action }) => action));
    for (const action of step.actions) observed = model.applyResult(observed, action, aws.apply(action));
  }
  expect(rounds).toEqual([
    [
      "elbv2:CreateLoadBalancer",
      "elbv2:CreateTargetGroup",
      "elbv2:CreateTargetGroup",
      // Its own rules, and the one that it shares with others.
      "ec2:AuthorizeSecurityGroupIngress",
      "ec2:AuthorizeSecurityGroupIngress",
    ],
    ["elbv2:CreateListener", "elbv2:CreateListener", "elbv2:RegisterTargets", "elbv2:RegisterTargets"],
  ]);
  const step = model.planStep(asked, observe(aws, asked), buildSettings());
  expect(step).toEqual({
    kind: "settled",
    ingress: [
      { hostname: expect.stringMatching(new RegExp(`^${NAME}-.*\\.elb\\.eu-central-1\\.amazonaws\\.com$`)) },
    ],
    warnings: [],
  });
  const { network, targetGroups } = observe(aws, asked);
  expect(network?.tags).toEqual({
    "kubernetes.io/service-name": "default/web",
    "kubernetes.io/cluster/prod": "owned",
  });
  expect(targetGroups.map(({ group, targets }) => [group.Protocol, group.Port, targets])).toEqual([
    [
      "TCP",
      30080,
      [
        { Id: "i-1", Port: 30080 },
        { Id: "i-2", Port: 30080 },
      ],
    ],
    [
      "UDP",
      30053,
      [
        { Id: "i-1", Port: 30053 },
        { Id: "i-2", Port: 30053 },
      ],
    ],
  ]);
});

test("nothing is left of a deleted Service, and nothing else is touched", () => {
  const aws = createNetworkWorld();
  const before = structuredClone(aws.vpc);
  converge(aws, buildQuestion(buildService()));
  expect(aws.vpc).not.toEqual(before);
  expect(converge(aws, buildDeletionQuestion(buildService()))).toEqual({
    kind: "settled",
    ingress: [],
    warnings: [],
  });
  expect([aws.balancers.size, aws.groups.size, aws.listeners.size]).toEqual([0, 0, 0]);
  auditForAnHour(aws);
  expect(aws.vpc).toEqual(before);
});

test("a load balancer that AWS reports as failed stays unchanged, and a message says so", () => {
  const aws = createNetworkWorld();
  const asked = buildQuestion(buildService());
  converge(aws, asked);
  for (const { loadBalancer } of aws.balancers.values()) loadBalancer.State = { Code: "failed" };
  const before = aws.done.length;
  expect(converge(aws, buildQuestion(buildService(), []))).toMatchObject({
    kind: "refused",
    issue: { code: "LoadBalancerFailed" },
  });
  expect(aws.done).toHaveLength(before);
});
