import type { ClusterObject } from "#core/cluster-object.ts";
import { TAGS_LABEL } from "#core/contracts.ts";
import type { DecisionContext, DoneWrite } from "#core/controller.ts";
import type { CloudAction, Decision, Write } from "#core/decision.ts";
import type { EventReason } from "#core/event.ts";
import { applyOperations } from "#core/json-patch.ts";
import {
  type NodeTagsModel,
  TAG,
  type TagParameters,
  type Tags,
  type TagsQuestion,
} from "#core/node-tags.ts";
import type { Reason } from "#core/reason.ts";
import { DEFAULT_SETTINGS, type Settings } from "#core/settings.ts";
import { createTaggingController, type TagsAnswer } from "#core/tagging/controller.ts";
import { relatedNodes, type TaggedNode } from "#core/tagging/tagged-node.ts";

export const NOW = new Date("2026-03-01T12:00:00Z");

/** The mark lists the keys as they are. */
export const MARK = "mark";

export const model: NodeTagsModel = {
  getResource: (providerID) => /^cloud:\/\/(r-\d+)$/.exec(providerID)?.[1],
  checksum: (tags) => `sum ${JSON.stringify(tags)}`,
  mark: () => MARK,
  marked: (tags) => ({ ...tags, [MARK]: Object.keys(tags).join(" ") }),
  owned: (tags) =>
    (tags[MARK] === undefined ? [] : [MARK, ...tags[MARK].split(" ")]).filter((key) => key in tags),
};

export const controller = createTaggingController({ cloud: async () => model });
await controller.load?.("cloud");

export const namespace: ClusterObject = {
  metadata: {
    name: "kube-system",
    uid: "cluster-uid",
    resourceVersion: "1",
    creationTimestamp: NOW.toISOString(),
  },
};

/** A simulated cluster and its cloud, with faults. */
export interface TagsUnderTest {
  readonly resources: Map<string, Tags>;
  readonly nodes: Map<string, TaggedNode>;
  tags: Tags;
  /** Resources that the cloud refuses to tag. */
  readonly refused: Set<string>;
  /** The results of actions, in place of their execution. */
  failing: Reason | undefined;
  /** The results of patches of nodes. */
  readonly failingNodes: Map<string, Reason>;
  /** Nodes that are missing in every list. */
  readonly unlisted: Set<string>;
  /** Completed writes, as `action target`. */
  readonly done: string[];
  /** The questions to the cloud. */
  readonly asked: TagsQuestion[];
}

export function createWorld(tags: Tags = { team: "a" }): TagsUnderTest {
  return {
    resources: new Map(),
    nodes: new Map(),
    tags,
    refused: new Set(),
    failing: undefined,
    failingNodes: new Map(),
    unlisted: new Set(),
    done: [],
    asked: [],
  };
}

/** A node, and its resource. */
export function join(world: TagsUnderTest, number: number, ageMs = 3_600_000): TaggedNode {
  const name = `node-${number}`;
  const creationTimestamp = new Date(NOW.getTime() - ageMs).toISOString();
  const node = {
    metadata: { name, uid: `uid-${number}`, creationTimestamp, labels: {} },
    spec: { providerID: `cloud://r-${number}` },
  };
  world.nodes.set(name, node);
  world.resources.set(`r-${number}`, world.resources.get(`r-${number}`) ?? { Name: `of ${number}` });
  return node;
}

export function buildSettings(
  { tags }: Pick<TagsUnderTest, "tags">,
  more: Partial<Settings["tagging"]> = {},
): Settings {
  return {
    ...DEFAULT_SETTINGS,
    cloud: { provider: "cloud" },
    tagging: { tags, resources: ["instance"], ...more },
  };
}

export interface Pass {
  readonly reason?: EventReason;
  readonly settings?: Settings;
  readonly answer?: TagsAnswer;
  /** The number of writes before the process ends. */
  readonly steps?: number;
  /** The API server's list; by default all nodes, and no list if nodes are only counted. */
  readonly listed?: DecisionContext["listed"] | "not listed";
  readonly count?: DecisionContext["count"];
}

/**
 * One invocation: asks, decides and applies until nothing follows; undefined if the process ended earlier.
 */
export function runPass(world: TagsUnderTest, options: Pass = {}): Decision | undefined {
  const { reason = "watch", settings = buildSettings(world), steps = Number.POSITIVE_INFINITY } = options;
  const known = [...world.nodes.values()].filter(({ metadata: { name } }) => !world.unlisted.has(name));
  const items = known.map((node) => relatedNodes.project(node));
  const related = { nodes: { resourceVersion: "1", items } };
  const context = { reason, now: NOW, related, settings };
  const question = controller.buildQuestion(namespace, context);
  const ask = question !== undefined && "ask" in question ? (question.ask as TagsQuestion) : undefined;
  let answer: TagsAnswer | undefined;
  if (ask !== undefined) {
    world.asked.push(ask);
    answer = options.answer ?? { kind: "observed", state: { resources: seen(world, ask) } };
  }
  let subject = { object: namespace, answer, hint: undefined };
  const state = controller.getStateReference?.([subject], context);
  const all = [...world.nodes.values()].map((node) => relatedNodes.project(node));
  const { listed: answered = { kind: "list", items: all } } = options;
  const counted = { kind: "count", count: all.length } as const;
  const count = "count" in options || answered === "not listed" ? options.count : counted;
  const listed = state === undefined || answered === "not listed" ? undefined : answered;
  let taken = 0;
  for (let round = 0; round < 6; round += 1) {
    const plan = controller.decide([subject], { ...context, listed, count });
    const [decision] = plan.kind === "each" ? plan.decisions : [];
    if (decision?.kind !== "change") return decision;
    for (const write of decision.writes) {
      if (taken === steps) return undefined;
      taken += 1;
      subject = controller.applyResult?.(subject, carryOut(world, write)) as typeof subject;
    }
  }
  throw new Error("there is no end to it");
}

function seen(world: TagsUnderTest, { ids, mark }: TagsQuestion): Record<string, Tags> {
  const found = [...world.resources].filter(
    ([id, tags]) => ids.includes(id) || (mark !== undefined && tags[mark] !== undefined),
  );
  return Object.fromEntries(found);
}

function carryOut(world: TagsUnderTest, write: Write): DoneWrite {
  if (write.on === "cloud") return act(world, write);
  const failed = world.failingNodes.get(write.name);
  const node = world.nodes.get(write.name);
  if (failed !== undefined || node === undefined || !("patch" in write))
    return { write, result: undefined, failed: failed ?? { code: "Gone", message: "gone" } };
  world.done.push(`label ${write.name}`);
  world.nodes.set(write.name, applyOperations(node, write.patch));
  return { write, result: {} };
}

function act(world: TagsUnderTest, write: CloudAction): DoneWrite {
  if (world.failing !== undefined) return { write, result: undefined, failed: world.failing };
  const { ids, tags } = write.parameters as unknown as TagParameters;
  const refused: Record<string, string> = {};
  for (const id of ids) {
    if (world.refused.has(id)) refused[id] = "no such resource";
    else world.resources.set(id, after(world.resources.get(id) ?? {}, write.action, tags));
  }
  world.done.push(`${write.action} ${ids.join(" ")}`);
  return { write, result: { refused } };
}

function after(before: Tags, action: string, tags: Tags): Tags {
  if (action === TAG) return { ...before, ...tags };
  return Object.fromEntries(Object.entries(before).filter(([key, value]) => tags[key] !== value));
}

/** Returns whether the node's label records that its resource is tagged. */
export function isLabelled(world: TagsUnderTest, name: string): boolean {
  return world.nodes.get(name)?.metadata.labels?.[TAGS_LABEL] === model.checksum(world.tags);
}
