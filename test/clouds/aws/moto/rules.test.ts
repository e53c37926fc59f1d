import {
  AuthorizeSecurityGroupIngressCommand,
  CreateSecurityGroupCommand,
  DescribeSecurityGroupsCommand,
  UpdateSecurityGroupRuleDescriptionsIngressCommand,
} from "@aws-sdk/client-ec2";
import { expect, test } from "vitest";
import { describeWithPart } from "#test/setup/parts.ts";
import { createClients, getErrorCode } from "./clients.ts";
import { makeNetwork } from "./make-network.ts";
import { startMendedMoto } from "./start-mended-moto.ts";

describeWithPart("moto", "rules of a security group", (program) => {
  test.each([
    { account: "as it comes", options: {}, most: 60 },
    { account: "that was given more", options: { hasPoints: true, rulesPerSecurityGroup: 70 }, most: 70 },
  ])("an account $account has $most", async ({ options, most }) => {
    const moto = await startMendedMoto(program, options);
    const { ec2, close } = createClients(moto.url);
    try {
      const { vpc } = await makeNetwork(ec2, { clusterTag: "one" });
      const { GroupId } = await ec2.send(
        new CreateSecurityGroupCommand({ GroupName: "many", Description: "x", VpcId: vpc }),
      );
      const allow = (from: number, count: number) =>
        getErrorCode(
          ec2.send(
            new AuthorizeSecurityGroupIngressCommand({
              GroupId,
              IpPermissions: Array.from({ length: count }, (_, index) => ({
                IpProtocol: "tcp",
                FromPort: from + index,
                ToPort: from + index,
                IpRanges: [{ CidrIp: "10.0.0.0/8" }],
              })),
            }),
          ),
        );
      expect(await allow(1_000, most)).toBe("succeeded");
      expect(await allow(2_000, 1)).toBe("RulesPerSecurityGroupLimitExceeded");
    } finally {
      close();
      await moto.close();
    }
  });

  test("get new descriptions, including those about groups", async () => {
    const moto = await startMendedMoto(program);
    const { ec2, close } = createClients(moto.url);
    try {
      const { vpc } = await makeNetwork(ec2, { clusterTag: "one" });
      const { GroupId } = await ec2.send(
        new CreateSecurityGroupCommand({ GroupName: "one", Description: "x", VpcId: vpc }),
      );
      const rules = (Description: string) => ({
        GroupId,
        IpPermissions: [
          { IpProtocol: "tcp", FromPort: 1, ToPort: 2, IpRanges: [{ CidrIp: "10.0.0.0/8", Description }] },
          { IpProtocol: "-1", UserIdGroupPairs: [{ GroupId, Description }] },
        ],
      });
      await ec2.send(new AuthorizeSecurityGroupIngressCommand(rules("before")));
      await ec2.send(new UpdateSecurityGroupRuleDescriptionsIngressCommand(rules("after")));
      const { SecurityGroups } = await ec2.send(
        new DescribeSecurityGroupsCommand({ GroupIds: [GroupId ?? ""] }),
      );
      const described = SecurityGroups?.[0]?.IpPermissions?.flatMap(
        ({ IpRanges = [], UserIdGroupPairs = [] }) =>
          [...IpRanges, ...UserIdGroupPairs].map(({ Description }) => Description),
      );
      expect(described).toEqual(["after", "after"]);
    } finally {
      close();
      await moto.close();
    }
  });
});
