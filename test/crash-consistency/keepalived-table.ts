import { createKeepalivedWorld } from "#test/clouds/keepalived/load-balancer-world.ts";
import { listOperations } from "./operations.ts";
import { createTable } from "./table.ts";

/** The operations on keepalived addresses. */
export const keepalivedTable = createTable(
  async () => createKeepalivedWorld,
  listOperations({ hasSettings: true }),
);
