import type { Cloud, CloudCall } from "#clouds/cloud.ts";
import type { Cluster } from "#config/cluster.ts";
import type { Observation } from "#core/capability.ts";
import type { ApiObject, AskContext, Question } from "#core/controller.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { isSameJson } from "#core/json-patch.ts";
import { messageOf } from "#core/message-of.ts";
import type { CloudUsage } from "#core/report.ts";
import { addUsage, NO_CLOUD_USAGE } from "#core/usage.ts";
import type { Dependencies } from "#functions/parts/dependencies.ts";
import { askContextOf, type Invocation, shareOf } from "#functions/parts/invocation.ts";

/** What the cloud said of the objects that it was asked about. */
export interface Answers {
  readonly byObject: ReadonlyMap<ApiObject, InstanceAnswer | Observation>;
  readonly usage: CloudUsage;
  readonly durationMs: number;
}

/** The cloud was not asked about anything. */
export const NO_ANSWERS: Answers = { byObject: new Map(), usage: NO_CLOUD_USAGE, durationMs: 0 };

/** Asks the cloud about those objects whose decision depends on it, with one call a capability for all of them. Never rejects. */
export async function askCloud(
  invocation: Invocation,
  objects: readonly ApiObject[],
  context: AskContext = askContextOf(invocation),
): Promise<Answers> {
  const { dependencies, cluster, controller, deadline } = invocation;
  const asked = objects.flatMap((object): Asked[] => {
    const question = controller.asks(object, context);
    return question === undefined ? [] : [{ object, question }];
  });
  if (asked.length === 0) return NO_ANSWERS;
  const startedAt = performance.now();
  const call = { signal: deadline.signal, share: shareOf(invocation) };
  const byCapability = Map.groupBy(asked, ({ question }) => question.capability);
  const results = await Promise.all(
    [...byCapability].map(([capability, of]) => askCapability(dependencies, cluster, capability, of, call)),
  );
  const byObject = new Map(results.flatMap(({ answers }) => answers));
  const usage = results.map((result) => result.usage).reduce(addUsage, NO_CLOUD_USAGE);
  return { byObject, usage, durationMs: performance.now() - startedAt };
}

/** Whether the cloud's answer about one state of an object holds for another one of it. */
export function isSameQuestion(invocation: Invocation, before: ApiObject, after: ApiObject): boolean {
  const context = askContextOf(invocation);
  const [a, b] = [before, after].map((object) => invocation.controller.asks(object, context));
  if (a === undefined || b === undefined) return a === b;
  if (!("node" in a && "node" in b)) return isSameJson(a, b);
  // The answer is about the instance that was asked for: not about another one that the node names by now.
  return a.node.spec.providerID === b.node.spec.providerID && a.node.metadata.name === b.node.metadata.name;
}

interface Asked {
  readonly object: ApiObject;
  readonly question: Question;
}

interface CapabilityAnswers {
  readonly answers: readonly (readonly [ApiObject, InstanceAnswer | Observation])[];
  readonly usage: CloudUsage;
}

async function askCapability(
  dependencies: Dependencies,
  cluster: Cluster,
  capability: string,
  asked: readonly Asked[],
  call: CloudCall,
): Promise<CapabilityAnswers> {
  const failed = (message: string): CapabilityAnswers => ({
    answers: asked.map(({ object }) => [object, { kind: "error", code: "Unavailable", message }]),
    usage: NO_CLOUD_USAGE,
  });
  try {
    const cloud = await dependencies.cloud(cluster);
    const result = await answersOf(cloud, capability, asked, call);
    if (result === undefined) return failed(`the cloud "${cloud.provider}" has no ${capability}`);
    const answers = asked.flatMap(({ object }, index): [ApiObject, InstanceAnswer | Observation][] => {
      const answer = result.answers[index];
      return answer === undefined ? [] : [[object, answer]];
    });
    return { answers, usage: result.usage };
  } catch (error) {
    return failed(
      `the cloud "${cluster.cloud.provider}" of cluster "${cluster.name}" cannot be used: ${messageOf(error)}`,
    );
  }
}

async function answersOf(
  cloud: Cloud,
  capability: string,
  asked: readonly Asked[],
  call: CloudCall,
): Promise<
  { readonly answers: readonly (InstanceAnswer | Observation)[]; readonly usage: CloudUsage } | undefined
> {
  const questions = asked.map(({ question }) => question);
  if (capability !== "instances") {
    const asks = questions.map((question) => ("ask" in question ? question.ask : undefined));
    return cloud.capabilities?.[capability]?.observe(asks, call);
  }
  const instances = questions.filter((question) => "node" in question);
  return cloud.instances(
    instances.map(({ node }) => node),
    {
      ...call,
      control: instances.some(({ control }) => control === true),
      labels: instances.find(({ labels }) => labels !== undefined)?.labels,
    },
  );
}
