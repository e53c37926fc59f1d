import type { Attack, HostileWorld } from "#test/hostile/attack.ts";
import { times } from "#test/hostile/hostile-nodes.ts";

/** As many as a large cluster has. */
const FAILING_NODES = 5_000;
/** Nodes of machines that there are, on which something is to be written. */
const NODES = 50;
/** Longer than anybody waits for an answer. */
const SLOW_MS = 20_000;

/** Five thousand nodes join, and of none there is a machine: each fails, and is due again, for as long as this goes on. */
export const failingNodes: Attack = ({ join }) => ({
  begin: async () => {
    // They join while others do, and nobody waits until the last of them has.
    void join(times(FAILING_NODES, (index) => ({ name: `failing-${index}` })));
  },
});

/** Every answer comes after 20 s. */
export const slowAnswers: Attack = (world) => ({ begin: () => joinMachines(world), delayMs: SLOW_MS });

/** Nothing is ever answered. */
export const silence: Attack = (world) => ({ begin: () => joinMachines(world), answer: () => true });

function joinMachines({ join, machines }: HostileWorld): Promise<void> {
  return join(machines.slice(0, NODES));
}
