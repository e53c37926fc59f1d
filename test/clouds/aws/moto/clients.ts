import { EC2Client } from "@aws-sdk/client-ec2";
import { ElasticLoadBalancingClient } from "@aws-sdk/client-elastic-load-balancing";
import { ElasticLoadBalancingV2Client } from "@aws-sdk/client-elastic-load-balancing-v2";

/** Clients of the three services, without retries. */
export interface Clients {
  readonly ec2: EC2Client;
  readonly elb: ElasticLoadBalancingClient;
  readonly elbv2: ElasticLoadBalancingV2Client;
  close(): void;
}

export const REGION = "eu-central-1";

/** Creates clients of an endpoint, with any credentials. */
export function createClients(endpoint: string, region = REGION): Clients {
  const credentials = { accessKeyId: "test", secretAccessKey: "test" };
  const config = { region, endpoint, credentials, maxAttempts: 1 };
  const [ec2, elb, elbv2] = [
    new EC2Client(config),
    new ElasticLoadBalancingClient(config),
    new ElasticLoadBalancingV2Client(config),
  ];
  return {
    ec2,
    elb,
    elbv2,
    close: () => {
      for (const each of [ec2, elb, elbv2]) each.destroy();
    },
  };
}

/** Returns AWS's code of the fault with which a call rejects, or `"succeeded"`. */
export async function getErrorCode(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "succeeded";
  } catch (error) {
    const { Code, name, code } = error as {
      readonly Code?: string;
      readonly name: string;
      readonly code?: string;
    };
    return Code ?? code ?? name;
  }
}
