import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LimitName } from "#kube/client/limit-name.ts";
import type { AttackName } from "#test/hostile/attacks.ts";
import { type HostileStage, setHostileStage } from "#test/hostile/hostile-stage.ts";
import { untilTrue } from "#test/until-true.ts";

/** What an attack is to come to. */
export interface Expected {
  /** One of the limits that the operator is shown meanwhile; nothing is to be seen of the attack without it. */
  readonly limits?: readonly LimitName[];
  /** Clusters that are the attacker's; one without it. */
  readonly hostileClusters?: number;
  /** What else must hold, once the attack has gone on for a while. */
  readonly meanwhile?: (stage: HostileStage, logged: () => string) => Promise<void>;
  /** Where the cluster needs longer than a test should take until it is well again: the bench measures that. */
  readonly healsLater?: true;
}

/** How long an attack goes on beyond what it is watched for. */
const ATTACK_MS = 1_000;

/** What an attack may add to what the quiet processes have had at most; each of them went over 400 MiB with less than it sends here. */
const MAX_MIB_MORE = 150;

/** How long the operator may be kept waiting: some limits are those of ten seconds. */
const NAMING_LIMIT_MS = 15_000;

/** Of log while it goes on. */
const MAX_LOG_BYTES = 64 * 1024;

/** A suite of one attack: what it must not do to the others, what the operator is to see of it, and that it passes. */
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

    test("the relay is alive, and says of the other cluster that it is well", async () => {
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
        await untilTrue("it to be named", isNamed, NAMING_LIMIT_MS).catch(() => undefined);
        expect(page).toMatch(onPage);
        expect(metrics.match(/^serverless_ccm_cluster_limits_total.*$/gm)?.join("\n")).toMatch(inMetrics);
      });
    }

    if (meanwhile !== undefined) test("and meanwhile", () => meanwhile(stage, logged));

    test("both processes are alive", () => {
      expect(stage.relay.hasExited(), "the relay has ended").toBe(false);
      expect(stage.functions.hasExited(), "the functions have ended").toBe(false);
    });

    test.runIf(process.platform === "linux")(
      "neither relay nor functions take much more memory",
      async () => {
        const grownMiB = (await peaks()).map((peak, index) => Math.round(peak - (quietMiB[index] ?? 0)));
        expect(Math.max(...grownMiB), `grown by ${grownMiB.join(" and ")} MiB`).toBeLessThan(MAX_MIB_MORE);
      },
    );

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
