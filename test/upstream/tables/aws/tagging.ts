import * as z from "zod";
import { awsTags } from "#clouds/aws/tags/model.ts";
import type { Capability } from "#clouds/cloud.ts";
import { TAGS_LABEL } from "#core/contracts.ts";
import { TAG, type TagParameters, type Tags, type TagsQuestion } from "#core/node-tags.ts";
import { createTaggingController } from "#core/tagging/controller.ts";
import { createClusterWorld } from "#test/upstream/tables/cluster-world.ts";
import type { RecordedCases, RecordedTest } from "#test/upstream/tables/recorded-cases.ts";
import type { ComparedCase, ControllerTables } from "#test/upstream/tables/rows.ts";
import { TableNode } from "#test/upstream/tables/table-node.ts";
import {
  answerExistence,
  createInstancesCloud,
  UpstreamCloud,
} from "#test/upstream/tables/upstream-cloud.ts";

// The table of the stock controller's tagging. Upstream compares log messages. Here they say what happens to the
// instance: it is tagged, untagged, or neither. The instance's ID says how its cloud answers, as upstream.

const TESTS: readonly RecordedTest[] = [
  {
    file: "pkg/controllers/tagging/tagging_controller_test.go",
    test: "Test_NodesJoiningAndLeaving",
    loop: "testcase",
    values: { case: "testcase" },
  },
];

/** The table of tags of instances. */
export const awsTaggingTables: ControllerTables = {
  name: "aws-tagging-tables",
  tests: TESTS,
  explanations: {},
  play: playCases,
};

const TaggingCase = z.object({
  case: z.object({
    name: z.string(),
    currNode: TableNode,
    toBeTagged: z.boolean().prefault(false),
    expectedMessages: z.array(z.string()),
  }),
});

async function playCases(recorded: RecordedCases): Promise<ComparedCase[]> {
  const played: ComparedCase[] = [];
  for (const values of recorded.casesOf("Test_NodesJoiningAndLeaving")) {
    const { name, currNode, toBeTagged, expectedMessages } = TaggingCase.parse(values).case;
    const observed = toBeTagged ? await join(currNode) : await leave(currNode);
    played.push({
      test: `Test_NodesJoiningAndLeaving/${name}`,
      expected: readOutcome(expectedMessages),
      observed,
    });
  }
  return played;
}

type Outcome = "tagged" | "untagged" | "neither";

function readOutcome(messages: readonly string[]): Outcome {
  if (messages.some((message) => message.startsWith("Successfully tagged"))) return "tagged";
  return messages.some((message) => message.startsWith("Successfully untagged")) ? "untagged" : "neither";
}

/** The tags that upstream's controller is started with. */
const TAGS: Tags = { key1: "value1", key2: "value2" };

/** Longer than a young node's instance is waited for, with retries. */
const REST_SECONDS = 600;

/** Returns whether a node that joins gets its instance tagged. */
async function join(node: TableNode): Promise<Outcome> {
  // A node with the label of these tags has an instance that carries them.
  const label = TableNode.parse(node).metadata["labels"] as Tags | undefined;
  const instances = createInstances(node, label?.[TAGS_LABEL] === awsTags.checksum(TAGS));
  const world = await createTaggingWorld(instances, [node, OTHER_NODE]);
  try {
    await world.advance(REST_SECONDS);
    return instances.actions.includes(TAG) && hasTags(instances.tagsOf(node)) ? "tagged" : "neither";
  } finally {
    await world.close();
  }
}

/** Returns whether a node that leaves gets its instance untagged, which carried our tags. */
async function leave(node: TableNode): Promise<Outcome> {
  const instances = createInstances(node, true);
  const world = await createTaggingWorld(instances, [node, OTHER_NODE]);
  try {
    await world.advance(REST_SECONDS);
    world.remove("nodes", node.metadata.name);
    await world.advance(REST_SECONDS);
    const tags = instances.tagsOf(node);
    return tags === undefined || hasTags(tags) ? "neither" : "untagged";
  } finally {
    await world.close();
  }
}

/** A node that stays, because a cluster's last node tells nothing about an API server. */
const OTHER_NODE: TableNode = {
  metadata: { name: "node1" },
  spec: { providerID: "aws:///us-east-1a/i-0002" },
};

const SETTINGS = { cluster: "tenant-a", cloud: { provider: "memory" } } as Parameters<typeof awsTags.mark>[0];

interface Instances {
  readonly capability: Capability;
  tagsOf(node: TableNode): Tags | undefined;
  /** The actions on the instance of the case's node. */
  readonly actions: string[];
}

/** Creates the instances of the case's node and of the other one. A known one may carry our tags before. */
function createInstances(node: TableNode, isTagged: boolean): Instances {
  const idOf = ({ spec }: TableNode): string | undefined =>
    awsTags.getResource(String(spec?.["providerID"] ?? ""));
  const initial = isTagged ? awsTags.marked(TAGS, SETTINGS) : {};
  const ids = [node, OTHER_NODE].flatMap((each) => idOf(each) ?? []);
  const tags = new Map(ids.filter((id) => !isUnknown(id)).map((id) => [id, initial]));
  const usage = { calls: { Tags: 1 }, throttled: 0, waitedMs: 0 };
  const actions: string[] = [];
  let observations = 0;
  return {
    actions,
    tagsOf: (of) => tags.get(idOf(of) ?? ""),
    capability: {
      async observe(questions) {
        observations += 1;
        const answers = questions.map((question) => {
          const { ids: asked, mark } = question as TagsQuestion;
          const isShown = ([id, found]: [string, Tags]): boolean =>
            (asked.includes(id) || Object.hasOwn(found, mark)) && !(isLate(id) && observations <= 3);
          return {
            kind: "observed" as const,
            state: { resources: Object.fromEntries([...tags].filter(isShown)) },
          };
        });
        return { answers, usage };
      },
      async act({ action, parameters }) {
        const { ids: changed, tags: given } = parameters as unknown as TagParameters;
        if (changed.includes("i-error"))
          return { answer: { kind: "error", code: "Unavailable", message: "an error" }, usage };
        if (changed.includes(idOf(node) ?? "")) actions.push(action);
        for (const id of changed) {
          const kept = Object.entries(tags.get(id) ?? {}).filter(([key]) => !Object.hasOwn(given, key));
          tags.set(id, { ...Object.fromEntries(kept), ...(action === TAG ? given : {}) });
        }
        return { answer: { kind: "done", result: { refused: {} } }, usage };
      },
    },
  };
}

function createTaggingWorld({ capability }: Instances, nodes: readonly TableNode[]) {
  return createClusterWorld({
    controller: createTaggingController({ memory: async () => awsTags }),
    cloud: createInstancesCloud((node) => answerExistence(UpstreamCloud.parse({}), node), {
      tags: capability,
    }),
    settings: { tagging: { tags: TAGS } },
    objects: nodes.map((node) => ["nodes", node]),
  });
}

/** EC2 knows no such instance. */
function isUnknown(id: string): boolean {
  return id === "i-not-found" || id.startsWith("i-invalid-id");
}

/** EC2 shows it only to the fourth question. */
function isLate(id: string): boolean {
  return id.startsWith("i-not-found-count-3");
}

function hasTags(tags: Tags = {}): boolean {
  return Object.entries(TAGS).every(([key, value]) => tags[key] === value);
}
