import {
  CreateTagsCommand,
  type CreateTagsRequest,
  DeleteTagsCommand,
  type DeleteTagsRequest,
  EC2Client,
  type Filter,
} from "@aws-sdk/client-ec2";
import { type Api, createApi } from "#clouds/aws/actions/api.ts";
import { perform } from "#clouds/aws/actions/perform.ts";
import {
  buildClusterFilters,
  countFreeFilterValues,
  describeInstances,
  type FoundInstance,
  findGap,
  isLive,
} from "#clouds/aws/describe-instances.ts";
import type { Ec2 } from "#clouds/aws/ec2.ts";
import type { Outcome } from "#clouds/aws/errors.ts";
import type { AwsCluster } from "#clouds/aws/ownership.ts";
import { isClusterInstance } from "#clouds/aws/resolution.ts";
import { type AwsDependencies, createSession, MAX_WAIT_MS, type Session } from "#clouds/aws/session.ts";
import type { ActionResult } from "#clouds/cloud.ts";
import { createInvocationShares } from "#clouds/invocation-shares.ts";
import type { ClosableCapability } from "#clouds/lazy-capability.ts";
import { ok, toFailure } from "#clouds/outcome.ts";
import type { Observation } from "#core/capability.ts";
import { splitIntoChunks } from "#core/chunks.ts";
import type { CloudAction } from "#core/decision.ts";
import {
  TAG,
  type TagParameters,
  type Tags,
  type TagsQuestion,
  type TagsResult,
  type TagsState,
  UNTAG,
} from "#core/node-tags.ts";

/** Dependencies of the tags capability: those of AWS, and read access to EC2. */
export interface TagsDependencies extends AwsDependencies {
  readonly ec2: Ec2;
}

/** Creates the tags capability for a cluster's instances. */
export function createTags({
  cluster,
  ec2,
  budget,
  sleep,
  wallClock,
  credentials,
}: TagsDependencies): ClosableCapability {
  const enter = createInvocationShares(budget);
  const api = createApi({
    ...{ region: cluster.region, credentials, wallClock },
    services: { ec2: (options) => new EC2Client(options) },
    commands: { "ec2:CreateTags": CreateTagsCommand, "ec2:DeleteTags": DeleteTagsCommand },
  });
  return {
    async observe(questions, call) {
      const session = createSession({ ec2, budget, sleep, signal: call.signal, onRequest: call.onRequest });
      const leave = enter(call);
      try {
        const answers: Observation[] = [];
        for (const question of questions)
          answers.push(await observeTags(question as TagsQuestion, session, cluster));
        return { answers, usage: session.getUsage() };
      } finally {
        leave();
      }
    },
    async act(action, call) {
      const session = createSession({
        ec2: api,
        budget,
        sleep,
        signal: call.signal,
        onRequest: call.onRequest,
        maxTokenWaitMs: MAX_WAIT_MS,
      });
      const leave = enter(call);
      try {
        return await actOnTags(action, session);
      } finally {
        leave();
      }
    },
    close: () => api.close(),
  };
}

/**
 * Reads the tags of the cluster's live instances. Instances with the tag `mark` come in pages of a thousand; others
 * are looked up 200 at a time. A partial answer is an error, because a missed instance would count as
 * missing.
 */
async function observeTags(
  { ids, mark }: TagsQuestion,
  session: Session,
  cluster: AwsCluster,
): Promise<Observation> {
  const markedInstances = await listInstances(
    [...buildClusterFilters(cluster), { Name: "tag-key", Values: [mark] }],
    session,
  );
  if (markedInstances.kind === "fault") return toFailure(markedInstances.fault);
  const markedIds = new Set(markedInstances.value.map(({ id }) => id));
  const otherIds = ids.filter((id) => !markedIds.has(id));
  const found = [...markedInstances.value];
  for (const chunk of splitIntoChunks(otherIds, countFreeFilterValues([]))) {
    const listed = await listInstances([{ Name: "instance-id", Values: chunk }], session);
    if (listed.kind === "fault") return toFailure(listed.fault);
    found.push(...listed.value);
  }
  const ownedInstances = found.filter((each) => isLive(each) && isClusterInstance(each, cluster));
  const state: TagsState = {
    resources: Object.fromEntries(ownedInstances.map((each) => [each.id, readTags(each)])),
  };
  return { kind: "observed", state };
}

async function listInstances(
  filters: readonly Filter[],
  session: Session,
): Promise<Outcome<readonly FoundInstance[]>> {
  const listing = await describeInstances(session, filters);
  if (listing.kind === "fault") return listing;
  const gap = findGap(listing.value);
  return gap === undefined ? ok(listing.value.found) : { kind: "fault", fault: gap };
}

function readTags({ instance: { Tags: tags = [] } }: FoundInstance): Tags {
  return Object.fromEntries(tags.map(({ Key: key = "", Value: value = "" }) => [key, value]));
}

/** Operations that change tags. */
const TAG_OPERATIONS: ReadonlySet<string> = new Set(["ec2:CreateTags", "ec2:DeleteTags"]);

/** Maximum requests of one action; the next observation finds the rest. */
const MAX_REQUESTS = 24;

/**
 * Adds or removes tags of instances. EC2 does nothing if it rejects one of them. The instances that its
 * message names are sent separately, otherwise the halves of the list, until the rejected ones are known.
 * Never rejects.
 */
async function actOnTags(
  { capability, action, parameters }: Pick<CloudAction, "capability" | "action" | "parameters">,
  session: Session<Api>,
): Promise<ActionResult> {
  const operation = Object.hasOwn(OPERATIONS, action) ? OPERATIONS[action] : undefined;
  if (operation === undefined) return perform({ capability, action, parameters }, TAG_OPERATIONS, session);
  const { ids, tags } = parameters as unknown as TagParameters;
  const pairs = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
  const refused: Record<string, string> = {};
  const queue: (readonly string[])[] = [ids];
  let last: ActionResult | undefined;
  for (let chunk = queue.pop(); chunk !== undefined; chunk = queue.pop()) {
    const request: CreateTagsRequest & DeleteTagsRequest = { Resources: [...chunk], Tags: pairs };
    last = await perform(
      { capability, action: operation, parameters: { ...request } },
      TAG_OPERATIONS,
      session,
    );
    const { answer } = last;
    if (answer.kind === "done") continue;
    if (answer.kind === "error" && answer.code !== "Invalid") return last;
    const [only, second] = chunk;
    if (only !== undefined && second === undefined) refused[only] = answer.message;
    else queue.push(...splitIds(chunk, answer.message));
    if (countSent(session) >= MAX_REQUESTS) return last;
  }
  const result: TagsResult = { refused };
  return { ...last, answer: { kind: "done", result }, usage: session.getUsage() };
}

const OPERATIONS: Readonly<Record<string, string>> = { [TAG]: "ec2:CreateTags", [UNTAG]: "ec2:DeleteTags" };

/** Splits ids into those that a message names and the others, or into two halves. */
function splitIds(ids: readonly string[], message: string): (readonly string[])[] {
  const words = new Set(message.match(/\bi-[0-9A-Za-z-]+/g) ?? []);
  const named = ids.filter((id) => words.has(id));
  const others = ids.filter((id) => !words.has(id));
  if (named.length > 0 && others.length > 0) return [named, others];
  const middle = Math.ceil(ids.length / 2);
  return [ids.slice(0, middle), ids.slice(middle)];
}

function countSent(session: Session<Api>): number {
  return Object.values(session.getUsage().calls).reduce((sum, calls) => sum + calls, 0);
}
