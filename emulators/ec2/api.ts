import type { IncomingHttpHeaders } from "node:http";
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
import { type Fault, fault, isFault } from "./fault.ts";
import type { Inventory } from "./inventory.ts";
import { idOf } from "./names.ts";
import { FIRST_PAGE } from "./paging.ts";
import { type Parameters, parseParameters } from "./parameters.ts";
import { CLASSIC_VERSION, renderAnswer, renderFault, type Service, VERSIONS } from "./protocol.ts";
import type { QuotaMeter } from "./quotas.ts";
import { assumeRole, getCallerIdentity, type SecurityTokens } from "./security-tokens.ts";
import type { Zone } from "./zone.ts";

/** What the endpoint holds; all of it but the settings has a state of its own. */
export interface ApiState {
  readonly region: string;
  readonly zones: readonly Zone[];
  readonly inventory: Inventory;
  readonly tokens: SecurityTokens;
  readonly quotas: QuotaMeter;
  readonly log: CallLog;
  settings: Settings;
}

/** A request, read to its end. */
export interface ApiRequest {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly requestId: string;
}

/** What is sent: a document, or what a failure that was asked for makes of it. */
export type Reply =
  | {
      readonly kind: "document";
      readonly status: number;
      readonly contentType: string;
      readonly body: string;
      /** Beyond what every answer takes. */
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

/** Answers one request and records it; takes tokens and failures as it goes. */
export function answerRequest(state: ApiState, request: ApiRequest): Reply {
  const parameters = parseParameters(request.body);
  const action = parameters.text("Action") ?? "";
  const service = Object.hasOwn(ACTIONS, action)
    ? (ACTIONS[action]?.service ?? "ec2")
    : parameters.text("Version") === VERSIONS.sts
      ? "sts"
      : "ec2";
  const caller = callerOf(state, request, service);
  const { failure, settings } = takeFailure(state.settings, action);
  state.settings = settings;
  const outcome = isFault(caller)
    ? caller
    : failure?.kind === "error"
      ? faultOf(failure)
      : emptied(run(state, request, parameters, action, caller), failure, parameters);
  const broken = isFault(caller) || failure?.kind === "error" ? undefined : failure;
  const reply = replyOf(service, action, outcome, broken, request.requestId);
  state.log.add({
    action,
    at: request.at,
    status:
      broken?.kind === "hang" || broken?.kind === "hang-up" ? 0 : isFault(outcome) ? outcome.status : 200,
    code: broken?.kind ?? (isFault(outcome) ? outcome.code : "OK"),
    results: isFault(outcome) || broken !== undefined ? 0 : outcome.results,
    asked: askedOf(parameters),
    accessKeyId: accessKeyIdOf(request),
    account: isFault(caller) ? "" : caller.account,
    roleArn: isFault(caller) ? undefined : caller.roleArn,
  });
  return reply;
}

function callerOf(state: ApiState, { headers, at }: ApiRequest, service: Service): Caller | Fault {
  const credential = parseAuthorization(headers.authorization);
  if (isFault(credential)) return credential;
  if (service === "ec2" && credential.region !== state.region) {
    const message = `Credential should be scoped to a valid region: this is ${state.region}, not ${credential.region}.`;
    return fault("AuthFailure", message, 401);
  }
  return state.tokens.callerOf(credential.accessKeyId, at);
}

/** The order is AWS's: what is asked for, whether the quota has room, whether it is allowed, whether it is right. */
function run(
  state: ApiState,
  request: ApiRequest,
  parameters: Parameters,
  action: string,
  caller: Caller,
): Answer | Fault {
  if (action === "") return fault("MissingAction", "The request must contain the parameter Action");
  const known = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
  if (known === undefined) {
    return fault("InvalidAction", `The action ${action} is not valid for this web service.`);
  }
  const version = parameters.text("Version");
  const isClassic = known.service === "elb" && version === CLASSIC_VERSION;
  if (version !== VERSIONS[known.service] && !isClassic) {
    return fault("NoSuchVersion", `The API version '${version ?? ""}' is not spoken for ${action}`);
  }
  if (!state.quotas.take(caller.account, action, parameters, state.settings.quotas, request.at)) {
    return fault("RequestLimitExceeded", "Request limit exceeded.", 503);
  }
  if (state.settings.denied.includes(action)) return denial(known.service, action, caller);
  const call: Call = {
    parameters,
    headers: request.headers,
    caller,
    region: state.region,
    zones: state.zones,
    placementZoneId: state.settings.placementZoneId,
    inventory: state.inventory,
    tokens: state.tokens,
    now: request.at,
  };
  return known.run(call);
}

function replyOf(
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

/** The answer without what it lists; as a page it says that there is more, which is all of it. */
function emptied(
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

/** What a proxy on the way says when it has no better idea. */
const RUBBISH = "<!DOCTYPE html><html><head><title>Welcome</title><body><p>It works & it is not XML.";

function denial(service: Service, action: string, { account }: Caller): Fault {
  const message = `arn:aws:iam::${account}:user/local is not authorized to perform: ${service}:${action}`;
  return service === "ec2"
    ? fault(
        "UnauthorizedOperation",
        `You are not authorized to perform this operation. User: ${message}`,
        403,
      )
    : fault("AccessDenied", `User: ${message}`, 403);
}

function faultOf({ status, code }: Failure): Fault {
  return fault(code ?? "InternalError", "An internal error has occurred", status ?? 500);
}

function accessKeyIdOf({ headers }: ApiRequest): string {
  const credential = parseAuthorization(headers.authorization);
  return isFault(credential) ? "" : credential.accessKeyId;
}

function askedOf(parameters: Parameters): number {
  const filters = parameters.structures("Filter").map((filter) => filter.list("Value").length);
  return Math.max(parameters.list("InstanceId").length, ...filters, 0);
}

/** Ids in the form of a UUID, one after the other. */
export function createRequestIds(): () => string {
  let last = 0;
  return () => {
    last += 1;
    return `00000000-0000-4000-8000-${idOf("", last).slice(-12)}`;
  };
}
