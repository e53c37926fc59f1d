import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { LOAD_BALANCER_FINALIZER } from "#core/contracts.ts";
import { NODES as NODE_RESOURCE } from "#core/resources/resource.ts";
import { PROBLEMS } from "#core/service/problems.ts";
import type { BuildWorld, LoadBalancerWorld, ServiceTraits } from "#test/clouds/load-balancer-world.ts";
import { type AskedRows, askedRows } from "#test/clouds/load-balancers-asked.ts";
import { PORTS, plainService, port } from "#test/clouds/plain-service.ts";
import { enumerate } from "#test/killing/enumerate.ts";
import { createLifeline } from "#test/killing/lifeline.ts";
import type { Operation } from "#test/killing/operation.ts";
import { audit, endOf, NODES, settle } from "#test/killing/play.ts";
import { type Stage, startStage } from "#test/killing/stage.ts";

/**
 * Rows that need something not every cloud has: nodes as targets, addresses in the status that are the cloud's, source ranges, UDP,
 * names that somebody else can have taken, several Services, and what the cloud holds for all of them in one list.
 */
export type OptionalRow =
  | "targets"
  | "address"
  | "source-ranges"
  | "udp"
  | "taken-names"
  | "other-settings"
  | "orphans";

/** A row that a world cannot play, and why: it stands in the results as skipped, with the reason in its name. */
export interface UnplayedRow {
  readonly row: OptionalRow;
  readonly because: string;
}

export interface LoadBalancerConformanceOptions {
  readonly cannotPlay?: readonly UnplayedRow[];
  /** Each n-th alone of all that can go wrong with a creation and a deletion; every one without it. */
  readonly every?: number;
  /** Services in the largest batch; 50 without it. */
  readonly services?: number;
}

const TIMEOUT_MS = 120_000;
const WEB = { cloud: {}, names: ["web"] };

/**
 * The contract of load balancers on a cloud: its capability and its model behind the service function, on an embedded API server, in a world
 * in which things of others stand beside ours.
 */
export function loadBalancerConformance<World extends LoadBalancerWorld>(
  name: string,
  build: BuildWorld<World>,
  { cannotPlay = [], every = 1, services: batch = 50 }: LoadBalancerConformanceOptions = {},
): void {
  describe(`${name} keeps the contract of load balancers`, { timeout: TIMEOUT_MS }, () => {
    let stage: Stage<World>;
    let base: readonly string[];
    beforeAll(async () => {
      stage = await startStage(build);
    }, TIMEOUT_MS);
    afterAll(() => stage?.close());
    beforeEach(async () => {
      await stage.clear();
      await stage.objects.setNodes(stage.world.nodes.slice(0, NODES));
      base = await stage.state();
    }, TIMEOUT_MS);

    const optional = (row: OptionalRow, title: string, body: () => Promise<void>): void => {
      const unplayed = cannotPlay.find((each) => each.row === row);
      if (unplayed === undefined) test(title, body);
      else test.skip(`${title} (not played: ${unplayed.because})`, body);
    };
    const isPlayed = (row: OptionalRow): boolean => cannotPlay.every((each) => each.row !== row);

    /** Until nothing is left to be done; all there is then. */
    const settled = async (names: readonly string[] = WEB.names): Promise<readonly string[]> => {
      expect((await settle(stage, { cloud: {}, names })).problems).toEqual([]);
      return stage.state();
    };
    const made = async (traits: ServiceTraits & { readonly name?: string } = {}) => {
      await stage.objects.create(plainService(stage.world, traits));
      return settled([traits.name ?? "web"]);
    };
    const merged = async (difference: object) => {
      await stage.objects.merge(difference);
      return settled();
    };
    const foreign = (): readonly string[] => base.filter((thing) => stage.world.isShared?.(thing) !== true);

    describe("one Service", () => {
      test("gets a load balancer, and all of others stays as it is", async () => {
        const state = await made();
        if (stage.world.isInCluster !== true) expect(state).not.toEqual(base);
        expect(state).toEqual(expect.arrayContaining([...foreign()]));
        expect(await endOf(stage, ["web"])).toMatchObject([
          { type: "LoadBalancer", finalizers: [LOAD_BALANCER_FINALIZER], mark: "applied" },
        ]);
      });

      optional("address", "has its address in its status", async () => {
        await made();
        const [ingress, ...others] = (await stage.objects.read())?.status?.loadBalancer?.ingress ?? [];
        expect([ingress?.hostname ?? ingress?.ip, others]).toEqual([expect.stringMatching(/./), others]);
      });

      test("is left alone by the next pass and by an audit", async () => {
        const state = await made();
        const lifeline = createLifeline();
        expect((await stage.invoke({ lifeline })).report?.outcome).toBe("unchanged");
        expect(lifeline.changes).toEqual([]);
        expect(await audit(stage, WEB)).toEqual([]);
        expect(await stage.state()).toEqual(state);
      });

      test("is asked for twice, and there is one", async () => {
        const state = await made();
        await stage.objects.merge({ metadata: { annotations: { "example.com/touched": "yes" } } });
        expect(await settled()).toEqual(state);
      });
    });

    describe("nodes", () => {
      optional("targets", "that join and leave are its targets, and nothing else changes", async () => {
        const { objects, world } = stage;
        const state = await made();
        const end = await endOf(stage, ["web"]);
        await objects.setNodes(world.nodes.slice(0, NODES + 1));
        const joined = await settled();
        expect([joined.length, joined]).toEqual([state.length, expect.not.arrayContaining([...state])]);
        expect(await endOf(stage, ["web"])).toEqual(end);
        await objects.setNodes(world.nodes.slice(0, NODES));
        expect(await settled()).toEqual(state);
      });

      test("that have all left take no load balancer with them", async () => {
        const state = await made();
        await stage.objects.setNodes([]);
        await settled();
        expect(await endOf(stage, ["web"])).toMatchObject([{ type: "LoadBalancer", mark: "applied" }]);
        await stage.objects.setNodes(stage.world.nodes.slice(0, NODES));
        expect(await settled()).toEqual(state);
      });

      test.each([
        ["are not told", undefined],
        ["are of an older list", { resourceVersion: "1", items: [] }],
      ])("that %s leave everything as it is", async (_, nodes) => {
        const state = await made();
        const { [NODE_RESOURCE.name]: __, ...others } = await stage.objects.related();
        const related = nodes === undefined ? others : { ...others, [NODE_RESOURCE.name]: nodes };
        const lifeline = createLifeline();
        await stage.invoke({ related, lifeline });
        await stage.invoke({ related, lifeline, reason: "refresh" });
        expect(lifeline.changes).toEqual([]);
        expect(await stage.state()).toEqual(state);
      });
    });

    describe("a change of the Service", () => {
      const [http, https] = PORTS;
      test.each([
        ["a port more", [http, https, port("more", 8080, 30_808)]],
        ["a port less", [http]],
        ["another node port", [http, port("https", 443, 30_444)]],
        ["another port", [http, port("https", 8443, 30_443)]],
      ])("%s is done in place, and undone", async (_, ports) => {
        const state = await made();
        const end = await endOf(stage, ["web"]);
        await merged({ spec: { ports } });
        expect(await audit(stage, WEB)).toEqual([]);
        expect(await endOf(stage, ["web"])).toEqual(end);
        expect(await merged({ spec: { ports: PORTS } })).toEqual(state);
      });

      optional("source-ranges", "source ranges are set, and taken away", async () => {
        const state = await made();
        const narrowed = await merged({ spec: { loadBalancerSourceRanges: ["192.0.2.0/24"] } });
        expect(narrowed).not.toEqual(state);
        expect(narrowed.join()).toContain("192.0.2.0/24");
        expect(await merged({ spec: { loadBalancerSourceRanges: null } })).toEqual(state);
      });

      optional("udp", "UDP is served", async () => {
        const ports = [port("dns", 53, 30_053, "UDP")];
        expect(await made({ spec: { ports } })).not.toEqual(base);
        expect(await audit(stage, WEB)).toEqual([]);
        await stage.objects.delete();
        expect(await settled()).toEqual(base);
      });

      test("one that is for the cluster's network alone is made, and goes", async ({ skip }) => {
        const { internal } = stage.world;
        if (internal === undefined) return skip("not played: the cloud has none, or one kind alone");
        const outer = await made();
        await stage.objects.delete();
        await settled();
        expect(await made(internal)).not.toEqual(outer);
        expect(await audit(stage, WEB)).toEqual([]);
        await stage.objects.delete();
        expect(await settled()).toEqual(base);
      });

      optional("other-settings", "settings are changed in place, and taken away", async () => {
        const { otherSettings = {} } = stage.world;
        const state = await made();
        const { annotations = {}, spec = {} } = otherSettings;
        expect(await merged({ metadata: { annotations }, spec })).not.toEqual(state);
        expect(await audit(stage, WEB)).toEqual([]);
        await stage.objects.delete();
        expect(await settled()).toEqual(base);
      });
    });

    describe("what is not wanted any more", () => {
      test("is gone with the Service, and nothing else", async () => {
        await made();
        await stage.objects.delete();
        expect(await settled()).toEqual(base);
        expect(await stage.objects.read()).toBeUndefined();
      });

      test("is gone with the type", async () => {
        await made();
        expect(await merged({ spec: { type: "ClusterIP" } })).toEqual(base);
        expect(await endOf(stage, ["web"])).toEqual([
          { type: "ClusterIP", finalizers: [], ingress: [], mark: undefined },
        ]);
      });

      test("is deleted by two at once", async () => {
        await made();
        await stage.objects.delete();
        await Promise.all([stage.invoke(), stage.invoke()]);
        expect(await settled()).toEqual(base);
        expect(await stage.objects.read()).toBeUndefined();
      });

      test("goes where it was never made", async () => {
        await stage.objects.create(plainService(stage.world));
        await stage.objects.delete();
        expect(await settled()).toEqual(base);
      });
    });

    describe("whatever happens on the way", () => {
      const operations: readonly Operation<World>[] = [
        { name: "create", change: ({ objects, world }) => objects.create(plainService(world)) },
        {
          name: "delete",
          before: ({ world }) => [plainService(world)],
          change: ({ objects }) => objects.delete(),
        },
      ];
      test.each(operations)("$name comes to the same end", async (operation) => {
        const result = await enumerate(stage, operation, { chosen: (_, index) => index % every === 0 });
        expect(result.problems).toEqual([]);
        expect(result).toMatchObject({ orphans: 0, foreignTouched: 0, same: result.runs });
        expect(result.runs).toBeGreaterThan(2);
      });
    });

    describe("what somebody takes away in the cloud", () => {
      /** All that is made from then on is away again, and nobody has told the cluster. */
      const madeAndTakenAway = async () => {
        const before = await stage.world.point();
        const state = await made();
        await before.back();
        expect(await stage.state()).toEqual(base);
        return state;
      };

      test("is made again by an audit", async () => {
        const state = await madeAndTakenAway();
        await stage.invoke({ reason: "refresh" });
        expect(await settled()).toEqual(state);
        expect(await audit(stage, WEB)).toEqual([]);
      });

      test("does not keep a Service from being deleted", async () => {
        await madeAndTakenAway();
        await stage.objects.delete();
        expect(await settled()).toEqual(base);
        expect(await stage.objects.read()).toBeUndefined();
      });
    });

    describe("several Services", () => {
      test("do not touch each other", async () => {
        const alone = await made();
        const both = await made({ name: "api" });
        const isOurs = (thing: string): boolean => stage.world.isShared?.(thing) !== true;
        expect(both).toEqual(expect.arrayContaining(alone.filter(isOurs)));
        await stage.objects.named("api").delete();
        expect(await settled(["api"])).toEqual(alone);
      });

      test(`are observed together: ${batch} of them in proportion to pages`, async () => {
        const names = Array.from({ length: batch }, (_, index) => `web-${index}`);
        for (const each of names) await stage.objects.create(plainService(stage.world, { name: each }));
        await settled(names);
        let requests = 0;
        const lifeline = createLifeline();
        const enter: (typeof lifeline.gate)["enter"] = (request) => {
          requests += 1;
          return lifeline.gate.enter(request);
        };
        const counting = { ...lifeline, gate: { ...lifeline.gate, enter } };
        const { whole } = await stage.invoke({ lifeline: counting, names, reason: "refresh" });
        expect(whole?.objects.map(({ outcome }) => outcome)).toEqual(names.map(() => "unchanged"));
        expect(lifeline.changes).toEqual([]);
        expect(requests).toBeLessThanOrEqual(stage.world.requestsFor(batch));
      });
    });

    describe("an API in trouble", () => {
      test.each(["Throttled", "Denied", "Unavailable", "reset"] as const)(
        "that answers %s has nothing made and nothing deleted, and passes",
        async (verdict) => {
          const trouble = () => {
            const lifeline = createLifeline();
            return { ...lifeline, gate: { ...lifeline.gate, enter: () => verdict } };
          };
          const outcomes = async () =>
            (await stage.invoke({ lifeline: trouble(), reason: "refresh" })).report?.outcome;
          await stage.objects.create(plainService(stage.world));
          expect(await outcomes()).not.toBe("unchanged");
          expect(await stage.state()).toEqual(base);
          const state = await settled();
          expect(await outcomes()).not.toBe("unchanged");
          expect(await stage.state()).toEqual(state);
          await stage.objects.delete();
          expect(await outcomes()).not.toBe("unchanged");
          expect(await stage.state()).toEqual(state);
          expect(await settled()).toEqual(base);
        },
      );
    });

    describe("a Service that cannot be served", () => {
      test("is refused by a code of the catalogue, and nothing is made", async () => {
        expect(stage.world.refused.length).toBeGreaterThan(0);
        for (const { title, code, cloud = {}, ...traits } of stage.world.refused) {
          await stage.objects.create(plainService(stage.world, { name: "bad", ...traits }));
          const lifeline = createLifeline();
          const invoked = [
            await stage.invoke({ names: ["bad"], cloud, lifeline }),
            await stage.invoke({ names: ["bad"], cloud, lifeline }),
          ];
          expect([title, invoked.map(({ report }) => report?.because.code)]).toEqual([title, [code, code]]);
          expect(Object.keys(PROBLEMS)).toContain(code);
          expect([title, await stage.state()]).toEqual([title, base]);
          await stage.objects.named("bad").delete();
          expect([title, await settled(["bad"])]).toEqual([title, base]);
          expect([title, await stage.objects.named("bad").read()]).toEqual([title, undefined]);
        }
      });

      optional(
        "taken-names",
        "as somebody has its name is refused, and what has it is left alone",
        async () => {
          const service = await stage.objects.create(plainService(stage.world));
          await stage.world.takeName?.(service.metadata);
          const taken = await stage.state();
          expect(taken).not.toEqual(base);
          const { report } = await stage.invoke();
          expect(report?.outcome).not.toBe("unchanged");
          expect(Object.keys(PROBLEMS)).toContain(report?.because.code);
          await stage.objects.delete();
          expect(await settled()).toEqual(taken);
        },
      );
    });

    const rows: AskedRows = { stage: () => stage, made, isPlayed };
    describe("the capability alone", () => askedRows(rows, optional));
  });
}
