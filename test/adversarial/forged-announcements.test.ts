import { expect } from "vitest";
import { describeAttack } from "#test/adversarial/describe-attack.ts";
import { SECRETS } from "#test/adversarial/hostile-stage.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

describeAttack("forged-announcements", {
  async meanwhile({ attacker, page }) {
    const countInvocations = async (): Promise<number> => {
      const [, metrics] = await page("/metrics");
      return [...metrics.matchAll(/^serverless_ccm_invocations_total\{([^}]*)\} (\d+)$/gm)]
        .filter(([, labels = ""]) => labels.includes('controller="node-claim-announcements"'))
        .reduce((sum, [, , count]) => sum + Number(count), 0);
    };
    await waitUntilTrue("the announcements to be sent", async () => (await countInvocations()) > 0);
    // Six hundred changes, and each batch has up to a hundred.
    expect(await countInvocations()).toBeLessThan(60);
    const whole = await attacker.reads();
    for (const secret of SECRETS) expect(whole).not.toContain(secret);
    expect(whole).not.toContain("forged-");
  },
});
