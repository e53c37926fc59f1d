import { expect } from "vitest";
import { describeAttack } from "#test/adversarial/describe-attack.ts";

describeAttack("creation-1970", {
  async meanwhile({ attacker, page }) {
    await attacker.getsAllNodes();
    const [, metrics] = await page("/metrics");
    const sums = [...metrics.matchAll(/^node_controller_\w+_seconds_sum(?:\{.*\})? (\S+)$/gm)];
    expect(sums.length).toBeGreaterThan(0);
    // A minute for fifty nodes; counted from 1970 it would be half a century for each.
    for (const [, seconds] of sums) expect(Number(seconds)).toBeLessThan(3_000);
  },
});
