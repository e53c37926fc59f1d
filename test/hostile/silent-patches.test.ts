import { expect } from "vitest";
import { describeAttack } from "#test/hostile/describe-attack.ts";

// Of five tenants, as many invocations as the account has places for.
describeAttack("silent-patches", {
  hostileClusters: 5,
  async meanwhile({ honest }, logged) {
    await honest.getsANode();
    // None of those that are stuck has ended: the others did not wait for them.
    const lines = logged()
      .split("\n")
      .filter((line) => line.includes('"cluster":"hostile'));
    const ended = lines.filter((line) => /"retry":[1-9]|"InvocationFailed"/.test(line));
    expect(ended).toEqual([]);
  },
});
