import type { Attack, HostileWorld } from "#test/adversarial/attack.ts";
import { repeat } from "#test/adversarial/hostile-nodes.ts";

/** As many as in a large cluster. */
const FAILING_NODES = 5_000;
/** Nodes with a machine that each need a write. */
const NODES = 50;
/** Longer than any wait for an answer. */
const SLOW_MS = 20_000;

/** Five thousand nodes without a machine join: each fails, and is due again, during the whole attack. */
export const failingNodes: Attack = ({ join }) => ({
  begin: async () => {
    // They join in parallel with others, without waiting for the last one.
    void join(repeat(FAILING_NODES, (index) => ({ name: `failing-${index}` })));
  },
});

/** Every answer comes after 20 s. */
export const slowAnswers: Attack = (world) => ({ begin: () => joinMachines(world), delayMs: SLOW_MS });

/** No request is answered. */
export const silence: Attack = (world) => ({ begin: () => joinMachines(world), answer: () => true });

function joinMachines({ join, machines }: HostileWorld): Promise<void> {
  return join(machines.slice(0, NODES));
}
