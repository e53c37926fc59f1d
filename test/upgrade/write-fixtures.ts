import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { DeletionState } from "#core/node-lifecycle/state.ts";
import { listExchanges, type StageOfFunctions } from "#test/upgrade/versions.ts";
import { ROOT } from "../../build/bundle.ts";

const run = promisify(execFile);

/** The folder with the output of another version, for a test that needs no Git history. */
export const PREVIOUS = join(ROOT, "test/fixtures/previous");

/**
 * Runs in the root of the older sources: writes that version's contracts as JSON Schema, and the result of
 * its core for its own example of a Service.
 */
const CONTRACTS = `
const z = await import("zod");
const { Event } = await import("#core/event.ts");
const { Report } = await import("#core/report.ts");
const { DeletionState } = await import("#core/node-lifecycle/state.ts");
const schemas = { event: Event, report: Report, state: DeletionState };
const entries = Object.entries(schemas).map(([name, schema]) => [name, z.toJSONSchema(schema, { io: "input", unrepresentable: "any" })]);
process.stdout.write(JSON.stringify(Object.fromEntries(entries)));
`;

/** The output of one version. */
export interface Written {
  readonly commit: string;
  /** The folder of its sources. */
  readonly sources: string;
  readonly stage: StageOfFunctions;
  /** The stored state of a deletion in progress. */
  readonly state: DeletionState;
  /** An initialized node. */
  readonly node: unknown;
}

/** Returns the commit that wrote the fixtures. */
export async function readPreviousCommit(): Promise<string> {
  const { commit } = JSON.parse(await readFile(join(PREVIOUS, "made-by.json"), "utf8")) as { commit: string };
  return commit;
}

/** The number of objects that are kept of a batch. */
const KEPT_OBJECTS = 2;

/** Stores the output of the older version's relay and functions, both of that version. */
export async function writeFixtures({ commit, sources, stage, state, node }: Written): Promise<void> {
  await mkdir(PREVIOUS, { recursive: true });
  const keep = (name: string, value: unknown): Promise<void> =>
    writeFile(join(PREVIOUS, name), `${JSON.stringify(value, undefined, 2)}\n`);
  const exchanges = await listExchanges(stage);
  for (const name of ["node", "node-lifecycle"]) {
    const exchange = exchanges.find((each) => each.name === name && each.report !== undefined);
    if (exchange?.report === undefined) throw new Error(`${name} was never invoked by the older version`);
    await keep(`${name}.event.json`, shortened(exchange.event));
    await keep(`${name}.report.json`, shortened(exchange.report));
  }
  await keep("state.json", state);
  await keep("node.json", node);
  const contracts = await run(process.execPath, ["--input-type=module", "--eval", CONTRACTS], {
    cwd: sources,
  });
  await keep("contracts.json", JSON.parse(contracts.stdout));
  await keep("made-by.json", { commit });
}

function shortened<T extends Readonly<Record<string, unknown>>>(value: T): T {
  return { ...value, objects: (value["objects"] as readonly unknown[]).slice(0, KEPT_OBJECTS) };
}
