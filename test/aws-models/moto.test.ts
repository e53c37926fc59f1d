import {
  CreateSubnetCommand,
  CreateVpcCommand,
  DescribeVpcsCommand,
  type EC2Client,
} from "@aws-sdk/client-ec2";
import { DeleteTargetGroupCommand } from "@aws-sdk/client-elastic-load-balancing-v2";
import { expect, test } from "vitest";
import { checkExchange } from "#test/aws-models/check-exchange.ts";
import type { Exchange } from "#test/aws-models/exchange.ts";
import { MOTO_VIOLATIONS } from "#test/aws-models/known-violations.ts";
import { observeHttp } from "#test/aws-models/observe-http.ts";
import { formatViolationKey } from "#test/aws-models/violation.ts";
import { createClients, getErrorCode, REGION } from "#test/clouds/aws/moto/clients.ts";
import { startMoto } from "#test/setup/moto.ts";
import { describeWithPart, getPart } from "#test/setup/parts.ts";

/** Calls whose answers have the listed violations. */
async function provoke(clients: ReturnType<typeof createClients>): Promise<void> {
  const { ec2, elbv2 } = clients;
  await ec2.send(new CreateSubnetCommand({ ...(await createVpc(ec2)), CidrBlock: "10.1.0.0/24" }));
  const TargetGroupArn = `arn:aws:elasticloadbalancing:${REGION}:123456789012:targetgroup/web/0123456789abcdef`;
  expect(await getErrorCode(elbv2.send(new DeleteTargetGroupCommand({ TargetGroupArn })))).toBe(
    "TargetGroupNotFound",
  );
}

async function createVpc(
  ec2: EC2Client,
): Promise<{ readonly VpcId: string; readonly Ipv6CidrBlock: string }> {
  const request = { CidrBlock: "10.1.0.0/16", AmazonProvidedIpv6CidrBlock: true };
  const { Vpc } = await ec2.send(new CreateVpcCommand(request));
  const VpcId = Vpc?.VpcId ?? "";
  const { Vpcs = [] } = await ec2.send(new DescribeVpcsCommand({ VpcIds: [VpcId] }));
  const network = Vpcs[0]?.Ipv6CidrBlockAssociationSet?.[0]?.Ipv6CidrBlock ?? "";
  return { VpcId, Ipv6CidrBlock: network.replace("/56", "/64") };
}

describeWithPart("moto", "moto", (program) => {
  const models = getPart("aws-models");

  test.runIf(models.kind === "present")(
    "has the listed violations of AWS's models, and no other here",
    async () => {
      const moto = await startMoto(program);
      const clients = createClients(moto.url);
      const exchanges: Exchange[] = [];
      const end = observeHttp((exchange) => exchanges.push(exchange));
      try {
        await provoke(clients);
      } finally {
        end();
        clients.close();
        await moto.close();
      }
      expect(exchanges.length).toBeGreaterThan(0);
      const folder = models.kind === "present" ? models.value : "";
      const keys = exchanges.flatMap((each) => checkExchange(folder, each)).map(formatViolationKey);
      expect([...new Set(keys)].sort()).toEqual(Object.keys(MOTO_VIOLATIONS).sort());
    },
  );
});
