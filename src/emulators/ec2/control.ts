import * as z from "zod";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { Behaviour } from "./behaviour.ts";
import { InstanceStateName } from "./instance.ts";
import { InstanceSpec } from "./instance-spec.ts";

/** The prefix of the endpoint's own controls; no path of AWS's begins like this. */
export const CONTROL_PREFIX = "/_/";

/** A request to the controls; the body is JSON. */
export interface ControlRequest {
  readonly method: string;
  readonly path: string;
  readonly contentType: string | undefined;
  readonly body: string;
}

/** Status and JSON body. */
export interface ControlReply {
  readonly status: number;
  readonly body: unknown;
}

/** The methods of an emulated EC2 that other processes may call, as in `Ec2Server`. */
export interface ControlledEc2 {
  record(): unknown;
  counts(): unknown;
  assumedRoles(): unknown;
  addInstances(specs: readonly InstanceSpec[]): unknown;
  setState(id: string, state: InstanceStateName): void;
  remove(id: string): void;
  reveal(id: string): void;
  hide(id: string): void;
  set(behaviour: Behaviour): void;
}

/** Offers the server's methods over HTTP, for other processes. */
export function answerControl(server: ControlledEc2, request: ControlRequest): ControlReply {
  const route = `${request.method} ${request.path}`;
  if (Object.hasOwn(READS, route)) return { status: 200, body: READS[route]?.(server) };
  const write = Object.hasOwn(WRITES, route) ? WRITES[route] : undefined;
  if (write === undefined) {
    const known = [...Object.keys(READS), ...Object.keys(WRITES)].join(", ");
    return buildRefusal(404, `there is no ${route}; there are ${known}`);
  }
  // Browsers do not send this type across sites without a preflight, so no web page can reach the controls.
  if (!request.contentType?.startsWith("application/json")) {
    return buildRefusal(415, `${route} takes application/json`);
  }
  try {
    return { status: 200, body: write(server, JSON.parse(request.body)) };
  } catch (error) {
    if (error instanceof z.ZodError) return buildRefusal(400, z.prettifyError(error));
    return buildRefusal(400, getErrorMessage(error));
  }
}

const READS: Readonly<Record<string, (server: ControlledEc2) => unknown>> = {
  "GET /_/record": (server) => server.record(),
  "GET /_/counts": (server) => server.counts(),
  "GET /_/assumed-roles": (server) => server.assumedRoles(),
};

const Instances = z.strictObject({ instances: z.array(InstanceSpec) });
const Id = z.strictObject({ id: z.string() });
const State = z.strictObject({ id: z.string(), state: InstanceStateName });

const WRITES: Readonly<Record<string, (server: ControlledEc2, body: unknown) => unknown>> = {
  "POST /_/instances": (server, body) => ({
    instances: server.addInstances(Instances.parse(body).instances),
  }),
  "POST /_/state": (server, body) => {
    const { id, state } = State.parse(body);
    server.setState(id, state);
    return {};
  },
  "POST /_/remove": (server, body) => {
    server.remove(Id.parse(body).id);
    return {};
  },
  "POST /_/reveal": (server, body) => {
    server.reveal(Id.parse(body).id);
    return {};
  },
  "POST /_/hide": (server, body) => {
    server.hide(Id.parse(body).id);
    return {};
  },
  "POST /_/behaviour": (server, body) => {
    server.set(Behaviour.parse(body));
    return {};
  },
};

function buildRefusal(status: number, message: string): ControlReply {
  return { status, body: { message } };
}
