import type { ClusterObject } from "#core/cluster-object.ts";
import { SERVICE_EVENT_SOURCE } from "#core/contracts.ts";
import type { AskContext, Controller } from "#core/controller.ts";
import type { CloudAction, Decision } from "#core/decision.ts";
import { change, leaveUnchanged, planEach, retry, skip, toReference } from "#core/decisions.ts";
import { selectServices } from "#core/digitalocean/exposed-service.ts";
import {
  LOAD_BALANCER_TAGS,
  TAG,
  type TagsQuestion,
  TagsState,
} from "#core/digitalocean/load-balancer-tags/state.ts";
import { formatClusterTag, tagsWatch } from "#core/digitalocean/load-balancer-tags/watch.ts";
import { NAMESPACES } from "#core/resources/resource.ts";

/** The cloud's answer about tags. */
type TagsAnswer =
  | { readonly kind: "observed"; readonly state: unknown }
  | { readonly kind: "error"; readonly code: string; readonly message: string };

/**
 * The load balancer tags controller: one request adds the cluster's tag to all load balancers of Services
 * that lack it.
 */
export const tagsController: Controller<ClusterObject, TagsAnswer> = {
  ...tagsWatch,
  eventSource: SERVICE_EVENT_SOURCE,
  buildQuestion(_, { related, settings }) {
    if (formatClusterTag(settings) === undefined) return undefined;
    const ask: TagsQuestion = {
      services: (selectServices(related) ?? []).flatMap(({ exposes, ...named }) => {
        if (exposes?.kind !== "LoadBalancer") return [];
        const { loadBalancerID } = exposes;
        return [{ ...named, ...(loadBalancerID === undefined ? {} : { loadBalancerID }) }];
      }),
    };
    // Without a load balancer there is no question.
    return ask.services.length === 0 ? undefined : { capability: LOAD_BALANCER_TAGS, ask };
  },
  decide: (batch, context) =>
    planEach(batch.map(({ object, answer }) => decideTags(object, answer, context))),
  applyResult(subject, { failed }) {
    const { answer } = subject;
    if (answer?.kind !== "observed" || failed !== undefined) return subject;
    return { ...subject, answer: { ...answer, state: { ...TagsState.parse(answer.state), lacking: [] } } };
  },
};

const UNANSWERED_SECONDS = 60;

function decideTags(
  cluster: ClusterObject,
  answer: TagsAnswer | undefined,
  { settings }: Pick<AskContext, "settings">,
): Decision {
  const reference = toReference(NAMESPACES, cluster);
  const tag = formatClusterTag(settings);
  if (tag === undefined || answer === undefined) return leaveUnchanged(reference);
  if (answer.kind === "error") {
    const { code, message } = answer;
    return retry(reference, { code, message }, UNANSWERED_SECONDS);
  }
  const state = TagsState.safeParse(answer.state).data;
  if (state === undefined) {
    const message = "the cloud's answer about load balancers' tags is invalid";
    return retry(reference, { code: "Invalid", message }, UNANSWERED_SECONDS);
  }
  const { lacking, unproven } = state;
  const action: CloudAction = {
    ...{
      on: "cloud",
      capability: LOAD_BALANCER_TAGS,
      action: TAG,
      target: tag,
      parameters: { ids: lacking },
    },
    precondition: { uid: cluster.metadata.uid, deleting: false },
  };
  const because = { code: TAG, message: `${lacking.length} load balancers lack ${tag}` };
  const adding = change(reference, lacking.length === 0 ? [] : [action], { because });
  if (adding !== undefined) return adding;
  if (unproven.length === 0) return leaveUnchanged(reference);
  const named = unproven.slice(0, MAX_NAMED).join(", ");
  const message = `${unproven.length} load balancers lack ${tag} and are named by an annotation alone, which anybody in the cluster may have written; tag those that are the cluster's: ${named}`;
  return skip(reference, { code: "TagMissing", message });
}

const MAX_NAMED = 5;
