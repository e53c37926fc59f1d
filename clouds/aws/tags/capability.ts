import { CreateTagsCommand, DeleteTagsCommand, EC2Client } from "@aws-sdk/client-ec2";
import { createApi } from "#clouds/aws/actions/api.ts";
import { type AwsWorld, MAX_WAIT_MS } from "#clouds/aws/capability.ts";
import type { Ec2 } from "#clouds/aws/ec2.ts";
import { createSession } from "#clouds/aws/session.ts";
import { actOnTags } from "#clouds/aws/tags/act-on-tags.ts";
import { observeTags } from "#clouds/aws/tags/observe-tags.ts";
import { createEntrance } from "#clouds/entrance.ts";
import type { ClosableCapability } from "#clouds/loaded-capability.ts";
import type { Observation } from "#core/capability.ts";
import type { TagsQuestion } from "#core/tagging/model.ts";

/** What the tags of a cluster's instances take: its world, and EC2 as far as it changes nothing. */
export interface TagsWorld extends AwsWorld {
  readonly ec2: Ec2;
}

/** Tags of a cluster's instances. */
export function createTags({
  cluster,
  ec2,
  budget,
  sleep,
  wallClock,
  credentials,
}: TagsWorld): ClosableCapability {
  const enter = createEntrance(budget);
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
        return { answers, usage: session.usage() };
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
