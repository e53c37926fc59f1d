import { CreateTagsCommand, DeleteTagsCommand, EC2Client } from "@aws-sdk/client-ec2";
import { createApi } from "#clouds/aws/actions/api.ts";
import { type AwsDependencies, MAX_WAIT_MS } from "#clouds/aws/capability.ts";
import type { Ec2 } from "#clouds/aws/ec2.ts";
import { createSession } from "#clouds/aws/session.ts";
import { actOnTags } from "#clouds/aws/tags/act-on-tags.ts";
import { observeTags } from "#clouds/aws/tags/observe-tags.ts";
import { createInvocationShares } from "#clouds/invocation-shares.ts";
import type { ClosableCapability } from "#clouds/lazy-capability.ts";
import type { Observation } from "#core/capability.ts";
import type { TagsQuestion } from "#core/tagging/model.ts";

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
