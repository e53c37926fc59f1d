import { memoryWorld } from "#test/clouds/memory/load-balancer-world.ts";
import { operationsOf } from "./operations.ts";
import { tableOf } from "./table.ts";

/** What is played on the memory cloud. */
export const memoryTable = tableOf(async () => memoryWorld, operationsOf({ hasSettings: false }));
