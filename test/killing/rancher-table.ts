import { cattleWorld } from "#test/clouds/rancher/load-balancer-world.ts";
import { operationsOf } from "./operations.ts";
import { tableOf } from "./table.ts";

/** What is played on the fake of Rancher 1.x. */
export const rancherTable = tableOf(async () => cattleWorld, operationsOf({ hasSettings: false }));
