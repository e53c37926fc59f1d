import { createDigitalOceanWorld } from "#test/clouds/digitalocean/load-balancer-world.ts";
import { listOperations } from "./operations.ts";
import { createTable } from "./table.ts";

/** The operations on the emulated DigitalOcean. */
export const digitalOceanTable = createTable(
  async () => createDigitalOceanWorld,
  listOperations({ hasSettings: true }),
);
