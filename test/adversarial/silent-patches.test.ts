import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { describeAttack } from "#test/adversarial/describe-attack.ts";

/** More than the stuck ones could end in between. */
const NODES = 5;

// The attacker has five clusters, as many invocations as the account has permits. The first ones are stuck
// for the duration of a write's timeout, before the relay can know it; later it waits for none of them.
describeAttack("silent-patches", {
  hostileClusters: 5,
  async meanwhile({ honest }, logged) {
    const stuckAndEnded = (): number =>
      logged()
        .split("\n")
        .filter((line) => line.includes('"cluster":"hostile'))
        .filter((line) => /"retry":[1-9]|"InvocationFailed"/.test(line)).length;
    await honest.getsANode();
    // Those that were stuck first end together.
    await sleep(1_000);
    const before = stuckAndEnded();
    for (let node = 0; node < NODES; node += 1) await honest.getsANode();
    expect(stuckAndEnded() - before).toBeLessThan(NODES);
  },
});
