import type { Cloud } from "#clouds/cloud.ts";
import type { Decision } from "#core/decision.ts";
import type { Event } from "#core/event.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { decideNode } from "#core/node/decide.ts";
import { parseNode } from "#core/node/snapshot.ts";
import type { Report } from "#core/report.ts";

/** The four values of one batch, as they pass through a function. */
export interface Walk {
  readonly event: Event;
  readonly answers: readonly InstanceAnswer[];
  readonly decisions: readonly Decision[];
  readonly report: Report;
}

/** Wraps a cloud and records every answer until it is taken. */
export function recordAnswers(cloud: Cloud): {
  readonly cloud: Cloud;
  readonly take: () => readonly InstanceAnswer[];
} {
  let heard: InstanceAnswer[] = [];
  return {
    cloud: {
      ...cloud,
      async instances(nodes, call) {
        const result = await cloud.instances(nodes, call);
        heard.push(...result.answers);
        return result;
      },
    },
    take: () => {
      const taken = heard;
      heard = [];
      return taken;
    },
  };
}

/**
 * Builds the walk of a batch from its recorded event, answers and report; decisions are a pure function of
 * the first two.
 */
export function buildWalk(event: Event, answers: readonly InstanceAnswer[], report: Report): Walk {
  const decisions = event.objects.flatMap((object, index) => {
    const parsed = parseNode(object);
    const context = { reason: event.reason, now: new Date() };
    return parsed.kind === "object" ? [decideNode(parsed.object, answers[index], context)] : [];
  });
  return { event, answers, decisions, report };
}
