import type { Turn } from "#clouds/http/api.ts";
import type { Performed } from "#clouds/http/capability-calls.ts";
import type { Fault } from "#clouds/http/outcome.ts";
import { failureOf, invalid } from "#clouds/observation.ts";
import type { OciApis } from "#clouds/oci/api.ts";
import { requestOf } from "#clouds/oci/load-balancers/operations.ts";
import type { ActionAnswer } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";

/** Carries an action out. What OCI takes its time for is answered as soon as it is accepted. */
export async function actOnOci(action: CloudAction, apis: OciApis, turn: Turn): Promise<Performed> {
  const addressed = requestOf(action);
  if (addressed === undefined)
    return { answer: invalid(`OCI has no action ${action.action} with such parameters`) };
  const { service, request } = addressed;
  const outcome = await apis[service].send(request, turn);
  if (outcome.kind === "ok") {
    const { body = null, headers } = outcome.value;
    const requestId = headers["opc-request-id"];
    const answer = { kind: "done", result: body } as const;
    return { answer, ...(requestId === undefined ? {} : { requestId }) };
  }
  const isGone = request.method === "DELETE" && outcome.fault.status === 404 && (await isAbsent());
  return { answer: isGone ? { kind: "done", result: null } : answerOf(outcome.fault, action) };

  /** Oracle says "not found" of what may not be deleted, too: what can be read is there. */
  async function isAbsent(): Promise<boolean> {
    if (
      !action.action.endsWith(":DeleteLoadBalancer") &&
      !action.action.endsWith(":DeleteNetworkSecurityGroup")
    )
      return true;
    const operation = request.operation.replace("Delete", "Get");
    const template = request.template.replace("DELETE", "GET");
    const read = await apis[service].get({ operation, template, path: request.path }, turn);
    return read.kind === "fault" && read.fault.status === 404;
  }
}

/** What a fault of a change means: whether it is to be looked at again, waited for, or mended. */
function answerOf(fault: Fault, { action }: CloudAction): ActionAnswer {
  const { status, errorId, message } = fault;
  const reason = errorId === undefined ? {} : { reason: errorId };
  // Network interfaces let go of a group a while after their load balancer has gone.
  if (status === 409 && action === "vcn:DeleteNetworkSecurityGroup")
    return { kind: "error", code: "Unavailable", message, ...reason };
  if (status === 409 || status === 412) return { kind: "conflict", message, ...reason };
  if (status === 400 || status === 422) return { kind: "error", code: "Invalid", message, ...reason };
  if (status === 404) return { kind: "error", code: "Denied", message, ...reason };
  return { ...failureOf(fault), ...reason };
}
