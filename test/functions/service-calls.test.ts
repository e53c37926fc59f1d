import { afterAll, beforeAll, expect, test } from "vitest";
import type { ObjectReport } from "#core/report.ts";
import { type ManyServices, startManyServices } from "#test/functions/services/many-services.ts";
import { describeWithPart } from "#test/setup/parts.ts";

// The calls of network load balancers with two ports; AWS limits the calls of an account per second. Each
// test continues where the previous one ended.

const SERVICES = 12;
/** Services that are seen to at a time: of the rule that all have together they do not know of each other. */
const AT_ONCE = 3;
const TIMEOUT_MS = 120_000;

describeWithPart("moto", "Services in one event", (program) => {
  let stage: ManyServices;
  beforeAll(async () => {
    stage = await startManyServices(program);
  });
  afterAll(() => stage?.close());

  test(
    "are created with what each needs, and one look at all of them",
    async () => {
      await stage.create(SERVICES);
      expect(await callsUntilDone(() => stage.invoke())).toEqual({
        ...LOOK,
        // Once an hour, by a process that makes some: without a written maximum it follows from them.
        "elb:DescribeAccountLimits": 1,
        "elbv2:DescribeAccountLimits": 1,
        "ec2:DescribeAvailabilityZones": 1,
        "elbv2:CreateLoadBalancer": SERVICES,
        "elbv2:CreateTargetGroup": 2 * SERVICES,
        "elbv2:CreateListener": 2 * SERVICES,
        "elbv2:RegisterTargets": 2 * SERVICES,
        "ec2:AuthorizeSecurityGroupIngress": expect.toSatisfy(isBetween(SERVICES + 1, SERVICES + AT_ONCE)),
      });
      const hostnames = (await stage.services()).map(
        ({ status }) => status?.loadBalancer?.ingress?.[0]?.hostname,
      );
      expect(new Set(hostnames).size).toBe(SERVICES);
      expect(hostnames).not.toContain(undefined);
    },
    TIMEOUT_MS,
  );

  test(
    "get nodes that join with two calls a target group",
    async () => {
      await stage.join(3);
      expect(await callsUntilDone(() => stage.invoke())).toEqual({
        ...LOOK,
        "elbv2:DescribeTags": Math.ceil((3 * SERVICES) / 20),
        "elbv2:DescribeTargetHealth": 2 * SERVICES,
        "elbv2:RegisterTargets": 2 * SERVICES,
      });
    },
    TIMEOUT_MS,
  );

  test(
    "are deleted with what each has, and one look at all of them",
    async () => {
      await stage.delete();
      expect(await callsUntilDone(() => stage.invoke())).toEqual({
        "ec2:DescribeSecurityGroups": 1,
        "elb:DescribeLoadBalancers": 1,
        "elbv2:DescribeLoadBalancers": 1,
        "elbv2:DescribeTargetGroups": 1,
        "elbv2:DescribeTags": Math.ceil((3 * SERVICES) / 20),
        "elbv2:DeleteLoadBalancer": SERVICES,
        "elbv2:DeleteTargetGroup": 2 * SERVICES,
        // Concurrent Services share one call, which depends on the machine's speed.
        "ec2:RevokeSecurityGroupIngress": expect.toSatisfy(isBetween(SERVICES / AT_ONCE, SERVICES + 1)),
      });
      expect(await stage.services()).toEqual([]);
      // What all of them shared is the audit's to take away.
      const left = (await stage.nodeRules()).flatMap(({ IpRanges = [] }) =>
        IpRanges.map(({ Description }) => Description),
      );
      expect(left).toEqual(["kubernetes.io/rule/nlb/mtu"]);
    },
    TIMEOUT_MS,
  );

  /** Returns the cloud calls until every Service is complete; a further event then makes no call. */
  async function callsUntilDone(invoke: () => Promise<readonly ObjectReport[]>) {
    stage.moto.forgetCalls();
    for (let events = 0; (await stage.services()).length > 0 && events < 10; events += 1)
      if ((await invoke()).every(({ outcome }) => outcome === "unchanged")) break;
    return stage.moto.counts();
  }
});

const isBetween = (least: number, most: number) => (count: unknown) =>
  typeof count === "number" && count >= least && count <= most;

const LOOK = {
  "ec2:DescribeInstances": 1,
  "ec2:DescribeRouteTables": 1,
  "ec2:DescribeSecurityGroups": 1,
  "ec2:DescribeSubnets": 1,
  "elb:DescribeLoadBalancers": 1,
  "elbv2:DescribeLoadBalancers": 1,
  "elbv2:DescribeTargetGroups": 1,
};
