import type { Api, ApiAnswer, ApiRequest, Turn } from "#clouds/http/api.ts";
import type { Performed } from "#clouds/http/capability-calls.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { failureOf, invalid } from "#clouds/observation.ts";
import type { OciApis } from "#clouds/oci/api.ts";
import { RETRY_TOKEN, requestOf } from "#clouds/oci/load-balancers/operations.ts";
import { mark } from "#clouds/oci/load-balancers/orphans/mark.ts";
import { isNotFound } from "#clouds/oci/read-error.ts";
import type { ActionAnswer } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";

/** Carries an action out. What OCI takes its time for is answered as soon as it is accepted. */
export async function actOnOci(action: CloudAction, apis: OciApis, turn: Turn): Promise<Performed> {
  const addressed = requestOf(action);
  if (addressed === undefined)
    return { answer: invalid(`OCI has no action ${action.action} with such parameters`) };
  const { service, request } = addressed;
  const outcome = MARKING.test(action.action)
    ? await mark(apis[service], request, markIn(action), turn)
    : await sendInThisLife(apis[service], request, turn);
  if (outcome.kind === "ok") {
    const { body = null, headers } = outcome.value;
    const requestId = headers["opc-request-id"];
    const answer = { kind: "done", result: body } as const;
    return { answer, ...(requestId === undefined ? {} : { requestId }) };
  }
  const { fault } = outcome;
  const isToBeSought = isNotFound(fault) && WHOLE.test(action.action) && (await isUnseen());
  return {
    answer: isToBeSought ? { kind: "conflict", message: fault.message } : answerOf(fault, action),
  };

  /** Oracle says "not found" of what may not be deleted, too: what can be read is there, and of the rest only a list tells. */
  async function isUnseen(): Promise<boolean> {
    const operation = request.operation.replace("Delete", "Get");
    const template = request.template.replace("DELETE", "GET");
    const read = await apis[service].get({ operation, template, path: request.path }, turn);
    return read.kind === "fault" && isNotFound(read.fault);
  }
}

/** What may have gone meanwhile. Of what is below a load balancer that was just seen, "not found" means that it may not be deleted. */
const WHOLE = /:Delete(LoadBalancer|NetworkSecurityGroup)$/;

const MARKING = /:Mark(LoadBalancer|NetworkSecurityGroup)$/;

function markIn({ parameters: { orphaned } }: CloudAction): string | undefined {
  return typeof orphaned === "string" ? orphaned : undefined;
}

/** How often one thing is made anew within a day, for which tokens hold. */
const MAX_LIVES = 10;

/**
 * Sends a request with its token, or with the next one where what was made by that has been deleted since, which Oracle answers for a
 * day. Tokens follow one another in the same order for everybody: two attempts make one thing in each life, too.
 */
async function sendInThisLife(api: Api, request: ApiRequest, turn: Turn): Promise<Outcome<ApiAnswer>> {
  const token = request.headers?.[RETRY_TOKEN];
  for (let life = 1; ; life += 1) {
    const headers = life === 1 ? request.headers : { ...request.headers, [RETRY_TOKEN]: `${token}-${life}` };
    const outcome = await api.send({ ...request, ...(headers === undefined ? {} : { headers }) }, turn);
    const isSpent = outcome.kind === "fault" && outcome.fault.errorId === "InvalidatedRetryToken";
    if (!isSpent || token === undefined || life === MAX_LIVES) return outcome;
  }
}

/** What a fault of a change means: whether it is to be looked at again, waited for, or mended. */
function answerOf(fault: Fault, { action }: CloudAction): ActionAnswer {
  const { meaning, errorId, message } = fault;
  const reason = errorId === undefined ? {} : { reason: errorId };
  // Network interfaces let go of a group a while after their load balancer has gone.
  if (meaning === "Conflict" && action === "vcn:DeleteNetworkSecurityGroup")
    return { kind: "error", code: "Unavailable", message, ...reason };
  if (meaning === "Conflict") return { kind: "conflict", message, ...reason };
  if (meaning === "Invalid" || meaning === "Quota")
    return { kind: "error", code: "Invalid", message, ...reason };
  if (isNotFound(fault)) return { kind: "error", code: "Denied", message, ...reason };
  return { ...failureOf(fault), ...reason };
}
