import { createOciWorld } from "#test/clouds/oci/load-balancer-world.ts";
import { listOperations } from "./operations.ts";
import { createTable, type Table } from "./table.ts";

const OPERATIONS = listOperations({ hasSettings: true });

/** The operations on Oracle Cloud, with load balancers and with network load balancers. */
export const ociTables: Readonly<Record<"oci" | "oci-nlb", Table>> = {
  oci: createTable(async () => () => createOciWorld("lb"), OPERATIONS),
  "oci-nlb": createTable(async () => () => createOciWorld("nlb"), OPERATIONS),
};
