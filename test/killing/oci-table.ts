import { ociWorld } from "#test/clouds/oci/load-balancer-world.ts";
import { operationsOf } from "./operations.ts";
import { type Table, tableOf } from "./table.ts";

const OPERATIONS = operationsOf({ hasSettings: true });

/** What is played on Oracle Cloud: with load balancers, and with network load balancers. */
export const ociTables: Readonly<Record<"oci" | "oci-nlb", Table>> = {
  oci: tableOf(async () => () => ociWorld("lb"), OPERATIONS),
  "oci-nlb": tableOf(async () => () => ociWorld("nlb"), OPERATIONS),
};
