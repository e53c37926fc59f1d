import { expect, test } from "vitest";
import { Cluster } from "#config/cluster.ts";
import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import { nodeLifecycleWatch } from "#core/node-lifecycle/watch.ts";
import { requestResync } from "#functions/parts/ec2-events/request-resync.ts";
import { parseStateChange } from "#functions/parts/ec2-events/state-change.ts";
import type { Transport } from "#kube/client/transport.ts";
import { ACCOUNT, buildStateChange, VPC } from "#test/functions/ec2-events/world.ts";
import { createFakeApi } from "#test/kube/apply/fake-api.ts";

const ID = "i-0123456789abcdef0";

/** Reports an instance without tags to 30 clusters, and returns those that were asked. Only the last has its node. */
async function report(
  isSilent: (index: number) => boolean,
  without: (index: number) => boolean = () => false,
) {
  const clusters = Array.from({ length: 30 }, (_, index) =>
    Cluster.parse({
      name: `tenant-${index}`,
      server: "https://127.0.0.1",
      cloud: { provider: "aws", region: "eu-central-1", vpc: VPC },
      controllers: [without(index) ? "cloud-node-controller" : nodeLifecycleWatch.name],
    }),
  );
  const deadline = new AbortController();
  const asked: string[] = [];
  const told: string[] = [];
  const api = async ({ name }: Cluster): Promise<Transport> => {
    asked.push(name);
    const index = clusters.findIndex((each) => each.name === name);
    const fake = createFakeApi();
    if (index === 29)
      fake.put("node-a", { metadata: { annotations: { [INSTANCE_ANNOTATION]: `${ACCOUNT}/${VPC}/${ID}` } } });
    if (!isSilent(index)) return fake;
    return {
      ...fake,
      send: () => new Promise((_, reject) => deadline.signal.addEventListener("abort", reject)),
    };
  };
  const parsed = parseStateChange(buildStateChange({ "instance-id": ID, state: "terminated" }));
  const result = requestResync(
    parsed,
    {
      ...{ clusters: async () => clusters, api, nextEventId: () => "event-1", log: () => {} },
      aws: async () => ({ locate: async () => ({ kind: "forgotten" }), instanceIdOf: () => undefined }),
      invoker: {
        invoke: async ({ cluster }) => {
          told.push(cluster);
          deadline.abort();
          return { kind: "failed", code: "FunctionError", message: "not needed here", settleMs: 0 };
        },
      },
    },
    { ownAccount: ACCOUNT, signal: deadline.signal },
  );
  await result;
  return { asked, told };
}

test("an instance's cluster is asked while seven others never answer", async () => {
  const { told } = await report((index) => index < 7);
  expect(told).toEqual(["tenant-29"]);
});

test("clusters without the controller are not asked", async () => {
  const { asked, told } = await report(
    () => false,
    (index) => index < 29,
  );
  expect([asked, told]).toEqual([["tenant-29"], ["tenant-29"]]);
});
