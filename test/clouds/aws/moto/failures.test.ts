import {
  CreateSecurityGroupCommand,
  DescribeSecurityGroupsCommand,
  DescribeVpcsCommand,
} from "@aws-sdk/client-ec2";
import {
  CreateLoadBalancerCommand,
  DescribeLoadBalancersCommand,
} from "@aws-sdk/client-elastic-load-balancing-v2";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { describeWithPart } from "#test/setup/parts.ts";
import { type Clients, createClients, getErrorCode } from "./clients.ts";
import { createFailures } from "./failures.ts";
import { makeNetwork, type Network } from "./make-network.ts";
import { type MendedMoto, startMendedMoto } from "./start-mended-moto.ts";

describeWithPart("moto", "failures of mended moto", (program) => {
  let moto: MendedMoto;
  let aws: Clients;
  let network: Network;

  beforeAll(async () => {
    moto = await startMendedMoto(program);
  });
  beforeEach(async () => {
    aws = createClients(moto.url);
    network = await makeNetwork(aws.ec2, { clusterTag: "one" });
    moto.forgetCalls();
  });
  afterEach(async () => {
    aws.close();
    await moto.reset();
  });
  afterAll(() => moto?.close());

  const load = (Name = "one") =>
    aws.elbv2.send(new CreateLoadBalancerCommand({ Name, Type: "network", Subnets: [network.subnets[0]] }));
  const names = async (...Names: string[]) =>
    (
      await aws.elbv2.send(new DescribeLoadBalancersCommand(Names.length > 0 ? { Names } : {}))
    ).LoadBalancers?.map(({ LoadBalancerName }) => LoadBalancerName);
  const vpcs = () => getErrorCode(aws.ec2.send(new DescribeVpcsCommand({})));

  test("counts calls, including failed ones", async () => {
    await load();
    await getErrorCode(names("unknown"));
    await names();
    expect(moto.counts()).toEqual({ "elbv2:CreateLoadBalancer": 1, "elbv2:DescribeLoadBalancers": 2 });
    expect(moto.calls().map(({ code }) => code)).toEqual([undefined, "LoadBalancerNotFound", undefined]);
  });

  test("throttles the next calls in each service's format, and nothing lands", async () => {
    moto.failures.plan({ operation: "*", count: 2, failure: { kind: "throttle" } });
    expect(await getErrorCode(load())).toBe("Throttling");
    expect(await vpcs()).toBe("RequestLimitExceeded");
    expect(await names()).toEqual([]);
    expect(moto.failures.left()).toBe(0);
  });

  test("rejects a call with a code, after others that pass", async () => {
    const failure = { kind: "refuse", code: "InternalFailure", status: 500 } as const;
    moto.failures.plan({ operation: "elbv2:CreateLoadBalancer", after: 1, failure });
    await load();
    expect(await getErrorCode(load("two"))).toBe("InternalFailure");
    expect(await names()).toEqual(["one"]);
  });

  test("resets a connection before the call lands, or in place of the answer", async () => {
    moto.failures.plan({ operation: "change", failure: { kind: "reset" } });
    expect(await getErrorCode(load())).not.toBe("succeeded");
    expect(await names()).toEqual([]);
    moto.failures.plan({ operation: "change", failure: { kind: "lose-answer" } });
    expect(await getErrorCode(load())).not.toBe("succeeded");
    expect(await names()).toEqual(["one"]);
  });

  test("hides new resources from the next describes, by name and in lists", async () => {
    moto.hideNew(2);
    await load();
    expect(await getErrorCode(names("one"))).toBe("LoadBalancerNotFound");
    expect(await names()).toEqual([]);
    expect(await names("one")).toEqual(["one"]);
    const { GroupId = "" } = await aws.ec2.send(
      new CreateSecurityGroupCommand({ GroupName: "one", Description: "x", VpcId: network.vpc }),
    );
    const byId = () => getErrorCode(aws.ec2.send(new DescribeSecurityGroupsCommand({ GroupIds: [GroupId] })));
    expect([await byId(), await byId(), await byId()]).toEqual([
      "InvalidGroup.NotFound",
      "InvalidGroup.NotFound",
      "succeeded",
    ]);
  });

  test("a gate decides before a call lands, and again before the answer", async () => {
    moto.setGate({ enter: () => false, leave: () => true });
    expect(await getErrorCode(load())).not.toBe("succeeded");
    moto.setGate({ enter: () => true, leave: () => false });
    expect(await getErrorCode(load("two"))).not.toBe("succeeded");
    moto.setGate(undefined);
    expect(await names()).toEqual(["two"]);
  });

  test.each([
    { bucket: "elbv2:describing", meets: ["DescribeTags"] },
    { bucket: "elbv2:registering", meets: ["RegisterTargets", "DeregisterTargets"] },
    { bucket: "elbv2:changing", meets: ["CreateListener", "RemoveTags"] },
  ])("the bucket $bucket limits only $meets", ({ bucket, meets }) => {
    const failures = createFailures(() => 0);
    failures.limit([{ operation: bucket, tokens: 0, perSecond: 1 }]);
    const all = ["DescribeTags", "RegisterTargets", "DeregisterTargets", "CreateListener", "RemoveTags"];
    const met = all.filter((operation) =>
      failures.take({ service: "elbv2", operation } as Parameters<typeof failures.take>[0]),
    );
    expect(met).toEqual(meets);
    expect(
      failures.take({ service: "elb", operation: meets[0] } as Parameters<typeof failures.take>[0]),
    ).toBe(undefined);
  });

  test("operations spend tokens, which come back with time", () => {
    let nowMs = 0;
    const failures = createFailures(() => nowMs);
    failures.limit([
      { operation: "ec2:CreateRoute", tokens: 2, perSecond: 1 },
      { operation: "elbv2:*", tokens: 1, perSecond: 0.1 },
    ]);
    const take = (service: "ec2" | "elbv2", operation: string) =>
      failures.take({ service, operation } as Parameters<typeof failures.take>[0])?.kind;
    const routes = () => take("ec2", "CreateRoute");
    expect([routes(), routes(), routes()]).toEqual([undefined, undefined, "throttle"]);
    expect(take("ec2", "DescribeVpcs")).toBeUndefined();
    expect([take("elbv2", "AddTags"), take("elbv2", "DescribeTags")]).toEqual([undefined, "throttle"]);
    nowMs = 1_000;
    expect([routes(), routes()]).toEqual([undefined, "throttle"]);
    expect(take("elbv2", "AddTags")).toBe("throttle");
  });
});
