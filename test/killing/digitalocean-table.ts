import { digitalOceanWorld } from "#test/clouds/digitalocean/load-balancer-world.ts";
import { operationsOf } from "./operations.ts";
import { tableOf } from "./table.ts";

/** What is played on the fake DigitalOcean. */
export const digitalOceanTable = tableOf(async () => digitalOceanWorld, operationsOf({ hasSettings: true }));
