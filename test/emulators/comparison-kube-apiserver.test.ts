import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import {
  type ControlPlaneBinaries,
  NODE_CLAIM_DEFINITION,
  startKubeApiserver,
} from "#emulators/harness/kube-apiserver.ts";
import { createSigningRequest, toBase64 } from "#test/csr/signing-request.ts";
import { buildRequest, KnownState, OURS } from "#test/emulators/comparison/build-request.ts";
import { explainDifference, listDifferences } from "#test/emulators/comparison/differences.ts";
import { buildResources, formatCollection } from "#test/emulators/comparison/objects.ts";
import { createRawClient, type RawAnswer, type RawClient } from "#test/emulators/comparison/raw-request.ts";
import { describeEvents, describeShape } from "#test/emulators/comparison/shape.ts";
import { RESOURCE_NAMES, type Step, sampleSteps } from "#test/emulators/comparison/steps.ts";
import { judgeAnswer, judgeWatchLine } from "#test/openapi/judge.ts";
import { readOpenApi } from "#test/openapi/operations.ts";
import { SEED } from "#test/seed.ts";
import { describeWithPart, getPart } from "#test/setup/parts.ts";

const STEPS = 600;
const TIMEOUT_MS = 240_000;

describeWithPart("openapi", "the embedded API server beside a real one", (documents) => {
  const openApi = readOpenApi(documents);
  const sides: { readonly plane: ControlPlane; readonly client: RawClient; readonly known: KnownState }[] =
    [];
  const folders: string[] = [];
  let resources: ReturnType<typeof buildResources>;
  /** The version of each server before the first step. */
  let starts: readonly string[] = [];

  beforeAll(async () => {
    resources = buildResources(toBase64(await createSigningRequest("a")));
    for (const start of [startReal, startEmbeddedControlPlane]) {
      const folder = await mkdtemp(join(tmpdir(), "comparison-"));
      folders.push(folder);
      const plane = await start({ folder });
      sides.push({ plane, client: await createRawClient(plane), known: new KnownState() });
    }
    starts = await Promise.all(sides.map(({ client }) => readVersion(client, resources)));
  }, TIMEOUT_MS);
  afterAll(async () => {
    for (const { client, plane } of sides) {
      client.close();
      await plane.close();
    }
    await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })));
  });

  const perform = async (step: Step): Promise<readonly string[]> => {
    const answers: RawAnswer[] = [];
    let described = "";
    for (const { client, known, plane } of sides) {
      const request = buildRequest(step, resources, known);
      described = `${request.method} ${request.path.slice(0, 200)} ${JSON.stringify(step)}`;
      const answer = await client.send(request);
      known.note(request.path, answer);
      answers.push(answer);
      // The real server shows that the judge is right.
      const issues = judgeAnswer(openApi, request, answer);
      if (issues.length > 0)
        return [described, `${plane.kind} violates OpenAPI:`, ...issues.map(formatIssue)];
    }
    const [real, embedded] = answers.map(describeShape);
    if (real === undefined || embedded === undefined) throw new Error("both servers answer");
    const differences = listDifferences(real, embedded);
    if (differences.length === 0 || explainDifference(step, real, embedded) !== undefined) return [];
    return [described, ...differences.slice(0, 20)];
  };

  test(
    `answers ${STEPS} random requests alike`,
    async () => {
      const unexplained: string[] = [];
      for (const step of sampleSteps(SEED, STEPS)) unexplained.push(...(await perform(step)));
      expect(unexplained.join("\n"), `seed ${SEED}; - is the real server's answer, + ours`).toBe("");
    },
    TIMEOUT_MS,
  );

  describe("watches, after these requests", () => {
    const watch = async (name: (typeof RESOURCE_NAMES)[number], query: string, accept: string) => {
      const path = formatCollection(resources[name], name, undefined);
      return Promise.all(
        sides.map(async ({ client, plane }, index) => {
          const from = query.replace("START", starts[index] ?? "");
          const ours = query.includes("Selector") ? "" : new URLSearchParams(OURS[name]);
          const full = `${path}?watch=true&timeoutSeconds=1&${from}&${ours}`;
          const answer = await client.send({ method: "GET", path: full, accept });
          const lines = answer.status === 200 ? answer.body.split("\n").filter((line) => line !== "") : [];
          const issues = lines.flatMap((line) => judgeWatchLine(openApi, full, line));
          expect(issues.map(formatIssue), `${plane.kind} ${full}`).toEqual([]);
          return describeEvents(answer);
        }),
      );
    };

    test.each(RESOURCE_NAMES.flatMap((name) => WATCHES.map((row) => ({ name, ...row }))))(
      "$name: $given",
      { concurrent: false, timeout: TIMEOUT_MS },
      async ({ name, query, accept = JSON_TYPE }) => {
        const [real = [], embedded = []] = await watch(name, query, accept);
        const differences = real.flatMap((event, index) => {
          const ours = embedded[index];
          const lines = ours === undefined ? ["- the event"] : listDifferences(event, ours);
          return lines.filter((line) => !GENERATION.test(line)).map((line) => `event ${index}: ${line}`);
        });
        expect(differences.slice(0, 20)).toEqual([]);
        expect(embedded.length).toBe(real.length);
      },
    );
  });
});

const JSON_TYPE = "application/json";
/** See `differences.ts`. */
const GENERATION = /^- \/object\/metadata\/generation /;

const WATCHES: readonly { readonly given: string; readonly query: string; readonly accept?: string }[] = [
  { given: "every change since the start", query: "resourceVersion=START" },
  { given: "changes of some labels", query: "resourceVersion=START&labelSelector=updated%3Dyes" },
  {
    given: "metadata of every change",
    query: "resourceVersion=START",
    accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
  },
  { given: "the state and a bookmark", query: "allowWatchBookmarks=true&resourceVersion=0" },
  { given: "the state without a bookmark", query: "" },
  {
    given: "the state by request, and a bookmark",
    query: "allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
  },
  { given: "initial events without a match", query: "sendInitialEvents=true" },
  { given: "a match without initial events", query: "resourceVersionMatch=Exact&resourceVersion=1" },
  { given: "an invalid version", query: "resourceVersion=x" },
  { given: "an invalid selector", query: "fieldSelector=x" },
];

/** The versions of the two programs are found by the setup, because this file names them. */
function startReal({ folder }: { readonly folder: string }): Promise<ControlPlane> {
  const plane = getPart("control-plane");
  if (plane.kind !== "present") throw new Error(`the documents exist without a server: ${plane.because}`);
  const binaries: ControlPlaneBinaries = plane.value;
  return startKubeApiserver({ folder, binaries, manifests: [NODE_CLAIM_DEFINITION] });
}

/** Returns the version of a server, after it has begun to remember the changes of every resource. */
async function readVersion(client: RawClient, resources: ReturnType<typeof buildResources>): Promise<string> {
  for (const name of RESOURCE_NAMES)
    await client.send({ method: "GET", path: formatCollection(resources[name], name), accept: JSON_TYPE });
  const { body } = await client.send({ method: "GET", path: "/api/v1/nodes", accept: JSON_TYPE });
  const { metadata } = JSON.parse(body) as { readonly metadata: { readonly resourceVersion: string } };
  return metadata.resourceVersion;
}

function formatIssue({ pointer, rule }: { readonly pointer: string; readonly rule: string }): string {
  return `${pointer}: ${rule}`;
}
