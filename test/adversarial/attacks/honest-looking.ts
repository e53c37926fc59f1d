import type { Attack } from "#test/adversarial/attack.ts";
import { repeat } from "#test/adversarial/hostile-nodes.ts";

/** Fifty nodes with a creation time in 1970. */
export const creation1970: Attack = ({ join, machines, setNow }) => ({
  async begin() {
    setNow(new Date(0));
    await join(machines.slice(0, 50));
    setNow(undefined);
  },
});

/**
 * Nodes that claim foreign machines, by provider ID and by name, long enough for a message with the reason.
 */
export const forgedProviderId: Attack = ({ join, others, setNow }) => ({
  async begin() {
    setNow(new Date(Date.now() - 600_000));
    await join(others.map(({ providerID }, index) => ({ name: `forged-${index}`, providerID })));
    await join(others.map(({ name }) => ({ name })));
    setNow(undefined);
  },
});

/** Announcements of three hundred machines, foreign ones among them, whose provider IDs change. */
export const forgedAnnouncements: Attack = ({ announce, others }) => ({
  async begin() {
    const missing = repeat(300, (index) => `memory:///zone-a/missing-${index}`);
    await announce([...others.map(({ providerID }) => providerID), ...missing]);
    await announce([...others.map(({ providerID }) => providerID), ...missing].toReversed());
  },
});
