import type { Attack } from "#test/hostile/attack.ts";

/** Fifty nodes that came to be in 1970. */
export const creation1970: Attack = async ({ join, machines, setNow }) => {
  setNow(new Date(0));
  await join(machines.slice(0, 50));
  setNow(undefined);
  return {};
};

/** Nodes that claim to be others' machines, by provider ID and by name. */
export const forgedProviderId: Attack = async ({ join, others }) => {
  await join(others.map(({ providerID }, index) => ({ name: `forged-${index}`, providerID })));
  await join(others.map(({ name }) => ({ name })));
  return {};
};
