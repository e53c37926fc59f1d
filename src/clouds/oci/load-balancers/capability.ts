import type { ActionCall } from "#clouds/cloud.ts";
import type { Api, ApiAnswer, ApiRequest } from "#clouds/http/api.ts";
import { type ActionOutcome, createCapabilityCalls } from "#clouds/http/capability-calls.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import type { ClosableCapability } from "#clouds/lazy-capability.ts";
import type { OciApis } from "#clouds/oci/api.ts";
import { listCompartments, type OciCloudConfig } from "#clouds/oci/config.ts";
import { findAddresses, type ReadInstances } from "#clouds/oci/load-balancers/observe/addresses.ts";
import { observeHoldings } from "#clouds/oci/load-balancers/observe/holdings.ts";
import { observeLoadBalancers } from "#clouds/oci/load-balancers/observe/observe.ts";
import { createReads } from "#clouds/oci/load-balancers/observe/reads.ts";
import { type ObserveContext, parseServiceQuery } from "#clouds/oci/load-balancers/observe/service-query.ts";
import { buildRequest, RETRY_TOKEN } from "#clouds/oci/load-balancers/operations.ts";
import { observeOrphans, writeMark } from "#clouds/oci/load-balancers/orphans/observe-orphans.ts";
import { isNotFound } from "#clouds/oci/read-error.ts";
import { buildInvalid, toFailure, toObservation } from "#clouds/outcome.ts";
import type { ActionAnswer } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";
import { addUsage, NO_CLOUD_USAGE } from "#core/report.ts";
import { HoldingsQuestion } from "#core/service/holdings.ts";

/** Dependencies for context and changing a cluster's load balancers. */
export interface LoadBalancerDependencies {
  readonly config: OciCloudConfig;
  /** The cluster's name, which tags contain. */
  readonly cluster: string;
  readonly apis: OciApis;
  /** Opens a call's share of the quotas, as instance requests do. */
  readonly enter: (call: ActionCall) => () => void;
  /** The cloud's own instance requests. */
  readonly instances: ReadInstances;
  /** Milliseconds since the epoch. */
  readonly wallClock: () => number;
}

/**
 * Creates the capability `loadBalancers`: load balancers and network load balancers, with their managed
 * security groups.
 */
export function createLoadBalancers({
  config,
  cluster,
  apis,
  enter,
  instances,
  wallClock,
}: LoadBalancerDependencies): ClosableCapability {
  const calls = createCapabilityCalls({ title: "OCI", enter });
  return {
    async observe(questions, call) {
      let targetUsage = NO_CLOUD_USAGE;
      const { answers, usage } = await calls.observe(questions, call, async (callContext) => {
        const context: ObserveContext = {
          ...{ cluster, wallClock, compartments: listCompartments(config), vcn: config.vcn },
          managesGroups: config.loadBalancer?.securityListManagementMode !== "None",
          reads: createReads(apis, callContext),
        };
        // This question is about the whole cluster and comes alone.
        const [ofAll] = questions.flatMap((each) => HoldingsQuestion.safeParse(each).data ?? []);
        if (ofAll !== undefined) {
          const { auditAt } = ofAll;
          const held =
            auditAt === undefined
              ? toObservation(await observeHoldings(context))
              : await observeOrphans(context, auditAt, config.loadBalancerPrefix);
          return questions.map(() => held);
        }
        const queries = questions.map((each) => parseServiceQuery(each, config));
        const validQueries = queries.filter((each) => each !== undefined);
        const targets = await findAddresses(validQueries, instances, call);
        targetUsage = targets.usage;
        return observeLoadBalancers(queries, targets.addresses, context);
      });
      return { answers, usage: addUsage(targetUsage, usage) };
    },
    act: (action, call) => calls.act(action, call, (callContext) => actOnOci(action, apis, callContext)),
    // It uses the connections of its cloud.
    close() {},
  };
}

/** Performs an action. A slow change is answered as soon as OCI accepts it. */
async function actOnOci(
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
