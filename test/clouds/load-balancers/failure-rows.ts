import { describe, expect, test } from "vitest";
import { ISSUES } from "#core/service/issues.ts";
import { type Rows, WEB } from "#test/clouds/load-balancers/rows.ts";
import { buildService } from "#test/clouds/service-builders.ts";
import { playDisturbances } from "#test/crash-consistency/enumerate.ts";
import { createLifeline } from "#test/crash-consistency/lifeline.ts";
import type { Operation } from "#test/crash-consistency/operation.ts";
import { audit } from "#test/crash-consistency/play.ts";

/** How many of the rows run. */
export interface TroubleOptions {
  /** Runs only each n-th failure of a creation and a deletion. */
  readonly every: number;
  /** Services in the largest batch. */
  readonly batch: number;
}

/** Adds rows about failures, and about several Services. */
export function addFailureRows(
  { stage, base, made, settled, optional }: Rows,
  { every, batch }: TroubleOptions,
): void {
  describe("a failure at any point", () => {
    const operations: readonly Operation[] = [
      { name: "create", change: ({ objects, world }) => objects.create(buildService(world)) },
      {
        name: "delete",
        before: ({ world }) => [buildService(world)],
        change: ({ objects }) => objects.delete(),
      },
    ];
    test.each(operations)("$name ends in the same state", async (operation) => {
      const result = await playDisturbances(stage(), operation, {
        chosen: (_, index) => index % every === 0,
      });
      expect(result.issues).toEqual([]);
      expect(result).toMatchObject({ orphans: 0, foreignTouched: 0, same: result.runs });
      expect(result.runs).toBeGreaterThan(2);
    });
  });

  describe("a resource that is deleted in the cloud", () => {
    /** Everything made from then on is deleted again, without a change in the cluster. */
    const madeAndTakenAway = async () => {
      const before = await stage().world.point();
      const state = await made();
      await before.back();
      expect(await stage().state()).toEqual(base());
      return state;
    };

    test("is made again by an audit", async () => {
      const state = await madeAndTakenAway();
      await stage().invoke({ reason: "refresh" });
      expect(await settled()).toEqual(state);
      expect(await audit(stage(), WEB)).toEqual([]);
    });

    test("does not keep a Service from being deleted", async () => {
      await madeAndTakenAway();
      await stage().objects.delete();
      expect(await settled()).toEqual(base());
      expect(await stage().objects.read()).toBeUndefined();
    });
  });

  describe("several Services", () => {
    test("do not affect each other", async () => {
      const alone = await made();
      const both = await made({ name: "api" });
      const isOurs = (thing: string): boolean => stage().world.isShared?.(thing) !== true;
      expect(both).toEqual(expect.arrayContaining(alone.filter(isOurs)));
      await stage().objects.named("api").delete();
      expect(await settled(["api"])).toEqual(alone);
    });

    test(`are observed together: ${batch} of them in proportion to pages`, async () => {
      const names = Array.from({ length: batch }, (_, index) => `web-${index}`);
      for (const each of names) await stage().objects.create(buildService(stage().world, { name: each }));
      await settled(names);
      let requests = 0;
      const lifeline = createLifeline();
      const enter: (typeof lifeline.gate)["enter"] = (request) => {
        requests += 1;
        return lifeline.gate.enter(request);
      };
      const counting = { ...lifeline, gate: { ...lifeline.gate, enter } };
      const { whole } = await stage().invoke({ lifeline: counting, names, reason: "refresh" });
      expect(whole?.objects.map(({ outcome }) => outcome)).toEqual(names.map(() => "unchanged"));
      expect(lifeline.changes).toEqual([]);
      expect(requests).toBeLessThanOrEqual(stage().world.requestsFor(batch));
    });
  });

  describe("a failing API", () => {
    test.each(["Throttled", "Denied", "Unavailable", "reset"] as const)(
      "that answers %s causes no creation and no deletion, and recovery follows",
      async (verdict) => {
        const trouble = () => {
          const lifeline = createLifeline();
          return { ...lifeline, gate: { ...lifeline.gate, enter: () => verdict } };
        };
        const outcomes = async () =>
          (await stage().invoke({ lifeline: trouble(), reason: "refresh" })).report?.outcome;
        await stage().objects.create(buildService(stage().world));
        expect(await outcomes()).not.toBe("unchanged");
        expect(await stage().state()).toEqual(base());
        const state = await settled();
        expect(await outcomes()).not.toBe("unchanged");
        expect(await stage().state()).toEqual(state);
        await stage().objects.delete();
        expect(await outcomes()).not.toBe("unchanged");
        expect(await stage().state()).toEqual(state);
        expect(await settled()).toEqual(base());
      },
    );
  });

  describe("a Service that cannot be served", () => {
    test("is rejected with a code of the catalogue, and nothing is made", async () => {
      expect(stage().world.refused.length).toBeGreaterThan(0);
      for (const { title, code, cloud = {}, ...traits } of stage().world.refused) {
        await stage().objects.create(buildService(stage().world, { name: "bad", ...traits }));
        const lifeline = createLifeline();
        const invoked = [
          await stage().invoke({ names: ["bad"], cloud, lifeline }),
          await stage().invoke({ names: ["bad"], cloud, lifeline }),
        ];
        expect([title, invoked.map(({ report }) => report?.because.code)]).toEqual([title, [code, code]]);
        expect(Object.keys(ISSUES)).toContain(code);
        expect([title, await stage().state()]).toEqual([title, base()]);
        await stage().objects.named("bad").delete();
        expect([title, await settled(["bad"])]).toEqual([title, base()]);
        expect([title, await stage().objects.named("bad").read()]).toEqual([title, undefined]);
      }
    });

    optional(
      "taken-names",
      "whose name another owner has taken is rejected, and that resource stays",
      async () => {
        const service = await stage().objects.create(buildService(stage().world));
        await stage().world.takeName?.(service.metadata);
        const taken = await stage().state();
        expect(taken).not.toEqual(base());
        const { report } = await stage().invoke();
        expect(report?.outcome).not.toBe("unchanged");
        expect(Object.keys(ISSUES)).toContain(report?.because.code);
        await stage().objects.delete();
        expect(await settled()).toEqual(taken);
      },
    );
  });
}
