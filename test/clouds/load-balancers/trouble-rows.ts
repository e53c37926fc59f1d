import { describe, expect, test } from "vitest";
import { PROBLEMS } from "#core/service/problems.ts";
import { type Rows, WEB } from "#test/clouds/load-balancers/rows.ts";
import { plainService } from "#test/clouds/plain-service.ts";
import { enumerate } from "#test/killing/enumerate.ts";
import { createLifeline } from "#test/killing/lifeline.ts";
import type { Operation } from "#test/killing/operation.ts";
import { audit } from "#test/killing/play.ts";

/** How much of it is played. */
export interface TroubleOptions {
  /** Each n-th alone of all that can go wrong with a creation and a deletion. */
  readonly every: number;
  /** Services in the largest batch. */
  readonly batch: number;
}

/** Rows about all that goes wrong, and about Services that are not alone. */
export function troubleRows(
  { stage, base, made, settled, optional }: Rows,
  { every, batch }: TroubleOptions,
): void {
  describe("whatever happens on the way", () => {
    const operations: readonly Operation[] = [
      { name: "create", change: ({ objects, world }) => objects.create(plainService(world)) },
      {
        name: "delete",
        before: ({ world }) => [plainService(world)],
        change: ({ objects }) => objects.delete(),
      },
    ];
    test.each(operations)("$name comes to the same end", async (operation) => {
      const result = await enumerate(stage(), operation, { chosen: (_, index) => index % every === 0 });
      expect(result.problems).toEqual([]);
      expect(result).toMatchObject({ orphans: 0, foreignTouched: 0, same: result.runs });
      expect(result.runs).toBeGreaterThan(2);
    });
  });

  describe("what somebody takes away in the cloud", () => {
    /** All that is made from then on is away again, and nobody has told the cluster. */
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
    test("do not touch each other", async () => {
      const alone = await made();
      const both = await made({ name: "api" });
      const isOurs = (thing: string): boolean => stage().world.isShared?.(thing) !== true;
      expect(both).toEqual(expect.arrayContaining(alone.filter(isOurs)));
      await stage().objects.named("api").delete();
      expect(await settled(["api"])).toEqual(alone);
    });

    test(`are observed together: ${batch} of them in proportion to pages`, async () => {
      const names = Array.from({ length: batch }, (_, index) => `web-${index}`);
      for (const each of names) await stage().objects.create(plainService(stage().world, { name: each }));
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

  describe("an API in trouble", () => {
    test.each(["Throttled", "Denied", "Unavailable", "reset"] as const)(
      "that answers %s has nothing made and nothing deleted, and passes",
      async (verdict) => {
        const trouble = () => {
          const lifeline = createLifeline();
          return { ...lifeline, gate: { ...lifeline.gate, enter: () => verdict } };
        };
        const outcomes = async () =>
          (await stage().invoke({ lifeline: trouble(), reason: "refresh" })).report?.outcome;
        await stage().objects.create(plainService(stage().world));
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
    test("is refused by a code of the catalogue, and nothing is made", async () => {
      expect(stage().world.refused.length).toBeGreaterThan(0);
      for (const { title, code, cloud = {}, ...traits } of stage().world.refused) {
        await stage().objects.create(plainService(stage().world, { name: "bad", ...traits }));
        const lifeline = createLifeline();
        const invoked = [
          await stage().invoke({ names: ["bad"], cloud, lifeline }),
          await stage().invoke({ names: ["bad"], cloud, lifeline }),
        ];
        expect([title, invoked.map(({ report }) => report?.because.code)]).toEqual([title, [code, code]]);
        expect(Object.keys(PROBLEMS)).toContain(code);
        expect([title, await stage().state()]).toEqual([title, base()]);
        await stage().objects.named("bad").delete();
        expect([title, await settled(["bad"])]).toEqual([title, base()]);
        expect([title, await stage().objects.named("bad").read()]).toEqual([title, undefined]);
      }
    });

    optional(
      "taken-names",
      "as somebody has its name is refused, and what has it is left alone",
      async () => {
        const service = await stage().objects.create(plainService(stage().world));
        await stage().world.takeName?.(service.metadata);
        const taken = await stage().state();
        expect(taken).not.toEqual(base());
        const { report } = await stage().invoke();
        expect(report?.outcome).not.toBe("unchanged");
        expect(Object.keys(PROBLEMS)).toContain(report?.because.code);
        await stage().objects.delete();
        expect(await settled()).toEqual(taken);
      },
    );
  });
}
