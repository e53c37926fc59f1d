import type { ActionResult } from "#clouds/cloud.ts";
import type { ApiObject } from "#core/controller.ts";
import type { CloudAction } from "#core/decision.ts";
import type { Invocation } from "#functions/parts/invocation.ts";

/**
 * Writes a log line for each action sent to the cloud, whatever its result: an unanswered one may have been
 * carried out. A held-back action has no line.
 */
export function logAction(
  { dependencies, event }: Invocation,
  object: ApiObject | undefined,
  { action, target, precondition: { uid } }: CloudAction,
  { answer, usage, requestId }: ActionResult,
): void {
  // An action combined with others is counted at the first of them.
  if (answer.kind !== "done" && Object.keys(usage.calls).length === 0) return;
  const { namespace, name } = object?.metadata ?? {};
  const failure =
    answer.kind === "done"
      ? {}
      : { code: answer.kind === "conflict" ? "Conflict" : answer.code, message: answer.message };
  dependencies.log?.({
    level: answer.kind === "done" ? "info" : "warn",
    event: "CloudAction",
    cluster: event.cluster,
    controller: event.controller,
    eventId: event.id,
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    uid,
    action,
    target,
    ...(requestId === undefined ? {} : { cloudRequestId: requestId }),
    ...failure,
  });
}
