import { afterEach, describe, expect, test, vi } from "vitest";
import { Cluster } from "#config/cluster.ts";
import type { Event } from "#core/event.ts";
import { type EmbeddedControlPlane, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import type { ApiRequest, Transport } from "#kube/client/transport.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { buildReport } from "#test/relay/report-builders.ts";

const CLAIMS = "/apis/karpenter.sh/v1/nodeclaims";
const ANNOUNCEMENTS = "node-claim-announcements";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Starts a relay that follows NodeClaims; `withheld` is the API server's answer to lists of them. */
async function start(withheld?: number) {
  let plane: EmbeddedControlPlane | undefined;
  const api: ClusterUnderTest = await startCluster(async (folder) => {
    plane = await startEmbeddedControlPlane({ folder });
    return plane;
  });
  closing.push(() => api.close());
  if (plane === undefined) throw new Error("no control plane");
  const events: Event[] = [];
  let refused = 0;
  const transport = await api.transport("admin");
  const refuse = async (request: ApiRequest) => {
    if (withheld === undefined || !request.path.startsWith(CLAIMS)) return undefined;
    refused += 1;
    return { status: withheld, headers: {}, body: "404 page not found" };
  };
  const withholding: Transport = {
    ...transport,
    send: async (request) => (await refuse(request)) ?? transport.send(request),
  };
  const relay: Relay = startRelay({
    clusters: [
      {
        cluster: Cluster.parse({
          name: "tenant-a",
          server: plane.server,
          certificateAuthorityFile: plane.certificateAuthorityFile,
          cloud: { provider: "memory", instancesFile: "instances.json" },
          controllers: ["cloud-node-controller"],
          nodes: { lookAhead: ["node-claims"] },
        }),
        transport: withholding,
      },
    ],
    invoker: {
      async invoke(event) {
        events.push(event);
        return { kind: "report", report: buildReport(event) };
      },
      close: () => Promise.resolve(),
    },
    identity: "test",
    nodeStatusUpdateFrequencySeconds: 100_000,
  });
  closing.push(() => relay.close());
  const send = async (method: "POST" | "PATCH", path: string, body: object) => {
    const { status } = await transport.send({
      method,
      path,
      body,
      ...(method === "PATCH" ? { contentType: "application/merge-patch+json" } : {}),
    });
    expect([200, 201]).toContain(status);
  };
  return {
    events,
    announced: () => events.filter(({ controller }) => controller === ANNOUNCEMENTS),
    status: () => relay.status()[0],
    refused: () => refused,
    launch: async (name: string, providerID?: string) => {
      await send("POST", CLAIMS, { apiVersion: "karpenter.sh/v1", kind: "NodeClaim", metadata: { name } });
      if (providerID !== undefined)
        await send("PATCH", `${CLAIMS}/${name}/status`, { status: { providerID } });
    },
    change: (name: string, status: object) => send("PATCH", `${CLAIMS}/${name}/status`, { status }),
  };
}

const namesOf = (events: readonly Event[]): readonly string[] =>
  events.flatMap(({ objects }) =>
    objects.map((each) => (each as { metadata: { name: string } }).metadata.name),
  );

describe("a NodeClaim", () => {
  test("is sent once, when its machine is launched", async () => {
    const relay = await start();
    await relay.launch("claim");
    await vi.waitFor(() =>
      expect(relay.status()?.controllers.find(({ name }) => name === ANNOUNCEMENTS)?.objects).toBe(1),
    );
    expect(relay.announced()).toEqual([]);
    await relay.change("claim", { providerID: "aws:///a/i-1" });
    await vi.waitFor(() => expect(namesOf(relay.announced())).toEqual(["claim"]));
    await relay.change("claim", { providerID: "aws:///a/i-1", capacity: {} });
    await relay.launch("second", "aws:///a/i-2");
    await vi.waitFor(() => expect(namesOf(relay.announced())).toEqual(["claim", "second"]), 10_000);
    expect(relay.announced().map(({ reason }) => reason)).toEqual(["watch", "watch"]);
  });

  test("is sent again when its machine is replaced", async () => {
    const relay = await start();
    await relay.launch("claim", "aws:///a/i-1");
    await vi.waitFor(() => expect(relay.announced()).toHaveLength(1));
    await relay.change("claim", { providerID: "aws:///a/i-2" });
    await vi.waitFor(() => expect(relay.announced()).toHaveLength(2), 10_000);
    expect(relay.announced()[1]?.objects).toMatchObject([{ status: { providerID: "aws:///a/i-2" } }]);
  });
});

test.each([404, 403])(
  "a cluster whose API server answers %d to a list of NodeClaims is ready",
  async (withheld) => {
    const relay = await start(withheld);
    await vi.waitFor(
      () => expect([relay.refused() > 0, relay.status()?.ready]).toEqual([true, true]),
      10_000,
    );
    expect(relay.status()).toMatchObject({ ready: true, failure: undefined });
  },
);
