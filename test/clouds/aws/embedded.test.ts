import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createAwsCloud } from "#clouds/aws/cloud.ts";
import { startEc2 } from "#emulators/ec2/server.ts";
import { buildConfig, VPC } from "#test/clouds/aws/ec2-world.ts";
import { buildCall, buildNode } from "#test/clouds/builders.ts";
import {
  type CloudWorld,
  formatAnswer,
  testCloudConformance,
  type WorldInstance,
} from "#test/clouds/conformance.ts";

const TAGS = { "kubernetes.io/cluster/demo": "owned" };

beforeAll(() => {
  vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
});
afterAll(() => {
  vi.unstubAllEnvs();
});

describe("on the embedded EC2", () => {
  testCloudConformance("aws", embeddedWorld);

  test("assumes a role, and returns dual-stack addresses and the place in the network", async () => {
    const ec2 = await startEc2({ account: "210987654321" });
    vi.stubEnv("AWS_ENDPOINT_URL_EC2", ec2.url);
    vi.stubEnv("AWS_ENDPOINT_URL_STS", ec2.url);
    const { id } = ec2.addInstance({
      vpcId: VPC,
      tags: TAGS,
      instanceType: "p5.48xlarge",
      privateIpAddress: "10.0.0.1",
      ipv6Addresses: ["2001:db8::1"],
      networkNodes: ["nn-1", "nn-2"],
    });
    const roleArn = "arn:aws:iam::210987654321:role/ccm";
    const cloud = createAwsCloud(buildConfig({ roleArn, nodeIPFamilies: ["ipv6", "ipv4"] }));
    const { answers } = await cloud.instances([buildNode({ providerID: id })], buildCall());
    expect(answers).toMatchObject([
      {
        kind: "found",
        instance: {
          account: "210987654321",
          addresses: [
            { type: "InternalIP", address: "2001:db8::1" },
            { type: "InternalIP", address: "10.0.0.1" },
            { type: "InternalDNS" },
            { type: "Hostname" },
          ],
          labels: {
            "topology.k8s.aws/network-node-layer-1": "nn-1",
            "topology.k8s.aws/network-node-layer-2": "nn-2",
          },
        },
      },
    ]);
    expect(ec2.assumedRoles()).toHaveLength(1);
    await Promise.all([cloud.close(), ec2.close()]);
  });

  test("500 nodes without provider ID stay within EC2's limit for a call", async () => {
    const ec2 = await startEc2();
    vi.stubEnv("AWS_ENDPOINT_URL_EC2", ec2.url);
    const instances = ec2.addInstances(Array.from({ length: 500 }, () => ({ vpcId: VPC, tags: TAGS })));
    const cloud = createAwsCloud(buildConfig());
    const nodes = instances.map(({ privateDnsName }) => buildNode({ name: privateDnsName }));
    const { answers } = await cloud.instances(nodes, buildCall());
    expect(answers.map(formatAnswer)).toEqual(instances.map(({ id }) => id));
    const calls = ec2.record().filter(({ action }) => action === "DescribeInstances");
    expect(calls.map(({ code }) => code)).toEqual(["OK", "OK", "OK"]);
    await Promise.all([cloud.close(), ec2.close()]);
  });

  test.each(["rubbish", "truncated"] as const)(
    "a %s answer is an error, and the next call succeeds",
    async (kind) => {
      const ec2 = await startEc2();
      vi.stubEnv("AWS_ENDPOINT_URL_EC2", ec2.url);
      const { id } = ec2.addInstance({ vpcId: VPC, tags: TAGS });
      const cloud = createAwsCloud(buildConfig());
      const ask = async () =>
        (await cloud.instances([buildNode({ providerID: id })], buildCall())).answers.map(formatAnswer);
      ec2.set({ failures: [{ kind, count: 1 }] });
      expect([await ask(), await ask()]).toEqual([["Unavailable"], [id]]);
      await Promise.all([cloud.close(), ec2.close()]);
    },
  );
});

async function embeddedWorld(): Promise<CloudWorld> {
  const ec2 = await startEc2();
  vi.stubEnv("AWS_ENDPOINT_URL_EC2", ec2.url);
  const cloud = createAwsCloud(buildConfig());
  const add = (spec: Parameters<typeof ec2.addInstance>[0] = {}): WorldInstance => {
    const { id, availabilityZone, privateDnsName } = ec2.addInstance({ vpcId: VPC, tags: TAGS, ...spec });
    return { id, providerID: `aws:///${availabilityZone}/${id}`, nodeName: privateDnsName };
  };
  return {
    cloud,
    unknownProviderID: "aws:///eu-central-1a/i-00000000000000bad",
    invalidProviderID: "aws:///eu-central-1a/vol-00000000000000bad",
    addInstance: async () => add(),
    stop: async ({ id }) => ec2.setState(id, "stopped"),
    terminate: async ({ id }) => ec2.terminate(id),
    async makeForeign({ id }) {
      ec2.remove(id);
      add({ id, vpcId: "vpc-of-theirs" });
      return [id, VPC, "vpc-of-theirs"];
    },
    async makeAmbiguous({ id, nodeName }) {
      return [id, add({ privateDnsName: nodeName }).id];
    },
    async replace({ id, nodeName }) {
      ec2.terminate(id);
      return add({ privateDnsName: nodeName }).id;
    },
    hide: async ({ id }) => ec2.hide(id),
    show: async ({ id }) => ec2.reveal(id),
    async breakApi(how) {
      const count = 1000;
      switch (how) {
        case undefined:
          return ec2.set({ failures: [], denied: [] });
        case "Throttled":
          return ec2.set({ failures: [{ kind: "error", status: 503, code: "RequestLimitExceeded", count }] });
        case "Denied":
          return ec2.set({ denied: ["DescribeInstances"] });
        case "Unavailable":
          return ec2.set({ failures: [{ kind: "hang-up", count }] });
        case "stalled":
          return ec2.set({ failures: [{ kind: "hang", count }] });
      }
    },
    requests: () => ec2.record().length,
    async close() {
      await Promise.all([cloud.close(), ec2.close()]);
    },
  };
}
