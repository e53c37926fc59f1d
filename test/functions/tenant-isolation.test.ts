import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { createAwsCloud } from "#clouds/aws/cloud.ts";
import { nodeController } from "#core/node/controller.ts";
import { startEc2 } from "#emulators/ec2/server.ts";
import { csrController } from "#functions/parts/csr-controller.ts";
import { buildConfig, VPC } from "#test/clouds/aws/ec2-world.ts";
import { buildNode, type NodeTraits } from "#test/clouds/builders.ts";
import { createNodeWorld } from "#test/clouds/digitalocean/world.ts";
import { createNodeWorld as anOciWorld } from "#test/clouds/oci/world.ts";
import { type CloudUnderTest, observeCluster } from "#test/functions/observe-cluster.ts";
import { buildServingRequest } from "#test/functions/serving-request.ts";

// A node may name any instance. A writer of nodes must not learn which instances exist. A foreign instance,
// an invisible one and a missing one cause the same writes at the same times.

/** What a cloud has of the instance that a node names. */
type World = "unknown" | "foreign" | "denied" | "terminated";

const DROPLET = "3164444";
const INSTANCE = "i-0123456789abcdef0";
const DNS_NAME = "ip-10-0-0-7.eu-central-1.compute.internal";
const THEIRS = { vpcId: "vpc-of-theirs", tags: { "kubernetes.io/cluster/theirs": "owned" } };
const DROPLET_OF_THEIRS = { vpc_uuid: "c33931f2-a26a-4e61-b85c-4e95a2ec431b", tags: ["theirs"] };

/** The cluster's own instance, so that the requested one is not the only one. */
const OURS = { vpcId: VPC, tags: { "kubernetes.io/cluster/demo": "owned" } };

beforeAll(() => {
  vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
});
afterAll(() => {
  vi.unstubAllEnvs();
});

const open: CloudUnderTest[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close()));
});

async function aws(world: World, config: Parameters<typeof buildConfig>[0] = {}): Promise<CloudUnderTest> {
  const ec2 = await startEc2();
  vi.stubEnv("AWS_ENDPOINT_URL_EC2", ec2.url);
  ec2.addInstance({ index: 900, ...OURS });
  const named = { index: 7, id: INSTANCE, privateDnsName: DNS_NAME };
  if (world === "foreign") ec2.addInstance({ ...named, ...THEIRS });
  if (world === "terminated") {
    // Without a tag, nothing tells any more that it was not the cluster's.
    ec2.addInstance({ ...named, vpcId: THEIRS.vpcId });
    ec2.terminate(INSTANCE);
  }
  if (world === "denied") ec2.set({ denied: ["DescribeInstances"] });
  const cloud = createAwsCloud(buildConfig(config), { clusterName: "demo" });
  const calls = () => ec2.record().filter(({ action }) => action === "DescribeInstances").length;
  return { cloud, calls, close: async () => void (await Promise.all([cloud.close(), ec2.close()])) };
}

async function digitalocean(
  world: World | "denied by its VPC",
  config: Record<string, unknown> = {},
): Promise<CloudUnderTest> {
  const made = await createNodeWorld();
  const { fake } = made;
  fake.add({ id: "3164400" });
  if (world === "foreign") fake.add({ id: DROPLET, name: DNS_NAME, ...DROPLET_OF_THEIRS });
  if (world === "denied") {
    const answer = { status: 403, body: JSON.stringify({ id: "forbidden", message: "not yours to see" }) };
    fake.fault = ({ path }) => (path === `/v2/droplets/${DROPLET}` ? answer : undefined);
  }
  if (world === "denied by its VPC") {
    fake.add({ id: DROPLET, name: DNS_NAME });
    fake.scopes.delete("vpc:read");
  }
  const cloud = made.cloud(config);
  return { cloud, calls: () => fake.requests.length, close: () => made.close() };
}

const OCID = "ocid1.instance.oc1.phx.theirs";

async function oracle(world: "unknown" | "compartment" | "vcn"): Promise<CloudUnderTest> {
  const made = await anOciWorld();
  const { fake } = made;
  fake.compute.add();
  const named = { id: OCID, displayName: DNS_NAME };
  if (world === "compartment") fake.compute.add({ ...named, compartmentId: "ocid1.compartment.oc1..theirs" });
  if (world === "vcn") {
    const { id: subnetId } = fake.network.addSubnet({ vcnId: "ocid1.vcn.oc1.phx.theirs" });
    fake.compute.add({ ...named, vnic: { subnetId, hostnameLabel: undefined } });
  }
  return { cloud: made.cloud(), calls: () => fake.requests.length, close: () => made.close() };
}

const seen: typeof observeCluster = (controller, object, made, difference) => {
  open.push(made);
  return observeCluster(controller, object, made, difference);
};

/** Without the number of calls: a refusal of the whole account comes with the first one. */
function withoutCalls(looks: readonly unknown[]): unknown[] {
  return looks.map((look) => ({ ...(look as object), calls: undefined }));
}

const BY_ID: NodeTraits = { name: "node-a", providerID: `aws:///eu-central-1a/${INSTANCE}` };
const BY_NAME: NodeTraits = { name: DNS_NAME };
const DROPLET_ID: NodeTraits = { name: "node-a", providerID: `digitalocean://${DROPLET}` };
const OCI_ID: NodeTraits = { name: "node-a", providerID: `oci://${OCID}` };
const JOINED = { taints: [], labels: { "failure-domain.beta.kubernetes.io/zone": "wished-for" } };

describe("a node that waits for its instance", () => {
  test.each([
    ["by its provider ID", BY_ID, {}],
    ["by its provider ID, known by VPC alone", BY_ID, { clusterTag: undefined }],
    ["by its name", BY_NAME, {}],
    ["by its name, known by tag alone", BY_NAME, { vpc: undefined }],
    ["by its name and address, known by tag alone", BY_NAME, { vpc: undefined, matchByNodeIP: true }],
  ])("on AWS, %s", async (_, traits, config) => {
    const object = buildNode(traits);
    const unknown = await seen(nodeController, object, await aws("unknown", config));
    const foreign = await seen(nodeController, object, await aws("foreign", config));
    const denied = await seen(nodeController, object, await aws("denied", config));
    const terminated = await seen(nodeController, object, await aws("terminated", config));
    expect(unknown.looks.at(-1)).toMatchObject({ sent: [{ body: { reason: "CloudInitializationFailed" } }] });
    expect(foreign.looks).toEqual(unknown.looks);
    expect(terminated.looks).toEqual(unknown.looks);
    expect(denied.codes).toEqual(["Denied"]);
    expect(withoutCalls(denied.looks)).toEqual(withoutCalls(unknown.looks));
  });

  test.each([
    ["by its provider ID", DROPLET_ID, {}],
    ["by its provider ID, known by VPC alone", DROPLET_ID, { dropletTag: undefined }],
    ["by its name", BY_NAME, {}],
    ["by its name, known by VPC alone", BY_NAME, { dropletTag: undefined }],
  ])("on DigitalOcean, %s", async (_, traits, config) => {
    const object = buildNode(traits);
    const unknown = await seen(nodeController, object, await digitalocean("unknown", config));
    expect(unknown.codes).toEqual(["InstanceNotFound"]);
    expect(unknown.looks.at(-1)).toMatchObject({ sent: [{ body: { reason: "CloudInitializationFailed" } }] });
    for (const world of ["foreign", "denied", "denied by its VPC"] as const) {
      const other = await seen(nodeController, object, await digitalocean(world, config));
      expect({ world, looks: other.looks }).toEqual({ world, looks: unknown.looks });
    }
  });

  test.each([
    ["by its provider ID", OCI_ID],
    ["by its provider ID, bare", { ...OCI_ID, providerID: OCID }],
    ["by its name", BY_NAME],
  ])("on Oracle Cloud, %s", async (_, traits) => {
    const object = buildNode(traits);
    const unknown = await seen(nodeController, object, await oracle("unknown"));
    expect(unknown.codes).toEqual(["InstanceNotFound"]);
    expect(unknown.looks.at(-1)).toMatchObject({ sent: [{ body: { reason: "CloudInitializationFailed" } }] });
    const ofTheirs = await seen(nodeController, object, await oracle("compartment"));
    expect(ofTheirs.looks).toEqual(unknown.looks);
    const ofAnother = await seen(nodeController, object, await oracle("vcn"));
    expect(ofAnother.codes).toEqual(["Foreign"]);
    expect(withoutCalls(ofAnother.looks)).toEqual(withoutCalls(unknown.looks));
  });

  test("on DigitalOcean, among so many others that all droplets are listed", async () => {
    const others = Array.from({ length: 5 }, (_, index) => buildNode({ name: `pool-b-${index}` }));
    const objects = [buildNode(DROPLET_ID), ...others];
    const config = { dropletTag: undefined };
    const unknown = await seen(nodeController, null, await digitalocean("unknown", config), { objects });
    for (const world of ["foreign", "denied", "denied by its VPC"] as const) {
      const other = await seen(nodeController, null, await digitalocean(world, config), { objects });
      expect({ world, looks: other.looks }).toEqual({ world, looks: unknown.looks });
    }
  });
});

describe("a node that says it is initialized, looked at again,", () => {
  const again = { reason: "refresh" };

  test.each([
    ["as it is", { ...BY_ID, taints: [] }],
    ["with labels to be reconciled", { ...BY_ID, ...JOINED }],
  ])("on AWS, %s", async (_, traits) => {
    const config = { clusterTag: undefined };
    const object = buildNode(traits);
    const unknown = await seen(nodeController, object, await aws("unknown", config), again);
    for (const world of ["foreign", "denied", "terminated"] as const) {
      const other = await seen(nodeController, object, await aws(world, config), again);
      expect({ world, looks: other.looks }).toEqual({ world, looks: unknown.looks });
    }
  });

  test("on DigitalOcean", async () => {
    const object = buildNode({ ...DROPLET_ID, ...JOINED });
    const unknown = await seen(nodeController, object, await digitalocean("unknown"), again);
    for (const world of ["foreign", "denied", "denied by its VPC"] as const) {
      const other = await seen(nodeController, object, await digitalocean(world), again);
      expect({ world, looks: other.looks }).toEqual({ world, looks: unknown.looks });
    }
  });
});

describe("a kubelet that asks for a serving certificate", () => {
  test.each([
    ["by its provider ID", BY_ID],
    ["by its name", BY_NAME],
  ])("on AWS, %s", async (_, traits) => {
    const { object, related } = await buildServingRequest(traits);
    const config = { clusterTag: undefined };
    const unknown = await seen(csrController, object, await aws("unknown", config), related);
    const foreign = await seen(csrController, object, await aws("foreign", config), related);
    const terminated = await seen(csrController, object, await aws("terminated", config), related);
    const denied = await seen(csrController, object, await aws("denied", config), related);
    expect(unknown.looks.at(-2)).toMatchObject({
      sent: Array(2).fill({ body: { reason: "ServingCertificate" } }),
    });
    expect(foreign.looks).toEqual(unknown.looks);
    expect(terminated.looks).toEqual(unknown.looks);
    expect(withoutCalls(denied.looks)).toEqual(withoutCalls(unknown.looks));
  });

  test.each([
    ["by its provider ID", DROPLET_ID],
    ["by its name", BY_NAME],
  ])("on DigitalOcean, %s", async (_, traits) => {
    const { object, related } = await buildServingRequest(traits);
    const unknown = await seen(csrController, object, await digitalocean("unknown"), related);
    for (const world of ["foreign", "denied", "denied by its VPC"] as const) {
      const other = await seen(csrController, object, await digitalocean(world), related);
      expect({ world, looks: other.looks }).toEqual({ world, looks: unknown.looks });
    }
  });
});
