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
import { seenInstance } from "#core/node-lifecycle/identity.ts";
import { DeletionState, readState, STATE_KEY } from "#core/node-lifecycle/state.ts";
import { Report } from "#core/report.ts";
import { markOf } from "#core/service/mark.ts";
import { controllerFunction } from "#functions/parts/controller-function.ts";
import { runProgram } from "#test/cli/program.ts";
import { differences } from "#test/upgrade/differences.ts";
import { ROOT } from "../../build/bundle.ts";

// What relay and functions of the version before wrote, and its contracts, as `npm run test:upgrade -- --from COMMIT --write-fixtures` keeps them.

const previous = async (name: string): Promise<Record<string, unknown>> =>
  JSON.parse(await readFile(join(ROOT, "test/fixtures/previous", name), "utf8"));

const contracts = await previous("contracts.json");
const today = { event: Event, report: Report, state: DeletionState };
const NAMES = ["event", "report", "state"] as const;

/**
 * What the version before does not understand, and why that is right. Whatever else is found wants another way to say it, or a place here and
 * on docs/how-to/upgrade.md.
 */
const KNOWN: Readonly<Record<(typeof NAMES)[number], readonly RegExp[]>> = {
  // An event that is stopped has to be refused by whoever would delete all the same.
  event: [/^\/version: 2$/],
  // Decisions are in the reports of dry runs alone.
  report: [/^\/objects\/\[\]\/decision\//],
  state: [],
};

const jsonSchemaOf = (schema: z.ZodType) => z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });

describe("what the version before has written", () => {
  test.each<[string, Controller]>([
    ["node", nodeController],
    ["node-lifecycle", nodeLifecycleController],
  ])("an event for %s is carried out, none of its objects malformed", async (name, controller) => {
    const event = await previous(`${name}.event.json`);
    const report = Report.parse(await carriedOutToday(controller, { ...event, dryRun: true }));
    expect(report.objects.length).toBe((event["objects"] as unknown[]).length);
    const codes = report.objects.map(({ because }) => because.code);
    expect(codes.filter((code) => /^(Malformed|Cluster|Unknown)/.test(code))).toEqual([]);
  });

  test.each(["node", "node-lifecycle"])("a report of %s counts", async (name) => {
    const report = await previous(`${name}.report.json`);
    expect(Report.parse(report)).toEqual(report);
  });

  test("the state of a deletion that is under way is gone on with", async () => {
    const state = await previous("state.json");
    const object = {
      metadata: { uid: "u", resourceVersion: "1" },
      data: { [STATE_KEY]: JSON.stringify(state) },
    };
    expect(readState({ kind: "object", object })).toMatchObject({ kind: "state", state });
    expect(Object.keys(state["absences"] as object).length).toBeGreaterThan(0);
  });

  test("a node's instance is known by its annotation", async () => {
    const node = Node.parse(await previous("node.json"));
    expect(seenInstance(node)?.id).toMatch(/^i-/);
  });
});

describe("the annotation of a Service's load balancer", () => {
  test("of the version before is understood", async () => {
    const mark = await previous("service-mark.json");
    const metadata = { uid: mark["uid"], annotations: { [LOAD_BALANCER_ANNOTATION]: JSON.stringify(mark) } };
    expect(markOf({ metadata } as never)).toEqual(mark);
  });

  test("of a version that says more says nothing: it is begun anew, and what stands there is its precondition", async () => {
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

describe("what today's version writes", () => {
  test.each(NAMES)("%s: is understood by the version before, but for what is known", (name) => {
    const found = differences(contracts[name] as object, jsonSchemaOf(today[name]) as object);
    expect(found.filter((line) => !KNOWN[name].some((known) => known.test(line)))).toEqual([]);
  });

  test.each(NAMES)("%s: of the version before is understood today, whatever is in it", (name) => {
    expect(differences(jsonSchemaOf(today[name]) as object, contracts[name] as object)).toEqual([]);
  });

  test("a report of what is carried out today is read by the contract of before", async () => {
    const event = await previous("node.event.json");
    const report = await carriedOutToday(nodeController, { ...event, dryRun: true });
    const before = z.fromJSONSchema(contracts["report"] as never);
    expect(before.safeParse(report).error).toBeUndefined();
  });

  test("the contracts are compared for what can go wrong", () => {
    const strict = z.strictObject({ a: z.string(), kind: z.enum(["x", "y"]) });
    const found = (writer: z.ZodType) =>
      differences(jsonSchemaOf(strict) as object, jsonSchemaOf(writer) as object);
    expect(found(strict)).toEqual([]);
    expect(found(strict.extend({ b: z.string().optional() }))).toEqual(["/b is not known"]);
    expect(found(strict.partial({ a: true }))).toEqual(["/a may be missing"]);
    expect(found(strict.extend({ kind: z.enum(["x", "z"]) }))).toEqual(['/kind: "z"']);
    expect(found(strict.extend({ a: z.number() }))).toEqual(["/a: number for string"]);
  });
});

/** Today's function, for a cluster whose entry is that of the sender; it says what it would do. */
async function carriedOutToday(controller: Controller, event: Record<string, unknown>): Promise<unknown> {
  const cluster = Cluster.parse({
    name: "tenant-a",
    server: "https://127.0.0.1:6443",
    cloud: { provider: "memory", instancesFile: "instances.json" },
  });
  const carriedOut = controllerFunction(controller, {
    clusters: async () => ({ ...cluster, hash: String(event["clusterHash"]) }),
    cloud: async () => createMemoryCloud({ instances: new Map() } as never),
    api: async () => {
      throw new Error("a dry run asked for the API server");
    },
    now: () => new Date(),
  });
  return carriedOut(event, { awsRequestId: "r", getRemainingTimeInMillis: () => 20_000 });
}
