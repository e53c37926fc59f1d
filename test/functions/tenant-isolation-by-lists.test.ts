import { afterEach, describe, expect, test } from "vitest";
import { nodeController } from "#core/node/controller.ts";
import { csrController } from "#functions/parts/csr-controller.ts";
import { buildNode, type NodeTraits } from "#test/clouds/builders.ts";
import { buildErrorAnswer } from "#test/clouds/hcloud/fake-server.ts";
import { createNodeWorld as anHcloudWorld } from "#test/clouds/hcloud/world.ts";
import { errors } from "#test/clouds/openstack/fake-server.ts";
import { createNodeWorld as anOpenStackWorld } from "#test/clouds/openstack/world.ts";
import { type CloudUnderTest, observeCluster } from "#test/functions/observe-cluster.ts";
import { buildServingRequest } from "#test/functions/serving-request.ts";

// As in tenant-isolation.test.ts, for clouds that find servers in lists. A foreign server, an unreadable one
// and a missing one cause the same writes at the same times with the same number of requests.

type World = "unknown" | "foreign" | "denied";

const OTHERS: readonly World[] = ["foreign", "denied"];
const NAME = "their-node";
const HCLOUD_ID = "52000900";
const OPENSTACK_ID = "8e6b1f0a-1111-4222-8333-944455556666";

const open: CloudUnderTest[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close()));
});

async function hetzner(world: World, config: Record<string, unknown>): Promise<CloudUnderTest> {
  const made = await anHcloudWorld();
  const { fake } = made;
  fake.add();
  if (world === "foreign")
    fake.add({ id: HCLOUD_ID, name: NAME, labels: { cluster: "theirs" }, private_net: [] });
  if (world === "denied")
    fake.fault = ({ path }) =>
      path === `/v1/servers/${HCLOUD_ID}` ? buildErrorAnswer(403, "forbidden") : undefined;
  return opened({
    cloud: made.cloud(config),
    calls: () => fake.requests.length,
    close: () => made.close(),
  });
}

async function openstack(world: World, config: Record<string, unknown>): Promise<CloudUnderTest> {
  const made = await anOpenStackWorld();
  const { fake } = made;
  fake.add();
  if (world === "foreign")
    fake.add({ id: OPENSTACK_ID, name: NAME, tags: ["k8s-theirs"], metadata: { cluster: "theirs" } });
  if (world === "denied")
    fake.fault = ({ path }) =>
      path.endsWith(`/servers/${OPENSTACK_ID}`) ? errors.nova(403, "forbidden") : undefined;
  return opened({
    cloud: made.cloud(config),
    calls: () => fake.requests.length,
    close: () => made.close(),
  });
}

function opened(made: CloudUnderTest): CloudUnderTest {
  open.push(made);
  return made;
}

const BY_NAME: NodeTraits = { name: NAME };
const HCLOUD_NODE: NodeTraits = { name: NAME, providerID: `hcloud://${HCLOUD_ID}` };
const OPENSTACK_NODE: NodeTraits = { name: NAME, providerID: `openstack:///${OPENSTACK_ID}` };
const JOINED = { taints: [], labels: { "failure-domain.beta.kubernetes.io/zone": "wished-for" } };

describe.each([
  ["at Hetzner, by its provider ID", hetzner, HCLOUD_NODE, {}],
  [
    "at Hetzner, by its provider ID, known by network alone",
    hetzner,
    HCLOUD_NODE,
    { labelSelector: undefined },
  ],
  ["at Hetzner, by its provider ID, known by labels alone", hetzner, HCLOUD_NODE, { network: undefined }],
  ["at Hetzner, by its name", hetzner, BY_NAME, {}],
  ["at Hetzner, by its name, known by network alone", hetzner, BY_NAME, { labelSelector: undefined }],
  ["on OpenStack, by its provider ID", openstack, OPENSTACK_NODE, {}],
  [
    "on OpenStack, by its provider ID, known by metadata alone",
    openstack,
    OPENSTACK_NODE,
    { "server-tag": undefined },
  ],
  ["on OpenStack, by its name", openstack, BY_NAME, {}],
  ["on OpenStack, by its name, known by metadata alone", openstack, BY_NAME, { "server-tag": undefined }],
] as const)("a node %s", (_, start, traits, config) => {
  test("that waits for its server", async () => {
    const object = buildNode(traits);
    const unknown = await observeCluster(nodeController, object, await start("unknown", config));
    expect(unknown.codes).toEqual(["InstanceNotFound"]);
    expect(unknown.looks.at(-1)).toMatchObject({ sent: [{ body: { reason: "CloudInitializationFailed" } }] });
    for (const world of OTHERS) {
      const { looks } = await observeCluster(nodeController, object, await start(world, config));
      expect({ world, looks }).toEqual({ world, looks: unknown.looks });
    }
  });

  test("that says it is initialized, looked at again", async () => {
    const object = buildNode({ ...traits, ...JOINED });
    const again = { reason: "refresh" };
    const unknown = await observeCluster(nodeController, object, await start("unknown", config), again);
    for (const world of OTHERS) {
      const { looks } = await observeCluster(nodeController, object, await start(world, config), again);
      expect({ world, looks }).toEqual({ world, looks: unknown.looks });
    }
  });

  test("whose kubelet requests a serving certificate", async () => {
    const { object, related } = await buildServingRequest(traits);
    const unknown = await observeCluster(csrController, object, await start("unknown", config), related);
    expect(unknown.looks.at(-2)).toMatchObject({
      sent: Array(2).fill({ body: { reason: "ServingCertificate" } }),
    });
    for (const world of OTHERS) {
      const { looks } = await observeCluster(csrController, object, await start(world, config), related);
      expect({ world, looks }).toEqual({ world, looks: unknown.looks });
    }
  });
});
