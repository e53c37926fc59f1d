import * as z from "zod";
import type { CallContext } from "#clouds/http/call-context.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { buildInvalid, toFailure } from "#clouds/observation.ts";
import { fault, ok } from "#clouds/outcome.ts";
import type { Cattle } from "#clouds/rancher/cattle/client.ts";
import {
  ExternalService,
  LoadBalancerService,
  Stack,
} from "#clouds/rancher/cattle/load-balancers/resources.ts";
import { PortRule } from "#clouds/rancher/cattle/load-balancers/state.ts";
import type { ActionAnswer } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";

/** Performs one action: one request to a link from Rancher. */
export async function perform(
  action: CloudAction,
  cattle: Cattle,
  callContext: CallContext,
): Promise<ActionAnswer> {
  const order = Order.safeParse({ ...action.parameters, action: action.action }).data;
  if (order === undefined) return buildInvalid(`loadBalancers has no ${action.action} with these parameters`);
  return toActionAnswer(order, await carryOut(order, cattle, callContext));
}

const url = z.string().min(1);
const name = z.string().min(1);
const stackId = z.string().min(1);

const Order = z.discriminatedUnion("action", [
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
type Order = z.output<typeof Order>;

async function carryOut(order: Order, cattle: Cattle, callContext: CallContext): Promise<Outcome<unknown>> {
  const { action } = order;
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
      return parseAnswer(await create("stack", { name: order.name, externalId: order.externalId }), Stack);
    case "CreateLoadBalancer": {
      const launchConfig = { imageUuid: `docker:${order.image}`, ports: order.ports };
      const body = { name: order.name, stackId: order.stackId, launchConfig, lbConfig: { portRules: [] } };
      return parseBalancer(await create("loadBalancerService", body));
    }
    case "CreateExternalService": {
      const body = { name: order.name, stackId: order.stackId, externalIpAddresses: [order.address] };
      return parseExternal(await create("externalService", body));
    }
    case "ActivateExternalService":
      return parseExternal(await send(order.url, "POST", {}));
    case "ActivateLoadBalancer":
      return parseBalancer(await send(order.url, "POST", {}));
    case "SetServiceLinks": {
      const serviceLinks = order.serviceIds.map((serviceId) => ({ serviceId }));
      return parseBalancer(await send(order.url, "POST", { serviceLinks }));
    }
    case "UpdateLoadBalancer":
      return parseBalancer(await send(order.url, "PUT", { lbConfig: { portRules: order.portRules } }));
    case "DeleteExternalService":
    case "DeleteLoadBalancer":
      return send(order.url, "DELETE");
  }
}

type SendResult = Awaited<ReturnType<Cattle["send"]>>;

function parseAnswer<Schema extends z.ZodType>(sent: SendResult, schema: Schema): Outcome<z.output<Schema>> {
  if (sent.kind === "fault") return sent;
  const parsed = schema.safeParse(sent.value.body);
  return parsed.success
    ? ok(parsed.data)
    : fault("Unavailable", "Rancher answered something else than what was changed");
}

function parseBalancer(sent: SendResult): Outcome<unknown> {
  const parsed = parseAnswer(sent, LoadBalancerService);
  return parsed.kind === "ok" ? ok(parsed.value.balancer) : parsed;
}

function parseExternal(sent: SendResult): Outcome<unknown> {
  const parsed = parseAnswer(sent, ExternalService);
  return parsed.kind === "ok" ? ok(parsed.value.external) : parsed;
}

function toActionAnswer({ action }: Order, outcome: Outcome<unknown>): ActionAnswer {
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
