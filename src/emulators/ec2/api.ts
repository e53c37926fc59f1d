import type { IncomingHttpHeaders } from "node:http";
import type { SecurityTokens } from "#emulators/ec2/credentials.ts";
import type { Action, Answer, Call } from "./action.ts";
import { type Failure, type Settings, takeFailure } from "./behaviour.ts";
import type { CallLog } from "./call-record.ts";
import { type Caller, parseAuthorization } from "./credentials.ts";
import { describeAvailabilityZones } from "./describe-availability-zones.ts";
import { describeInstanceTopology } from "./describe-instance-topology.ts";
import { describeInstances } from "./describe-instances.ts";
import { describeNetworkInterfaces } from "./describe-network-interfaces.ts";
import { describeLoadBalancers, describeSecurityGroups, describeTargetGroups } from "./describe-nothing.ts";
import { describeVpcs } from "./describe-vpcs.ts";
import { createFault, type Fault, isFault } from "./fault.ts";
import type { Inventory } from "./inventory.ts";
import { formatId } from "./names.ts";
import { FIRST_PAGE } from "./paging.ts";
import { type Parameters, parseParameters } from "./parameters.ts";
import { CLASSIC_VERSION, renderAnswer, renderFault, type Service, VERSIONS } from "./protocol.ts";
import type { QuotaMeter } from "./quotas.ts";
import { assumeRole, getCallerIdentity } from "./security-tokens.ts";
import type { Zone } from "./zone.ts";

/** The endpoint's state; everything except the settings is mutable. */
export interface ApiState {
  readonly region: string;
  readonly zones: readonly Zone[];
  readonly inventory: Inventory;
  readonly tokens: SecurityTokens;
  readonly quotas: QuotaMeter;
  readonly log: CallLog;
  settings: Settings;
}

/** A completely read request. */
export interface ApiRequest {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly requestId: string;
}

/** What is sent: a document, or the result of a planned failure. */
export type Reply =
  | {
      readonly kind: "document";
      readonly status: number;
      readonly contentType: string;
      readonly body: string;
      /** In addition to every answer's latency. */
      readonly delayMs?: number;
    }
  | { readonly kind: "truncated"; readonly body: string }
  | { readonly kind: "reset"; readonly body: string }
  | { readonly kind: "hang-up" }
  | { readonly kind: "hang" };

const ACTIONS: Readonly<Record<string, { readonly service: Service; readonly run: Action }>> = {
  DescribeInstances: { service: "ec2", run: describeInstances },
  DescribeNetworkInterfaces: { service: "ec2", run: describeNetworkInterfaces },
  DescribeAvailabilityZones: { service: "ec2", run: describeAvailabilityZones },
  DescribeInstanceTopology: { service: "ec2", run: describeInstanceTopology },
  DescribeVpcs: { service: "ec2", run: describeVpcs },
  DescribeSecurityGroups: { service: "ec2", run: describeSecurityGroups },
  DescribeLoadBalancers: { service: "elb", run: describeLoadBalancers },
  DescribeTargetGroups: { service: "elb", run: describeTargetGroups },
  AssumeRole: { service: "sts", run: assumeRole },
  GetCallerIdentity: { service: "sts", run: getCallerIdentity },
};

/** Answers one request and records it; takes tokens and planned failures on the way. */
export function answerRequest(state: ApiState, request: ApiRequest): Reply {
  const parameters = parseParameters(request.body);
  const action = parameters.text("Action") ?? "";
  const service = Object.hasOwn(ACTIONS, action)
    ? (ACTIONS[action]?.service ?? "ec2")
    : parameters.text("Version") === VERSIONS.sts
      ? "sts"
      : "ec2";
  const caller = authenticateCaller(state, request, service);
  const { failure, settings } = takeFailure(state.settings, action);
  state.settings = settings;
  const outcome = isFault(caller)
    ? caller
    : failure?.kind === "error"
      ? toFault(failure)
      : applyEmptyResult(run(state, request, parameters, action, caller), failure, parameters);
  const broken = isFault(caller) || failure?.kind === "error" ? undefined : failure;
  const reply = buildReply(service, action, outcome, broken, request.requestId);
  state.log.add({
    action,
    at: request.at,
    status:
      broken?.kind === "hang" || broken?.kind === "hang-up" ? 0 : isFault(outcome) ? outcome.status : 200,
    code: broken?.kind ?? (isFault(outcome) ? outcome.code : "OK"),
    results: isFault(outcome) || broken !== undefined ? 0 : outcome.results,
    asked: countRequested(parameters),
    accessKeyId: getAccessKeyId(request),
    account: isFault(caller) ? "" : caller.account,
    roleArn: isFault(caller) ? undefined : caller.roleArn,
  });
  return reply;
}

function authenticateCaller(state: ApiState, { headers, at }: ApiRequest, service: Service): Caller | Fault {
  const credential = parseAuthorization(headers.authorization);
  if (isFault(credential)) return credential;
  if (service === "ec2" && credential.region !== state.region) {
    const message = `Credential should be scoped to a valid region: this is ${state.region}, not ${credential.region}.`;
    return createFault("AuthFailure", message, 401);
  }
  return state.tokens.callerOf(credential.accessKeyId, at);
}

/** The order is AWS's: the action, the quota, the permission, the parameters. */
function run(
  state: ApiState,
  request: ApiRequest,
  parameters: Parameters,
  action: string,
  caller: Caller,
): Answer | Fault {
  if (action === "") return createFault("MissingAction", "The request must contain the parameter Action");
  const known = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
  if (known === undefined) {
    return createFault("InvalidAction", `The action ${action} is not valid for this web service.`);
  }
  const version = parameters.text("Version");
  const isClassic = known.service === "elb" && version === CLASSIC_VERSION;
  if (version !== VERSIONS[known.service] && !isClassic) {
    return createFault("NoSuchVersion", `The API version '${version ?? ""}' is not spoken for ${action}`);
  }
  if (!state.quotas.take(caller.account, action, parameters, state.settings.quotas, request.at)) {
    return createFault("RequestLimitExceeded", "Request limit exceeded.", 503);
  }
  if (state.settings.denied.includes(action)) return createDenial(known.service, action, caller);
  const call: Call = {
    parameters,
    headers: request.headers,
    caller,
    region: state.region,
    zones: state.zones,
    inventory: state.inventory,
    tokens: state.tokens,
    now: request.at,
  };
  return known.run(call);
}

function buildReply(
  service: Service,
  action: string,
  outcome: Answer | Fault,
  failure: Failure | undefined,
  requestId: string,
): Reply {
  const status = isFault(outcome) ? outcome.status : 200;
  const body = isFault(outcome)
    ? renderFault(service, outcome, requestId)
    : renderAnswer(service, action, outcome, requestId);
  switch (failure?.kind) {
    case "hang":
      return { kind: "hang" };
    case "hang-up":
      return { kind: "hang-up" };
    case "truncated":
    case "reset":
      return { kind: failure.kind, body };
    case "slow": {
      const delayMs = failure.delayMs ?? 1_000;
      return { kind: "document", status, contentType: "text/xml;charset=UTF-8", body, delayMs };
    }
    case "rubbish":
      return { kind: "document", status: 200, contentType: "text/html", body: RUBBISH };
    case "error":
    case "empty":
    case "empty-page":
    case undefined:
      return { kind: "document", status, contentType: "text/xml;charset=UTF-8", body };
  }
}

/** Returns the answer with an empty list; as a page it announces a next page with the whole list. */
function applyEmptyResult(
  outcome: Answer | Fault,
  failure: Failure | undefined,
  parameters: Parameters,
): Answer | Fault {
  if (failure?.kind !== "empty" && failure?.kind !== "empty-page") return outcome;
  if (isFault(outcome)) return outcome;
  const lists = Object.keys(outcome.content).filter((name) => name !== "nextToken");
  const hasPages = failure.kind === "empty-page" && parameters.list("InstanceId").length === 0;
  const none = Object.fromEntries(lists.map((name) => [name, ""]));
  return { kind: "answer", content: { ...none, ...(hasPages ? { nextToken: FIRST_PAGE } : {}) }, results: 0 };
}

/** A typical answer of a confused proxy on the way. */
const RUBBISH = "<!DOCTYPE html><html><head><title>Welcome</title><body><p>It works & it is not XML.";

function createDenial(service: Service, action: string, { account }: Caller): Fault {
  const message = `arn:aws:iam::${account}:user/local is not authorized to perform: ${service}:${action}`;
  return service === "ec2"
    ? createFault(
        "UnauthorizedOperation",
        `You are not authorized to perform this operation. User: ${message}`,
        403,
      )
    : createFault("AccessDenied", `User: ${message}`, 403);
}

function toFault({ status, code }: Failure): Fault {
  return createFault(code ?? "InternalError", "An internal error has occurred", status ?? 500);
}

function getAccessKeyId({ headers }: ApiRequest): string {
  const credential = parseAuthorization(headers.authorization);
  return isFault(credential) ? "" : credential.accessKeyId;
}

function countRequested(parameters: Parameters): number {
  const filters = parameters.structures("Filter").map((filter) => filter.list("Value").length);
  return Math.max(parameters.list("InstanceId").length, ...filters, 0);
}

/** Returns a generator of IDs in the form of a UUID. */
export function createRequestIds(): () => string {
  let last = 0;
  return () => {
    last += 1;
    return `00000000-0000-4000-8000-${formatId("", last).slice(-12)}`;
  };
}
