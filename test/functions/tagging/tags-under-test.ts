import { fileURLToPath } from "node:url";
import type { Cloud } from "#clouds/cloud.ts";
import { Cluster } from "#config/cluster.ts";
import { TAGS_LABEL } from "#core/contracts.ts";
import type { Controller } from "#core/controller.ts";
import type { CloudAction } from "#core/decision.ts";
import type { EventReason } from "#core/event.ts";
import { TAG, type TagParameters, type Tags, type TagsQuestion } from "#core/node-tags.ts";
import type { Report } from "#core/report.ts";
import { relatedNodes } from "#core/tagging/tagged-node.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import { createLife, ignoreKilled } from "#test/functions/life.ts";
import { taggingController } from "#test/functions/tagging/controller.ts";
import { createNode } from "#test/functions/tagging/nodes.ts";
import type { ClusterUnderTest } from "#test/kube/apply/cluster-under-test.ts";

/** Manifests of the tagging function's rights, and of what holds it to them. */
export const MANIFESTS: readonly string[] = ["rbac/tagging", "admission/tagging.yaml"].map((path) =>
  fileURLToPath(new URL(`../../../infra/${path}`, import.meta.url)),
);

export const MARK = "serverless-ccm.io/tags/demo";

/** How one invocation goes. */
export interface Invocation {
  readonly reason?: EventReason;
  /** So many requests and calls of the cloud are answered before the process is killed; all without it. */
  readonly steps?: number;
  /** Nodes that the sender did not see. */
  readonly unseen?: readonly string[];
}

/** Nodes of one API server, the function as its own identity, and instances of a cloud in memory. */
export interface TagsUnderTest {
  readonly instances: Map<string, Tags>;
  /** Calls of the cloud, as `action ids`. */
  readonly calls: string[];
  configure(tags: Tags): void;
  /** A node, and its instance without tags of ours. */
  join(): Promise<{ readonly name: string; readonly id: string }>;
  remove(name: string): Promise<void>;
  labelOf(name: string): Promise<string | undefined>;
  invoke(how?: Invocation): Promise<{ readonly report: Report | undefined; readonly steps: number }>;
  reset(): Promise<void>;
}

/** Sets them up on a running API server. */
export async function startTags(cluster: ClusterUnderTest): Promise<TagsUnderTest> {
  const admin = await cluster.transport("admin");
  const api = await cluster.transport("tagging");
  const instances = new Map<string, Tags>();
  const calls: string[] = [];
  let entry = entryOf({ team: "a" });
  let made = 0;

  const ask = async (method: "GET" | "POST" | "DELETE", path: string, body?: unknown) => {
    const { status, body: text } = await admin.send({
      method,
      path,
      ...(body === undefined ? {} : { body }),
    });
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
    return JSON.parse(text);
  };
  const listed = () => ask("GET", "/api/v1/nodes");

  return {
    instances,
    calls,
    configure: (tags) => {
      entry = entryOf(tags);
    },
    async join() {
      made += 1;
      const id = `i-${String(made).padStart(17, "0")}`;
      const name = `tagged-${made}`;
      await ask("POST", "/api/v1/nodes", createNode(name, `aws:///eu-central-1a/${id}`));
      instances.set(id, { Name: name });
      return { name, id };
    },
    remove: (name) => ask("DELETE", `/api/v1/nodes/${name}`),
    labelOf: async (name) => (await ask("GET", `/api/v1/nodes/${name}`)).metadata.labels?.[TAGS_LABEL],
    async invoke({ reason = "watch", steps, unseen = [] } = {}) {
      const life = createLife(steps);
      const { metadata, items } = await listed();
      const projected = items
        .filter((node: { metadata: { name: string } }) => !unseen.includes(node.metadata.name))
        .map((node: unknown) => relatedNodes.project(node));
      const run = createControllerFunction(taggingController as unknown as Controller, {
        clusters: async () => entry,
        cloud: async () => cloudOf(instances, calls, life.step, life.landed),
        api: async () => life.transport(api),
        now: () => new Date(),
      });
      const event = {
        version: 1,
        id: "event-1",
        cluster: entry.name,
        clusterHash: entry.hash,
        controller: taggingController.name,
        reason,
        objects: [await ask("GET", "/api/v1/namespaces/kube-system")],
        related: { nodes: { resourceVersion: metadata.resourceVersion, items: projected } },
      };
      const context = { awsRequestId: "1", getRemainingTimeInMillis: () => 30_000 };
      const report = await run(event, context).catch(ignoreKilled);
      await life.over();
      return { report, steps: life.taken() };
    },
    async reset() {
      entry = entryOf({ team: "a" });
      instances.clear();
      const { items } = await listed();
      for (const { metadata } of items) await ask("DELETE", `/api/v1/nodes/${metadata.name}`);
      calls.length = 0;
    },
  };
}

/** Creates a cloud whose one capability is tags; each call is a step before it and one after it. */
function cloudOf(
  instances: Map<string, Tags>,
  calls: string[],
  step: () => Promise<void>,
  answered: () => void,
): Cloud {
  const usage = { throttled: 0, waitedMs: 0 };
  return {
    provider: "aws",
    instances: async () => ({ answers: [], usage: { ...usage, calls: {} } }),
    capabilities: {
      tags: {
        async observe(questions) {
          await step();
          const answers = questions.map((question) => {
            const { ids, mark } = question as TagsQuestion;
            const found = [...instances].filter(
              ([id, tags]) => ids.includes(id) || (mark !== undefined && mark in tags),
            );
            return { kind: "observed", state: { resources: Object.fromEntries(found) } } as const;
          });
          calls.push("look");
          return { answers, usage: { ...usage, calls: { DescribeInstances: 1 } } };
        },
        async act(action) {
          await step();
          const answer = { kind: "done", result: { refused: {} } } as const;
          carryOut(action, instances);
          calls.push(`${action.action} ${action.target}`);
          answered();
          return { answer, usage: { ...usage, calls: { [action.action]: 1 } } };
        },
      },
    },
    close: async () => {},
  };
}

function carryOut({ action, parameters }: CloudAction, instances: Map<string, Tags>): void {
  const { ids, tags } = parameters as unknown as TagParameters;
  for (const id of ids) {
    const kept = Object.entries(instances.get(id) ?? {}).filter(([key, value]) => tags[key] !== value);
    instances.set(id, { ...Object.fromEntries(kept), ...(action === TAG ? tags : {}) });
  }
}

function entryOf(tags: Tags): Cluster {
  return Cluster.parse({
    name: "tenant-a",
    server: "https://127.0.0.1",
    cloud: { provider: "aws", region: "eu-central-1", vpc: "vpc-1", clusterTag: "demo" },
    controllers: ["tagging"],
    tagging: { tags },
  });
}
