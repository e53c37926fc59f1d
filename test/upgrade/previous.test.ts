import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createMemoryCloud } from "#clouds/memory/cloud.ts";
import { Cluster } from "#config/cluster.ts";
import { LOAD_BALANCER_ANNOTATION } from "#core/contracts.ts";
import type { Controller } from "#core/controller.ts";
import { Event } from "#core/event.ts";
import { nodeController } from "#core/node/controller.ts";
import { Node } from "#core/node/node.ts";
import { nodeLifecycleController } from "#core/node-lifecycle/controller.ts";
import { parseObservedInstance } from "#core/node-lifecycle/location.ts";
import { DeletionState, readState, STATE_KEY } from "#core/node-lifecycle/state.ts";
import { Report } from "#core/report.ts";
import { parseStateAnnotation } from "#core/service/state-annotation.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import { runProgram } from "#test/cli/program.ts";
import { listDifferences } from "#test/upgrade/differences.ts";
import { ROOT } from "../../build/bundle.ts";

// The output of the previous version's relay and functions, and its contracts, as written by `npm run
// test:upgrade -- --from COMMIT --write-fixtures`.

const previous = async (name: string): Promise<Record<string, unknown>> =>
  JSON.parse(await readFile(join(ROOT, "test/fixtures/previous", name), "utf8"));

const contracts = await previous("contracts.json");
const today = { event: Event, report: Report, state: DeletionState };
const NAMES = ["event", "report", "state"] as const;

/**
 * What the previous version does not understand, with the reasons. Any other difference needs another wire
 * form, or an entry here and in docs/how-to/upgrade.md.
 */
const KNOWN: Readonly<Record<(typeof NAMES)[number], readonly RegExp[]>> = {
  // A function of the previous version must refuse a stopped event, because it would delete nevertheless.
  event: [/^\/version: 2$/],
  // Only reports of dry runs contain decisions.
  report: [/^\/objects\/\[\]\/decision\//],
  state: [],
};

const jsonSchemaOf = (schema: z.ZodType) => z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });

describe("the output of the previous version", () => {
  test.each<[string, Controller]>([
    ["node", nodeController],
    ["node-lifecycle", nodeLifecycleController],
  ])("an event for %s is handled without a malformed object", async (name, controller) => {
    const event = await previous(`${name}.event.json`);
    const report = Report.parse(await carriedOutToday(controller, { ...event, dryRun: true }));
    expect(report.objects.length).toBe((event["objects"] as unknown[]).length);
    const codes = report.objects.map(({ because }) => because.code);
    expect(codes.filter((code) => /^(Malformed|Cluster|Unknown)/.test(code))).toEqual([]);
  });

  test.each(["node", "node-lifecycle"])("a report of %s counts as valid", async (name) => {
    const report = await previous(`${name}.report.json`);
    expect(Report.parse(report)).toEqual(report);
  });

  test("continues a deletion from its stored state", async () => {
    const state = await previous("state.json");
    const object = {
      metadata: { uid: "u", resourceVersion: "1" },
      data: { [STATE_KEY]: JSON.stringify(state) },
    };
    expect(readState({ kind: "object", object })).toMatchObject({ kind: "state", state });
    expect(Object.keys(state["absences"] as object).length).toBeGreaterThan(0);
  });

  test("finds a node's instance by its annotation", async () => {
    const node = Node.parse(await previous("node.json"));
    expect(parseObservedInstance(node)?.id).toMatch(/^i-/);
  });
});

describe("the annotation of a Service's load balancer", () => {
  test("of the previous version is understood", async () => {
    const mark = await previous("service-mark.json");
    const metadata = { uid: mark["uid"], annotations: { [LOAD_BALANCER_ANNOTATION]: JSON.stringify(mark) } };
    expect(parseStateAnnotation({ metadata } as never)).toEqual(mark);
  });

  test("of a newer version is ignored: the work starts again, with the annotation's text as precondition", async () => {
    const asked = JSON.parse(await readFile(join(ROOT, "docs/examples/service.json"), "utf8"));
    const [service] = asked.event.objects;
    const later = JSON.stringify({ ...(await previous("service-mark.json")), state: "paused", more: true });
    service.metadata.annotations = { ...service.metadata.annotations, [LOAD_BALANCER_ANNOTATION]: later };
    const { stdout } = await runProgram(["decide"], JSON.stringify(asked));
    const { because, writes } = JSON.parse(stdout);
    expect(because.code).toBe("Creating");
    const path = `/metadata/annotations/${LOAD_BALANCER_ANNOTATION.replaceAll("/", "~1")}`;
    expect(writes[0].precondition).toContainEqual({ op: "test", path, value: later });
  });
});

describe("the output of the current version", () => {
  test.each(NAMES)("%s: the previous version understands it, except for the known differences", (name) => {
    const found = listDifferences(contracts[name] as object, jsonSchemaOf(today[name]) as object);
    expect(found.filter((line) => !KNOWN[name].some((known) => known.test(line)))).toEqual([]);
  });

  test.each(NAMES)("%s: the current version understands all output of the previous version", (name) => {
    expect(listDifferences(jsonSchemaOf(today[name]) as object, contracts[name] as object)).toEqual([]);
  });

  test("the previous contract accepts a report of the current version", async () => {
    const event = await previous("node.event.json");
    const report = await carriedOutToday(nodeController, { ...event, dryRun: true });
    const before = z.fromJSONSchema(contracts["report"] as never);
    expect(before.safeParse(report).error).toBeUndefined();
  });

  test("the comparison of contracts finds incompatible changes", () => {
    const strict = z.strictObject({ a: z.string(), kind: z.enum(["x", "y"]) });
    const found = (writer: z.ZodType) =>
      listDifferences(jsonSchemaOf(strict) as object, jsonSchemaOf(writer) as object);
    expect(found(strict)).toEqual([]);
    expect(found(strict.extend({ b: z.string().optional() }))).toEqual(["/b is not known"]);
    expect(found(strict.partial({ a: true }))).toEqual(["/a may be missing"]);
    expect(found(strict.extend({ kind: z.enum(["x", "z"]) }))).toEqual(['/kind: "z"']);
    expect(found(strict.extend({ a: z.number() }))).toEqual(["/a: number for string"]);
  });
});

/** Runs today's function in a dry run, for a cluster whose entry equals the sender's. */
async function carriedOutToday(controller: Controller, event: Record<string, unknown>): Promise<unknown> {
  const cluster = Cluster.parse({
    name: "tenant-a",
    server: "https://127.0.0.1:6443",
    cloud: { provider: "memory", instancesFile: "instances.json" },
  });
  const carriedOut = createControllerFunction(controller, {
    clusters: async () => ({ ...cluster, hash: String(event["clusterHash"]) }),
    cloud: async () => createMemoryCloud({ instances: new Map() } as never),
    api: async () => {
      throw new Error("a dry run asked for the API server");
    },
    now: () => new Date(),
  });
  return carriedOut(event, { awsRequestId: "r", getRemainingTimeInMillis: () => 20_000 });
}
