import {
  CreateTargetGroupCommand,
  DescribeTargetGroupsCommand,
} from "@aws-sdk/client-elastic-load-balancing-v2";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWithPart } from "#test/setup/parts.ts";
import { type Clients, createClients } from "./clients.ts";
import { makeNetwork } from "./make-network.ts";
import { type MendedMoto, startMendedMoto } from "./start-mended-moto.ts";

describeWithPart("moto", "an account with points", (program) => {
  let moto: MendedMoto;
  let aws: Clients;
  beforeAll(async () => {
    moto = await startMendedMoto(program, { hasPoints: true });
    aws = createClients(moto.url);
  });
  afterAll(async () => {
    aws?.close();
    await moto?.close();
  });

  async function names(): Promise<(string | undefined)[]> {
    const { TargetGroups = [] } = await aws.elbv2.send(new DescribeTargetGroupsCommand({}));
    return TargetGroups.map(({ TargetGroupName }) => TargetGroupName).toSorted();
  }

  test("goes back to each saved point, and reads its state", async () => {
    const { vpc } = await makeNetwork(aws.ec2, { clusterTag: "points" });
    const make = (Name: string) =>
      aws.elbv2.send(new CreateTargetGroupCommand({ Name, Protocol: "TCP", Port: 1, VpcId: vpc }));
    await make("before");
    const earlier = await moto.point();
    const atEarlier = moto.history();
    await make("between");
    const later = await moto.point();
    await make("after");
    expect(await names()).toEqual(["after", "before", "between"]);
    for (let times = 0; times < 2; times += 1) {
      await later.back();
      expect(await names()).toEqual(["before", "between"]);
      await make(`other-${times}`);
      expect(await names()).toEqual(["before", "between", `other-${times}`]);
    }
    await earlier.back();
    expect(moto.history()).toBe(atEarlier);
    expect(await names()).toEqual(["before"]);
    await expect(later.back()).rejects.toThrow("earlier point");
    await moto.reset();
    expect(await names()).toEqual([]);
  });

  test("has the same history after the same changes, and another one after others", async () => {
    await moto.reset();
    const { vpc } = await makeNetwork(aws.ec2, { clusterTag: "points" });
    const make = (Name: string) =>
      aws.elbv2.send(new CreateTargetGroupCommand({ Name, Protocol: "TCP", Port: 1, VpcId: vpc }));
    const point = await moto.point();
    const histories: string[] = [];
    for (const name of ["one", "one", "other"]) {
      await point.back();
      await make(name);
      histories.push(moto.history());
    }
    const [first, again, other] = histories;
    expect([again === first, other === first]).toEqual([true, false]);
  });
});
