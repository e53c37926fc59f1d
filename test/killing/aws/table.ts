import { awsWorld } from "#test/clouds/aws/load-balancer-world.ts";
import { tableOf } from "#test/killing/table.ts";
import { getMotoProgram } from "#test/setup/moto-program.ts";
import { OPERATIONS } from "./operations.ts";

/** What is played on AWS, as moto is it. */
export const awsTable = tableOf(
  async () => {
    const program = await getMotoProgram((line) => process.stderr.write(`${line}\n`));
    if (program.kind === "missing") throw new Error(`the table needs moto: ${program.because}`);
    return () => awsWorld(program.value);
  },
  OPERATIONS,
  (name) => /^(NLB, Managed|CLB): (create|other ports|type ClusterIP|type to and fro|delete)$/.test(name),
);
