import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LimitName } from "#kube/client/errors.ts";
import type { AttackName } from "#test/adversarial/attacks.ts";
import { type HostileStage, setHostileStage } from "#test/adversarial/hostile-stage.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

/** The expected effects of an attack. */
export interface Expected {
  /** The limits, one of which the operator sees during the attack; without it the attack is invisible. */
  readonly limits?: readonly LimitName[];
  /** The number of the attacker's clusters; default: one. */
  readonly hostileClusters?: number;
  /** Further checks, once the attack has run for a while. */
  readonly meanwhile?: (stage: HostileStage, logged: () => string) => Promise<void>;
  /** The cluster needs more time to recover than a test should take; the bench measures it. */
  readonly healsLater?: true;
}

/** How long an attack continues beyond its observation. */
const ATTACK_MS = 1_000;

/**
 * The memory that an attack may add to the quiet processes' maximum; each exceeded 400 MiB with less than
 * this server sends.
 */
const MAX_MIB_MORE = 150;

/** The operator's maximum wait: some limits take ten seconds. */
const NAMING_LIMIT_MS = 15_000;

/** The maximum of log during the attack. */
const MAX_LOG_BYTES = 64 * 1024;

/** The tests of one attack: what it must not do to others, what the operator sees, and the recovery. */
export function describeAttack(name: AttackName, expected: Expected = {}): void {
  const { limits, meanwhile, healsLater, hostileClusters } = expected;
  describe(`while the API server of one cluster does ${name}`, () => {
    let stage: HostileStage;
    let quietMiB: readonly number[] = [];
    let logBefore = 0;
    const peaks = (): Promise<number[]> => Promise.all([stage.relay.peakMiB(), stage.functions.peakMiB()]);
    const logged = (): string => stage.relay.log().slice(logBefore);

    beforeAll(async () => {
      stage = await setHostileStage(hostileClusters);
      await Promise.all([stage.honest.getsANode(), stage.attacker.getsANode()]);
      quietMiB = await peaks();
      logBefore = stage.relay.log().length;
      await stage.hostile.attack(name);
      await sleep(ATTACK_MS);
    });
    afterAll(() => stage?.close());

    test("another cluster's nodes come up", async () => {
      await stage.honest.getsANode();
    });

    test("the relay is alive, and reports the other cluster as well", async () => {
      expect(await stage.page("/healthz")).toEqual([200, "ok"]);
      expect(await stage.page("/readyz/clusters/honest")).toEqual([200, "ok"]);
    });

    if (limits !== undefined) {
      const limit = `(${limits.join("|")})`;
      const onPage = new RegExp(`^hostile (limited: ${limit}|not ready: ClusterLimited): `, "m");
      const inMetrics = new RegExp(
        `^serverless_ccm_cluster_limits_total\\{cluster="hostile",limit="${limit}"\\} [1-9]`,
        "m",
      );
      test(`the operator sees that it is over a limit: ${limits.join(" or ")}`, async () => {
        let page = "";
        let metrics = "";
        const isNamed = async (): Promise<boolean> => {
          [, page] = await stage.page("/readyz/clusters");
          [, metrics] = await stage.page("/metrics");
          return onPage.test(page) && inMetrics.test(metrics);
        };
        await waitUntilTrue("it to be named", isNamed, NAMING_LIMIT_MS).catch(() => undefined);
        expect(page).toMatch(onPage);
        expect(metrics.match(/^serverless_ccm_cluster_limits_total.*$/gm)?.join("\n")).toMatch(inMetrics);
      });
    }

    if (meanwhile !== undefined) test("further checks during the attack", () => meanwhile(stage, logged));

    test("both processes are alive", () => {
      expect(stage.relay.hasExited(), "the relay has ended").toBe(false);
      expect(stage.functions.hasExited(), "the functions have ended").toBe(false);
    });

    test.runIf(process.platform === "linux")("relay and functions take little more memory", async () => {
      const grownMiB = (await peaks()).map((peak, index) => Math.round(peak - (quietMiB[index] ?? 0)));
      expect(Math.max(...grownMiB), `grown by ${grownMiB.join(" and ")} MiB`).toBeLessThan(MAX_MIB_MORE);
    });

    test("the log stays small", () => {
      expect(logged().length).toBeLessThan(MAX_LOG_BYTES);
    });

    if (healsLater !== true) {
      test("its own nodes come up again once the attack ends", async () => {
        await stage.hostile.rest();
        await stage.attacker.getsANode();
      });
    }
  });
}
