import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { BuildWorld, LoadBalancerWorld } from "#test/clouds/load-balancer-world.ts";
import { askedRows } from "#test/clouds/load-balancers/asked-rows.ts";
import { attackRows } from "#test/clouds/load-balancers/attack-rows.ts";
import { lifeRows } from "#test/clouds/load-balancers/life-rows.ts";
import { type OptionalRow, type Rows, WEB } from "#test/clouds/load-balancers/rows.ts";
import { troubleRows } from "#test/clouds/load-balancers/trouble-rows.ts";
import { plainService } from "#test/clouds/plain-service.ts";
import { NODES, settle } from "#test/killing/play.ts";
import { type Stage, startStage } from "#test/killing/stage.ts";

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

    const done = async (names: readonly string[] = WEB.names): Promise<void> => {
      expect((await settle(stage, { cloud: {}, names })).problems).toEqual([]);
    };
    const settled: Rows["settled"] = async (names) => {
      await done(names);
      // What load balancers have shared goes by the audit.
      await stage.tidy();
      return stage.state();
    };
    const rows: Rows = {
      stage: () => stage,
      base: () => base,
      settled,
      async made(traits = {}) {
        await stage.objects.create(plainService(stage.world, traits));
        return settled([traits.name ?? "web"]);
      },
      async merged(difference) {
        await stage.objects.merge(difference);
        return settled();
      },
      async changed(difference) {
        await stage.objects.merge(difference);
        await done();
        return stage.state();
      },
      optional(row, title, body) {
        const unplayed = cannotPlay.find((each) => each.row === row);
        if (unplayed === undefined) test(title, body);
        else test.skip(`${title} (not played: ${unplayed.because})`, body);
      },
    };
    lifeRows(rows);
    troubleRows(rows, { every, batch });
    attackRows(rows);
    describe("the capability alone", () => askedRows(rows));
  });
}
