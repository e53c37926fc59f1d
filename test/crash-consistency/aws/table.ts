import { createAwsWorld } from "#test/clouds/aws/load-balancer-world.ts";
import { createTable } from "#test/crash-consistency/table.ts";
import { getMotoProgram } from "#test/setup/moto-program.ts";
import { OPERATIONS } from "./operations.ts";

/** The operations on AWS, as moto emulates it. */
export const awsTable = createTable(
  async () => {
    const program = await getMotoProgram((line) => process.stderr.write(`${line}\n`));
    if (program.kind === "missing") throw new Error(`the table needs moto: ${program.because}`);
    return () => createAwsWorld(program.value);
  },
  OPERATIONS,
  (name) => /^(NLB, Managed|CLB): (create|other ports|type ClusterIP|type to and fro|delete)$/.test(name),
);
