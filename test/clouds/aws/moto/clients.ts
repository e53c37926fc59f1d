import { EC2Client } from "@aws-sdk/client-ec2";
import { ElasticLoadBalancingClient } from "@aws-sdk/client-elastic-load-balancing";
import { ElasticLoadBalancingV2Client } from "@aws-sdk/client-elastic-load-balancing-v2";

/** Clients of the three services, each call once. */
export interface Clients {
  readonly ec2: EC2Client;
  readonly elb: ElasticLoadBalancingClient;
  readonly elbv2: ElasticLoadBalancingV2Client;
  close(): void;
}

export const REGION = "eu-central-1";

/** Clients of an endpoint; its credentials may be anything. */
export function clientsOf(endpoint: string, region = REGION): Clients {
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

/** AWS's code of the fault that a call rejects with; `"succeeded"` where it does not. */
export async function codeOf(call: Promise<unknown>): Promise<string> {
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
