import { describe, expect, test } from "vitest";
import { findCloudProvider } from "#clouds/providers.ts";
import { LOAD_BALANCER_FINALIZER } from "#core/contracts.ts";
import { NODES as NODE_RESOURCE } from "#core/resources/resource.ts";
import { type Rows, WEB } from "#test/clouds/load-balancers/rows.ts";
import { buildPort, buildService, PORTS } from "#test/clouds/service-builders.ts";
import { createLifeline } from "#test/crash-consistency/lifeline.ts";
import { audit, NODES, readEndState } from "#test/crash-consistency/play.ts";

/** Adds rows about one Service from its creation to its deletion, without failures. */
export function addLifecycleRows({ stage, base, made, merged, changed, settled, optional }: Rows): void {
  describe("one Service", () => {
    test("gets a load balancer, and all resources of others stay unchanged", async () => {
      const state = await made();
      if (stage().world.isInCluster !== true) expect(state).not.toEqual(base());
      expect(state).toEqual(
        expect.arrayContaining(base().filter((thing) => stage().world.isShared?.(thing) !== true)),
      );
      expect(await readEndState(stage(), ["web"])).toMatchObject([
        { type: "LoadBalancer", finalizers: [LOAD_BALANCER_FINALIZER], mark: "applied" },
      ]);
    });

    optional("address", "has its address in its status", async () => {
      await made();
      const [ingress, ...others] = (await stage().objects.read())?.status?.loadBalancer?.ingress ?? [];
      expect([ingress?.hostname ?? ingress?.ip, others]).toEqual([expect.stringMatching(/./), others]);
      const provider = String(stage().world.cloud["provider"]);
      const given = [ingress, ...others].some((each) => each?.ip !== undefined) ? "ip" : "hostname";
      expect(
        findCloudProvider(provider)?.ingress ?? "hostname",
        `src/clouds/${provider}/provider.ts: set ingress to "${given}", which its load balancers have`,
      ).toBe(given);
    });

    test("is left alone by the next pass and by an audit", async () => {
      const state = await made();
      const lifeline = createLifeline();
      expect((await stage().invoke({ lifeline })).report?.outcome).toBe("unchanged");
      expect(lifeline.changes).toEqual([]);
      expect(await audit(stage(), WEB)).toEqual([]);
      expect(await stage().state()).toEqual(state);
    });

    test("is invoked twice, and gets one load balancer", async () => {
      const state = await made();
      await stage().objects.merge({ metadata: { annotations: { "example.com/touched": "yes" } } });
      expect(await settled()).toEqual(state);
    });
  });

  describe("nodes", () => {
    optional("targets", "that join and leave are its targets, and nothing else changes", async () => {
      const { objects, world } = stage();
      const state = await made();
      const end = await readEndState(stage(), ["web"]);
      await objects.setNodes(world.nodes.slice(0, NODES + 1));
      const joined = await settled();
      expect([joined.length, joined]).toEqual([state.length, expect.not.arrayContaining([...state])]);
      expect(await readEndState(stage(), ["web"])).toEqual(end);
      await objects.setNodes(world.nodes.slice(0, NODES));
      expect(await settled()).toEqual(state);
    });

    optional("targets", "that an event leaves out, or calls otherwise, stay its targets", async () => {
      const state = await made();
      const related = await stage().objects.related();
      const { resourceVersion = "", items = [] } = related[NODE_RESOURCE.name] ?? {};
      const [first] = items;
      const lifeline = createLifeline();
      for (const forged of [[first], [first, { name: "other", providerID: "other" }], [first, first]]) {
        const nodes = { ...related, [NODE_RESOURCE.name]: { resourceVersion, items: forged } };
        await stage().invoke({ related: nodes, lifeline });
        await stage().invoke({ related: nodes, lifeline, reason: "refresh" });
      }
      expect(lifeline.changes).toEqual([]);
      expect(await settled()).toEqual(state);
    });

    test("that have all left do not delete the load balancer", async () => {
      const state = await made();
      await stage().objects.setNodes([]);
      await settled();
      expect(await readEndState(stage(), ["web"])).toMatchObject([{ type: "LoadBalancer", mark: "applied" }]);
      await stage().objects.setNodes(stage().world.nodes.slice(0, NODES));
      expect(await settled()).toEqual(state);
    });

    test.each([
      ["are unknown", undefined],
      ["are of an older list", { resourceVersion: "1", items: [] }],
    ])("that %s leave everything unchanged", async (_, nodes) => {
      const state = await made();
      const { [NODE_RESOURCE.name]: __, ...others } = await stage().objects.related();
      const related = nodes === undefined ? others : { ...others, [NODE_RESOURCE.name]: nodes };
      const lifeline = createLifeline();
      await stage().invoke({ related, lifeline });
      await stage().invoke({ related, lifeline, reason: "refresh" });
      expect(lifeline.changes).toEqual([]);
      expect(await stage().state()).toEqual(state);
    });
  });

  describe("a change of the Service", () => {
    const [http, https] = PORTS;
    test.each([
      ["a port more", [http, https, buildPort("more", 8080, 30_808)]],
      ["a port less", [http]],
      ["another node port", [http, buildPort("https", 443, 30_444)]],
      ["another port", [http, buildPort("https", 8443, 30_443)]],
    ])("%s is done in place, and undone", async (_, ports) => {
      const state = await made();
      const end = await readEndState(stage(), ["web"]);
      await merged({ spec: { ports } });
      expect(await audit(stage(), WEB)).toEqual([]);
      expect(await readEndState(stage(), ["web"])).toEqual(end);
      expect(await merged({ spec: { ports: PORTS } })).toEqual(state);
    });

    optional("source-ranges", "source ranges are set, and removed", async () => {
      const state = await made();
      const narrowed = await changed({ spec: { loadBalancerSourceRanges: ["192.0.2.0/24"] } });
      expect(narrowed).not.toEqual(state);
      expect(narrowed.join()).toContain("192.0.2.0/24");
      expect(await merged({ spec: { loadBalancerSourceRanges: null } })).toEqual(state);
    });

    optional("udp", "UDP is served", async () => {
      const ports = [buildPort("dns", 53, 30_053, "UDP")];
      expect(await made({ spec: { ports } })).not.toEqual(base());
      expect(await audit(stage(), WEB)).toEqual([]);
      await stage().objects.delete();
      expect(await settled()).toEqual(base());
    });

    test("to an internal load balancer creates that, and deletion removes it", async ({ skip }) => {
      const { internal } = stage().world;
      if (internal === undefined) return skip("not run: the cloud has none, or only one kind");
      const outer = await made();
      await stage().objects.delete();
      await settled();
      expect(await made(internal)).not.toEqual(outer);
      expect(await audit(stage(), WEB)).toEqual([]);
      await stage().objects.delete();
      expect(await settled()).toEqual(base());
    });

    optional("other-settings", "settings are changed in place, and removed", async () => {
      const { otherSettings = {} } = stage().world;
      const state = await made();
      const { annotations = {}, spec = {} } = otherSettings;
      expect(await merged({ metadata: { annotations }, spec })).not.toEqual(state);
      expect(await audit(stage(), WEB)).toEqual([]);
      await stage().objects.delete();
      expect(await settled()).toEqual(base());
    });
  });

  describe("an unwanted load balancer", () => {
    test("is deleted with the Service, and only it is", async () => {
      await made();
      await stage().objects.delete();
      expect(await settled()).toEqual(base());
      expect(await stage().objects.read()).toBeUndefined();
    });

    test("is deleted after a change of type", async () => {
      await made();
      expect(await merged({ spec: { type: "ClusterIP" } })).toEqual(base());
      expect(await readEndState(stage(), ["web"])).toEqual([
        { type: "ClusterIP", finalizers: [], ingress: [], mark: undefined },
      ]);
    });

    test("is deleted by two concurrent actors", async () => {
      await made();
      await stage().objects.delete();
      await Promise.all([stage().invoke(), stage().invoke()]);
      expect(await settled()).toEqual(base());
      expect(await stage().objects.read()).toBeUndefined();
    });

    test("that was never made needs no deletion", async () => {
      await stage().objects.create(buildService(stage().world));
      await stage().objects.delete();
      expect(await settled()).toEqual(base());
    });
  });
}
