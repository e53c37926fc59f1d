import * as z from "zod";
import type { Budget } from "#clouds/http/budget.ts";
import { createCapabilityCalls } from "#clouds/http/capability-calls.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { createInvocationShares } from "#clouds/invocation-shares.ts";
import type { ClosableCapability } from "#clouds/lazy-capability.ts";
import { buildInvalid, fault, ok, toFailure, toObservation } from "#clouds/outcome.ts";
import type { Cattle } from "#clouds/rancher/cattle/client.ts";
import {
  type Environment,
  readEnvironment,
  readState,
} from "#clouds/rancher/cattle/load-balancers/observe.ts";
import {
  ExternalService,
  LoadBalancerService,
  PortRule,
  Stack,
} from "#clouds/rancher/cattle/load-balancers/state.ts";
import type { ActionAnswer, Observation } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";
import { type Holding, HoldingsQuestion } from "#core/service/holdings.ts";
import { Service } from "#core/service/service.ts";

/**
 * Creates the capability for load balancers of a Rancher 1.x environment; they spend the same quota as its
 * nodes.
 */
export function createLoadBalancers(cattle: Cattle, budget: Budget): ClosableCapability {
  const calls = createCapabilityCalls({ title: "Rancher", enter: createInvocationShares(budget) });
  return {
    observe: (questions, call) =>
      calls.observe(questions, call, (callContext) => observe(questions, cattle, callContext)),
    act: (action, call) =>
      calls.act(action, call, async (callContext) => ({
        answer: await performAction(action, cattle, callContext),
      })),
    // It uses the connections of its cloud.
    close: () => {},
  };
}

/** Facts that all Services share are read once. */
async function observe(
  questions: readonly unknown[],
  cattle: Cattle,
  callContext: CallContext,
): Promise<readonly Observation[]> {
  const parsed = questions.map((each) => Question.safeParse(each).data);
  if (parsed.every((each) => each === undefined)) return parsed.map(() => INVALID_QUESTION);
  const environment = await readEnvironment(cattle, callContext);
  if (environment.kind === "fault") return parsed.map(() => toFailure(environment.fault));
  return Promise.all(
    parsed.map(async (question): Promise<Observation> => {
      if (question === undefined) return INVALID_QUESTION;
      if ("holdings" in question) return { kind: "observed", state: listHoldings(environment.value) };
      return toObservation(await readState(question, environment.value, cattle, callContext));
    }),
  );
}

const name = z.string().min(1);

const Question = z.union([
  HoldingsQuestion,
  z.object({
    service: Service,
    wanted: z.boolean(),
    nodes: z.array(z.object({ name: z.string(), providerID: z.string().optional() })),
  }),
]);

/**
 * Lists load balancers by name only: one of Rancher 1.x records nothing else about its Service, and cannot be
 * marked.
 */
function listHoldings({ balancers }: Environment): { readonly holdings: readonly Holding[] } {
  return {
    holdings: balancers.flatMap(({ balancer: { id, name } }) => {
      const uid = /^lb-a([0-9a-f]{32})$/.exec(name)?.[1];
      return uid === undefined ? [] : [{ kind: "load balancer", id, name, uid }];
    }),
  };
}

const INVALID_QUESTION = buildInvalid("loadBalancers: the question is invalid");

/** Performs one action: one request to a link from Rancher. */
async function performAction(
  action: CloudAction,
  cattle: Cattle,
  callContext: CallContext,
): Promise<ActionAnswer> {
  const request = ActionRequest.safeParse({ ...action.parameters, action: action.action }).data;
  if (request === undefined)
    return buildInvalid(`loadBalancers has no ${action.action} with these parameters`);
  return toActionAnswer(request, await sendAction(request, cattle, callContext));
}

const url = z.string().min(1);

const stackId = z.string().min(1);

const ActionRequest = z.discriminatedUnion("action", [
  z.object({ action: z.literal("CreateStack"), name, externalId: z.string() }),
  z.object({
    action: z.literal("CreateLoadBalancer"),
    name,
    stackId,
    image: z.string(),
    ports: z.array(z.string()),
  }),
  z.object({ action: z.literal("CreateExternalService"), name, stackId, address: z.string() }),
  z.object({ action: z.literal("ActivateExternalService"), url }),
  z.object({ action: z.literal("ActivateLoadBalancer"), url }),
  z.object({ action: z.literal("SetServiceLinks"), url, serviceIds: z.array(z.string()) }),
  z.object({ action: z.literal("UpdateLoadBalancer"), url, portRules: z.array(PortRule) }),
  z.object({ action: z.literal("DeleteExternalService"), url }),
  z.object({ action: z.literal("DeleteLoadBalancer"), url }),
]);
type ActionRequest = z.output<typeof ActionRequest>;

async function sendAction(
  request: ActionRequest,
  cattle: Cattle,
  callContext: CallContext,
): Promise<Outcome<unknown>> {
  const { action } = request;
  const send = async (link: string, method: "POST" | "PUT" | "DELETE", body?: unknown) => {
    const template = `${method} ${action}`;
    return cattle.send(
      link,
      { operation: action, template, method, ...(body === undefined ? {} : { body }) },
      callContext,
    );
  };
  const create = async (type: string, body: unknown) => {
    const link = await cattle.readCollectionLink(type, callContext);
    return link.kind === "fault" ? link : send(link.value, "POST", body);
  };
  switch (action) {
    case "CreateStack":
      return parseAnswer(
        await create("stack", { name: request.name, externalId: request.externalId }),
        Stack,
      );
    case "CreateLoadBalancer": {
      const launchConfig = { imageUuid: `docker:${request.image}`, ports: request.ports };
      const body = {
        name: request.name,
        stackId: request.stackId,
        launchConfig,
        lbConfig: { portRules: [] },
      };
      return parseBalancer(await create("loadBalancerService", body));
    }
    case "CreateExternalService": {
      const body = { name: request.name, stackId: request.stackId, externalIpAddresses: [request.address] };
      return parseExternal(await create("externalService", body));
    }
    case "ActivateExternalService":
      return parseExternal(await send(request.url, "POST", {}));
    case "ActivateLoadBalancer":
      return parseBalancer(await send(request.url, "POST", {}));
    case "SetServiceLinks": {
      const serviceLinks = request.serviceIds.map((serviceId) => ({ serviceId }));
      return parseBalancer(await send(request.url, "POST", { serviceLinks }));
    }
    case "UpdateLoadBalancer":
      return parseBalancer(await send(request.url, "PUT", { lbConfig: { portRules: request.portRules } }));
    case "DeleteExternalService":
    case "DeleteLoadBalancer":
      return send(request.url, "DELETE");
  }
}

type SendResult = Awaited<ReturnType<Cattle["send"]>>;

function parseAnswer<Schema extends z.ZodType>(
  result: SendResult,
  schema: Schema,
): Outcome<z.output<Schema>> {
  if (result.kind === "fault") return result;
  const parsed = schema.safeParse(result.value.body);
  return parsed.success
    ? ok(parsed.data)
    : fault("Unavailable", "Rancher's answer is not the changed resource");
}

function parseBalancer(result: SendResult): Outcome<unknown> {
  const parsed = parseAnswer(result, LoadBalancerService);
  return parsed.kind === "ok" ? ok(parsed.value.balancer) : parsed;
}

function parseExternal(result: SendResult): Outcome<unknown> {
  const parsed = parseAnswer(result, ExternalService);
  return parsed.kind === "ok" ? ok(parsed.value.external) : parsed;
}

function toActionAnswer({ action }: ActionRequest, outcome: Outcome<unknown>): ActionAnswer {
  if (outcome.kind === "ok")
    return { kind: "done", result: action.startsWith("Delete") ? null : outcome.value };
  const { status, meaning, errorId = "", message } = outcome.fault;
  const reason = errorId === "" ? {} : { reason: errorId };
  if (action.startsWith("Delete") && status === 404) return { kind: "done", result: null };
  // An action that a resource does not offer in its state returns 405 without a code.
  if (meaning === "NotFound" || meaning === "Conflict" || status === 405)
    return { kind: "conflict", message, ...reason };
  if (meaning === "Invalid") return { kind: "error", code: "Invalid", message, ...reason };
  return { ...toFailure(outcome.fault), ...reason };
}
