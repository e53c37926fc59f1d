import { expect } from "vitest";
import * as z from "zod";
import { describeAttack } from "#test/adversarial/describe-attack.ts";
import { OTHERS, SECRETS } from "#test/adversarial/hostile-stage.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

const Events = z.object({
  items: z.array(
    z.object({
      involvedObject: z.object({ name: z.string() }),
      reason: z.string(),
      message: z.string(),
      type: z.string(),
    }),
  ),
});

describeAttack("forged-provider-id", {
  async meanwhile({ attacker }) {
    let whole = "";
    const told = async (): Promise<ReadonlyMap<string, Set<string>>> => {
      whole = await attacker.reads();
      const { items } = Events.parse(JSON.parse(whole.slice(whole.lastIndexOf("\n"))));
      const byNode = new Map<string, Set<string>>();
      for (const {
        involvedObject: { name },
        reason,
        message,
        type,
      } of items) {
        const words = message.replaceAll(name, "NODE").replaceAll(/memory:\/\/\/\S+?(?=["'\s,:;.]|$)/g, "ID");
        byNode.set(name, (byNode.get(name) ?? new Set()).add(`${type} ${reason}: ${words}`));
      }
      return byNode;
    };
    for (const names of [OTHERS.map((_, index) => `forged-${index}`), OTHERS.map(({ name }) => name)]) {
      await waitUntilTrue(
        `a word on each of ${names.join(", ")}`,
        async () => {
          const byNode = await told();
          return names.every((name) => byNode.has(name));
        },
        10_000,
      ).catch(() => undefined);
      const byNode = await told();
      const each = names.map((name) => [...(byNode.get(name) ?? [])].sort());
      // A foreign machine, an inaccessible one and a missing one: the messages are the same.
      for (const words of each) expect(words).toEqual(each[0]);
    }
    for (const secret of SECRETS) expect(whole).not.toContain(secret);
  },
});
