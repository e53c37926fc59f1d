import { answerError } from "#clouds/aws/actions/answer-error.ts";
import type { Api } from "#clouds/aws/actions/api.ts";
import { errorOf } from "#clouds/aws/actions/error-of.ts";
import { jsonOf } from "#clouds/aws/actions/json-of.ts";
import type { Operation } from "#clouds/aws/quotas.ts";
import type { Session } from "#clouds/aws/session.ts";
import type { ActionResult } from "#clouds/cloud.ts";
import type { CloudAction } from "#core/decision.ts";

/** Of an action, what is sent. */
export type Performed = Pick<CloudAction, "capability" | "action" | "parameters">;

/**
 * Sends an action of those that `allowed` names, once: one whose answer was lost may have been carried out, and is decided on anew
 * after a new look. Never rejects.
 */
export async function perform(
  { capability, action, parameters }: Performed,
  allowed: ReadonlySet<string>,
  session: Session<Api>,
): Promise<ActionResult> {
  if (!allowed.has(action)) {
    const message = `${capability} has no action ${action}`;
    return { answer: { kind: "error", code: "Invalid", message }, usage: session.usage() };
  }
  const outcome = await session.sendOnce(operationOf(action), (api, signal) =>
    api.call(action, parameters, signal),
  );
  const usage = session.usage();
  if (outcome.kind === "ok") {
    const { $metadata } = outcome.value as { readonly $metadata?: { readonly requestId?: string } };
    return { answer: { kind: "done", result: jsonOf(outcome.value) }, usage, ...idOf($metadata?.requestId) };
  }
  const { code, message, thrown } = outcome.fault;
  if (thrown === undefined) {
    // Nothing was thrown where nothing was sent, or where it was given up.
    return { answer: { kind: "error", code: code === "Aborted" ? code : "Throttled", message }, usage };
  }
  return { answer: answerError(action, parameters, thrown), usage, ...idOf(errorOf(thrown).requestId) };
}

/** Operations of EC2 are counted by their own names. */
function operationOf(action: string): Operation {
  return (action.startsWith("ec2:") ? action.slice("ec2:".length) : action) as Operation;
}

function idOf(requestId: string | undefined): Pick<ActionResult, "requestId"> {
  return requestId === undefined ? {} : { requestId };
}
