import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { BuildWorld, LoadBalancerWorld } from "#test/clouds/load-balancer-world.ts";
import { addAttackRows } from "#test/clouds/load-balancers/attack-rows.ts";
import { addCapabilityRows } from "#test/clouds/load-balancers/capability-rows.ts";
import { addFailureRows } from "#test/clouds/load-balancers/failure-rows.ts";
import { addLifecycleRows } from "#test/clouds/load-balancers/life-rows.ts";
import { type OptionalRow, type Rows, WEB } from "#test/clouds/load-balancers/rows.ts";
import { buildService } from "#test/clouds/service-builders.ts";
import { NODES, settle } from "#test/crash-consistency/play.ts";
import { type Stage, startStage } from "#test/crash-consistency/stage.ts";

/**
 * A row that a world cannot run, and the reason. The results show it as skipped, with the reason in its name.
 */
export interface UnplayedRow {
  readonly row: OptionalRow;
  readonly because: string;
}

export interface LoadBalancerConformanceOptions {
  readonly cannotPlay?: readonly UnplayedRow[];
  /** Runs only each n-th failure of a creation and a deletion; default: every one. */
  readonly every?: number;
  /** Services in the largest batch; default: 50. */
  readonly services?: number;
}

const TIMEOUT_MS = 120_000;

/**
 * The contract of load balancers on a cloud: its capability and its model behind the service function, on an
 * embedded API server. The world also holds resources of others.
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
      expect((await settle(stage, { cloud: {}, names })).issues).toEqual([]);
    };
    const settled: Rows["settled"] = async (names) => {
      await done(names);
      // The audit deletes what load balancers have shared.
      await stage.tidy();
      return stage.state();
    };
    const rows: Rows = {
      stage: () => stage,
      base: () => base,
      settled,
      async made(traits = {}) {
        await stage.objects.create(buildService(stage.world, traits));
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
    addLifecycleRows(rows);
    addFailureRows(rows, { every, batch });
    addAttackRows(rows);
    describe("the capability alone", () => addCapabilityRows(rows));
  });
}
