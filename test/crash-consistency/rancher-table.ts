import { createCattleLoadBalancerWorld } from "#test/clouds/rancher/load-balancer-world.ts";
import { listOperations } from "./operations.ts";
import { createTable } from "./table.ts";

/** The operations on the emulated Rancher 1.x. */
export const rancherTable = createTable(
  async () => createCattleLoadBalancerWorld,
  listOperations({ hasSettings: false }),
);
