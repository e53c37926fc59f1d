import type { Api, ApiAnswer, ApiRequest } from "#clouds/http/api.ts";
import type { CallContext } from "#clouds/http/call-context.ts";
import type { ActionOutcome } from "#clouds/http/capability-calls.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { buildInvalid, toFailure } from "#clouds/observation.ts";
import type { OciApis } from "#clouds/oci/api.ts";
import { buildRequest, RETRY_TOKEN } from "#clouds/oci/load-balancers/operations.ts";
import { writeMark } from "#clouds/oci/load-balancers/orphans/write-mark.ts";
import { isNotFound } from "#clouds/oci/read-error.ts";
import type { ActionAnswer } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";

/** Performs an action. A slow change is answered as soon as OCI accepts it. */
export async function actOnOci(
  action: CloudAction,
  apis: OciApis,
  callContext: CallContext,
): Promise<ActionOutcome> {
  const addressedRequest = buildRequest(action);
  if (addressedRequest === undefined)
    return { answer: buildInvalid(`OCI has no action ${action.action} with such parameters`) };
  const { service, request } = addressedRequest;
  const outcome = MARK_ACTIONS.test(action.action)
    ? await writeMark(apis[service], request, getMark(action), callContext)
    : await sendWithRetryToken(apis[service], request, callContext);
  if (outcome.kind === "ok") {
    const { body = null, headers } = outcome.value;
    const requestId = headers["opc-request-id"];
    const answer = { kind: "done", result: body } as const;
    return { answer, ...(requestId === undefined ? {} : { requestId }) };
  }
  const { fault } = outcome;
  const isDeleted = isNotFound(fault) && DELETIONS.test(action.action) && (await isUnreadable());
  return {
    answer: isDeleted ? { kind: "conflict", message: fault.message } : toErrorAnswer(fault, action),
  };

  /**
   * Oracle also answers "not found" if a deletion is not allowed: a readable resource exists, and for others
   * only a list proves absence.
   */
  async function isUnreadable(): Promise<boolean> {
    const operation = request.operation.replace("Delete", "Get");
    const template = request.template.replace("DELETE", "GET");
    const read = await apis[service].get({ operation, template, path: request.path }, callContext);
    return read.kind === "fault" && isNotFound(read.fault);
  }
}

/**
 * Resources that may be deleted meanwhile. For parts of a visible load balancer, "not found" means that the
 * deletion is not allowed.
 */
const DELETIONS = /:Delete(LoadBalancer|NetworkSecurityGroup)$/;

const MARK_ACTIONS = /:Mark(LoadBalancer|NetworkSecurityGroup)$/;

function getMark({ parameters: { orphaned } }: CloudAction): string | undefined {
  return typeof orphaned === "string" ? orphaned : undefined;
}

/** Maximum re-creations of one resource within a day, the lifetime of tokens. */
const MAX_RECREATIONS = 10;

/**
 * Sends a request with its retry token. Oracle remembers a token for a day, even if the resource was deleted;
 * the next token then creates it again. The order of tokens is the same for all callers, so that two attempts
 * still create one resource.
 */
async function sendWithRetryToken(
  api: Api,
  request: ApiRequest,
  callContext: CallContext,
): Promise<Outcome<ApiAnswer>> {
  const token = request.headers?.[RETRY_TOKEN];
  for (let attempt = 1; ; attempt += 1) {
    const headers =
      attempt === 1 ? request.headers : { ...request.headers, [RETRY_TOKEN]: `${token}-${attempt}` };
    const outcome = await api.send(
      { ...request, ...(headers === undefined ? {} : { headers }) },
      callContext,
    );
    const isSpent = outcome.kind === "fault" && outcome.fault.errorId === "InvalidatedRetryToken";
    if (!isSpent || token === undefined || attempt === MAX_RECREATIONS) return outcome;
  }
}

/** Converts the fault of a change: observe again, wait, or needs a fix. */
function toErrorAnswer(fault: Fault, { action }: CloudAction): ActionAnswer {
  const { meaning, errorId, message } = fault;
  const reason = errorId === undefined ? {} : { reason: errorId };
  // Network interfaces release a group some time after their load balancer is deleted.
  if (meaning === "Conflict" && action === "vcn:DeleteNetworkSecurityGroup")
    return { kind: "error", code: "Unavailable", message, ...reason };
  if (meaning === "Conflict") return { kind: "conflict", message, ...reason };
  if (meaning === "Invalid" || meaning === "Quota")
    return { kind: "error", code: "Invalid", message, ...reason };
  if (isNotFound(fault)) return { kind: "error", code: "Denied", message, ...reason };
  return { ...toFailure(fault), ...reason };
}
