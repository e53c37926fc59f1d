import type { Row } from "#test/faults/row.ts";
import { API_SERVER_ROWS } from "#test/faults/rows/api-server.ts";
import { EC2_ROWS } from "#test/faults/rows/ec2.ts";
import { INVOCATION_ROWS } from "#test/faults/rows/invocations.ts";
import { LIFECYCLE_ROWS } from "#test/faults/rows/lifecycle.ts";
import { NODE_ROWS } from "#test/faults/rows/nodes.ts";
import { OTHER_WRITER_ROWS } from "#test/faults/rows/other-writers.ts";
import { RELAY_ROWS } from "#test/faults/rows/relays.ts";
import { SIZE_ROWS } from "#test/faults/rows/sizes.ts";

/** The whole table of faults, in printed order. */
export const ROWS: readonly Row[] = [
  ...RELAY_ROWS,
  ...INVOCATION_ROWS,
  ...EC2_ROWS,
  ...API_SERVER_ROWS,
  ...OTHER_WRITER_ROWS,
  ...NODE_ROWS,
  ...SIZE_ROWS,
  ...LIFECYCLE_ROWS,
];
