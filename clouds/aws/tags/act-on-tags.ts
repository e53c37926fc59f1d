import type { CreateTagsRequest, DeleteTagsRequest } from "@aws-sdk/client-ec2";
import type { Api } from "#clouds/aws/actions/api.ts";
import { perform } from "#clouds/aws/actions/perform.ts";
import type { Session } from "#clouds/aws/session.ts";
import type { ActionResult } from "#clouds/cloud.ts";
import type { CloudAction } from "#core/decision.ts";
import { TAG, type TagParameters, type TagsResult, UNTAG } from "#core/tagging/model.ts";

/** Operations that change tags. */
export const TAG_OPERATIONS: ReadonlySet<string> = new Set(["ec2:CreateTags", "ec2:DeleteTags"]);

/** Maximum requests of one action; the next observation finds the rest. */
const MAX_REQUESTS = 24;

/**
 * Adds or removes tags of instances. EC2 does nothing if it rejects one of them. The instances that its
 * message names are sent separately, otherwise the halves of the list, until the rejected ones are known.
 * Never rejects.
 */
export async function actOnTags(
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
