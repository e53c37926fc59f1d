import type { Attack } from "#test/hostile/attack.ts";

/** Fifty nodes that came to be in 1970. */
export const creation1970: Attack = ({ join, machines, setNow }) => ({
  async begin() {
    setNow(new Date(0));
    await join(machines.slice(0, 50));
    setNow(undefined);
  },
});

/** Nodes that claim to be others' machines, by provider ID and by name, and to have done so for long enough to be told why not. */
export const forgedProviderId: Attack = ({ join, others, setNow }) => ({
  async begin() {
    setNow(new Date(Date.now() - 600_000));
    await join(others.map(({ providerID }, index) => ({ name: `forged-${index}`, providerID })));
    await join(others.map(({ name }) => ({ name })));
    setNow(undefined);
  },
});
