import { expect } from "vitest";
import { describeAttack } from "#test/hostile/describe-attack.ts";

describeAttack("creation-1970", {
  async meanwhile({ attacker, page }) {
    await attacker.getsAllNodes();
    const [, metrics] = await page("/metrics");
    const sums = [...metrics.matchAll(/^node_controller_\w+_seconds_sum(?:\{.*\})? (\S+)$/gm)];
    expect(sums.length).toBeGreaterThan(0);
    // A minute, for fifty nodes; half a century for each of them otherwise.
    for (const [, seconds] of sums) expect(Number(seconds)).toBeLessThan(3_000);
  },
});
