import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { DeletionState } from "#core/node-lifecycle/state.ts";
import { exchangesOfStage, type StageOfFunctions } from "#test/upgrade/versions.ts";
import { ROOT } from "../../build/bundle.ts";

const run = promisify(execFile);

/** Where what another version has written is kept, for a test that needs no history. */
export const PREVIOUS = join(ROOT, "test/fixtures/previous");

/** Run in the root of the older sources: the contracts of that version as JSON Schema, and what its core makes of its own example of a Service. */
const CONTRACTS = `
const z = await import("zod");
const { Event } = await import("#core/event.ts");
const { Report } = await import("#core/report.ts");
const { DeletionState } = await import("#core/node-lifecycle/state.ts");
const schemas = { event: Event, report: Report, state: DeletionState };
const entries = Object.entries(schemas).map(([name, schema]) => [name, z.toJSONSchema(schema, { io: "input", unrepresentable: "any" })]);
process.stdout.write(JSON.stringify(Object.fromEntries(entries)));
`;

/** What is kept of one version. */
export interface Written {
  readonly commit: string;
  /** Its sources. */
  readonly sources: string;
  readonly stage: StageOfFunctions;
  /** What deletion had written down while one was under way. */
  readonly state: DeletionState;
  /** A node that was initialized. */
  readonly node: unknown;
}

/** Of a batch so many objects are kept. */
const KEPT_OBJECTS = 2;

/** Keeps what relay and functions of the older version wrote, when both were of that version. */
export async function writeFixtures({ commit, sources, stage, state, node }: Written): Promise<void> {
  await mkdir(PREVIOUS, { recursive: true });
  const keep = (name: string, value: unknown): Promise<void> =>
    writeFile(join(PREVIOUS, name), `${JSON.stringify(value, undefined, 2)}\n`);
  const exchanges = await exchangesOfStage(stage);
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
