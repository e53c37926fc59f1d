import type { Cloud, CloudCall } from "#clouds/cloud.ts";
import type { Cluster } from "#config/cluster.ts";
import type { Observation } from "#core/capability.ts";
import type { AskContext, Question } from "#core/controller.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { isSameJson } from "#core/json-patch.ts";
import { addUsage, type CloudUsage, NO_CLOUD_USAGE } from "#core/report.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import type { ApiObject } from "#core/watch.ts";
import type { Dependencies } from "#functions/parts/dependencies.ts";
import { buildAskContext, getQuotaShare, type Invocation } from "#functions/parts/invocation.ts";

/** The cloud's answers about the objects of a batch. */
export interface Answers {
  readonly byObject: ReadonlyMap<ApiObject, InstanceAnswer | Observation>;
  readonly usage: CloudUsage;
  readonly durationMs: number;
}

/** The answers of a cloud that was not asked. */
export const NO_ANSWERS: Answers = { byObject: new Map(), usage: NO_CLOUD_USAGE, durationMs: 0 };

/** Asks the cloud about the objects whose decisions need it, with one call per capability. Never rejects. */
export async function askCloud(
  invocation: Invocation,
  objects: readonly ApiObject[],
  context: AskContext = buildAskContext(invocation),
): Promise<Answers> {
  const { dependencies, cluster, controller, deadline } = invocation;
  const asked = objects.flatMap((object): CloudQuestion[] => {
    const question = controller.buildQuestion(object, context);
    return question === undefined ? [] : [{ object, question }];
  });
  if (asked.length === 0) return NO_ANSWERS;
  const startedAt = performance.now();
  const call = { signal: deadline.signal, share: getQuotaShare(invocation) };
  const byCapability = Map.groupBy(asked, ({ question }) => question.capability);
  const results = await Promise.all(
    [...byCapability].map(([capability, of]) => askCapability(dependencies, cluster, capability, of, call)),
  );
  const byObject = new Map(results.flatMap(({ answers }) => answers));
  const usage = results.map((result) => result.usage).reduce(addUsage, NO_CLOUD_USAGE);
  return { byObject, usage, durationMs: performance.now() - startedAt };
}

/** Whether the cloud's answer about one state of an object is valid for another state. */
export function isSameQuestion(invocation: Invocation, before: ApiObject, after: ApiObject): boolean {
  const context = buildAskContext(invocation);
  const [a, b] = [before, after].map((object) => invocation.controller.buildQuestion(object, context));
  if (a === undefined || b === undefined) return a === b;
  if (!("node" in a && "node" in b)) return isSameJson(a, b);
  // The answer is about the requested instance, not about another one that the node names now.
  return a.node.spec.providerID === b.node.spec.providerID && a.node.metadata.name === b.node.metadata.name;
}

interface CloudQuestion {
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
  asked: readonly CloudQuestion[],
  call: CloudCall,
): Promise<CapabilityAnswers> {
  const failed = (message: string): CapabilityAnswers => ({
    answers: asked.map(({ object }) => [object, { kind: "error", code: "Unavailable", message }]),
    usage: NO_CLOUD_USAGE,
  });
  try {
    const cloud = await dependencies.cloud(cluster);
    const result = await requestAnswers(cloud, capability, asked, call);
    if (result === undefined) return failed(`the cloud "${cloud.provider}" has no ${capability}`);
    const answers = asked.flatMap(({ object }, index): [ApiObject, InstanceAnswer | Observation][] => {
      const answer = result.answers[index];
      return answer === undefined ? [] : [[object, answer]];
    });
    return { answers, usage: result.usage };
  } catch (error) {
    return failed(
      `the cloud "${cluster.cloud.provider}" of cluster "${cluster.name}" cannot be used: ${getErrorMessage(error)}`,
    );
  }
}

async function requestAnswers(
  cloud: Cloud,
  capability: string,
  asked: readonly CloudQuestion[],
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
      ahead: instances.every(({ ahead }) => ahead === instances[0]?.ahead) ? instances[0]?.ahead : undefined,
      launches: instances.some(({ launches }) => launches === true),
    },
  );
}
