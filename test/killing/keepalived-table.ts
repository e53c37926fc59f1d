import { keepalivedWorld } from "#test/clouds/keepalived/load-balancer-world.ts";
import { operationsOf } from "./operations.ts";
import { tableOf } from "./table.ts";

/** What is played on addresses of keepalived. */
export const keepalivedTable = tableOf(async () => keepalivedWorld, operationsOf({ hasSettings: true }));
