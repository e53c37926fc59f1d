import { createMemoryWorld } from "#test/clouds/memory/load-balancer-world.ts";
import { listOperations } from "./operations.ts";
import { createTable } from "./table.ts";

/** The operations on the memory cloud. */
export const memoryTable = createTable(async () => createMemoryWorld, listOperations({ hasSettings: false }));
