import type { Ec2Instance } from "#emulators/ec2/instance.ts";
import type { NodeDifference } from "#test/faults/foreign.ts";
import { NODES } from "#test/faults/row.ts";
import type { Stage } from "#test/faults/stage.ts";

/** The faults of a burst, and their times. */
export interface BurstOptions {
  readonly nodes?: number;
  readonly difference?: (index: number, instance: Ec2Instance) => NodeDifference;
  /** Before the first node registers, with a running relay. */
  readonly before?: (stage: Stage) => void | Promise<void>;
  /** After a write of ours that the seed draws from the first half of all. */
  readonly during?: (stage: Stage) => void | Promise<void>;
  /** When every node is up. */
  readonly after?: (stage: Stage) => void | Promise<void>;
}

/** The program of most rows: a relay, a burst of nodes, a fault, and all nodes come up. */
export function createBurst(options: BurstOptions): (stage: Stage) => Promise<void> {
  const { nodes = NODES, difference, before, during, after } = options;
  return async (stage) => {
    await stage.startRelay();
    await before?.(stage);
    const joining = stage.join(nodes, difference);
    if (during !== undefined) {
      await stage.afterWrites(stage.random.whole(1, nodes));
      await during(stage);
    }
    await joining;
    await stage.untilUp();
    await after?.(stage);
  };
}
