import * as z from "zod";
import { type Api, type ApiRequest, createApi } from "#clouds/http/api.ts";
import type { Budget } from "#clouds/http/budget.ts";
import type { ApiError } from "#clouds/http/classify.ts";
import { createHttpClient, type HttpClient } from "#clouds/http/client.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import { type ErrorCodes, findMeaning, type Outcome } from "#clouds/http/outcome.ts";
import type { Auth } from "#clouds/openstack/auth.ts";
import type { OpenStackCloudConfig } from "#clouds/openstack/config.ts";
import { createSessions, type Service, type Session, type Sessions } from "#clouds/openstack/session.ts";
import type { Sleep } from "#clouds/sleep.ts";

/** Nova and Neutron of one project, with sign-in as needed. */
export interface Apis {
  /** Returns the session, signing in if necessary; never rejects. */
  getSession(callContext: CallContext): Promise<Outcome<Session>>;
  /** Returns the body of a GET; a rejected token is replaced once. */
  get(
    service: Service,
    request: Omit<ApiRequest, "method" | "body">,
    callContext: CallContext,
  ): Promise<Outcome<unknown>>;
  close(): void;
}

/** Parts of which they are built. */
export interface ApisParts {
  readonly config: OpenStackCloudConfig;
  readonly auth: Auth;
  /** Trusted certificates of the services, as PEM. */
  readonly ca: string | undefined;
  readonly budget: Budget;
  readonly userAgent: string;
  readonly sleep: Sleep;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** Milliseconds since the epoch. */
  readonly wallClock: () => number;
  /** Random number from 0 to below 1. */
  readonly random: () => number;
}

/** Includes tags and the flavor's name in a server; Nova supports it since its release Pike. */
const NOVA_MICROVERSION = "2.47";

export function createApis(parts: ApisParts): Apis {
  const { config, auth, ca, budget, userAgent, sleep, now, wallClock, random } = parts;
  const common = { budget, readError, userAgent, sleep, wallClock, random };
  const keystone = createHttpClient(config["auth-url"].replace(/(?<!\/)\/+$/, "").replace(/\/v3$/, ""), {
    authority: ca,
  });
  const sessions: Sessions = createSessions({
    api: createApi({
      ...common,
      client: keystone,
      sign: async (_request, refused) => refused ?? { headers: {}, secrets: auth.getSecrets() },
    }),
    config,
    auth: auth.buildBody,
    now,
  });
  const services = new Map<Service, { readonly url: string; readonly client: HttpClient }>();

  /** The catalogue may later name another URL; the old connection is then closed. */
  function getClient(service: Service, { endpoints }: Session): HttpClient {
    const url = endpoints[service];
    const current = services.get(service);
    if (current?.url === url) return current.client;
    current?.client.close();
    const client = createHttpClient(url, { authority: ca });
    services.set(service, { url, client });
    return client;
  }

  function createServiceApi(service: Service, session: Session): Api {
    const version = service === "compute" ? { "x-openstack-nova-api-version": NOVA_MICROVERSION } : {};
    const signature = { headers: { "x-auth-token": session.token, ...version }, secrets: [session.token] };
    return createApi({
      ...common,
      client: getClient(service, session),
      sign: async (_request, refused) => refused ?? signature,
    });
  }

  return {
    getSession: (callContext) => sessions.get(callContext),
    async get(service, request, callContext) {
      const session = await sessions.get(callContext);
      if (session.kind === "fault") return session;
      const answer = await createServiceApi(service, session.value).get(request, callContext);
      if (answer.kind === "ok" || answer.fault.status !== 401) return answer;
      const next = await sessions.get(callContext, session.value);
      if (next.kind === "fault") return next;
      return next.value === session.value
        ? answer
        : createServiceApi(service, next.value).get(request, callContext);
    },
    close() {
      keystone.close();
      for (const { client } of services.values()) client.close();
    },
  };
}

/**
 * The names of Nova's faults. `overLimit` is a throttle: 413 from older releases and proxies, 429 from newer
 * ones.
 */
const NOVA_ERROR_CODES: ErrorCodes = {
  Throttled: new Set(["overLimit"]),
  Denied: new Set(["unauthorized", "forbidden"]),
  Invalid: new Set(["badRequest", "badMethod", "badMediaType", "notImplemented"]),
  NotFound: new Set(["itemNotFound"]),
  Conflict: new Set(["conflictingRequest"]),
  Unavailable: new Set(["computeFault", "serviceUnavailable"]),
};

/** The types of Neutron's errors for networks and ports. */
const NEUTRON_ERROR_CODES: ErrorCodes = {
  Quota: new Set(["OverQuota"]),
  Denied: new Set(["NotAuthorized", "PolicyNotAuthorized"]),
  Invalid: new Set(["InvalidInput", "HTTPBadRequest"]),
  NotFound: new Set(["NetworkNotFound", "PortNotFound"]),
  Unavailable: new Set(["ServiceUnavailable"]),
};

/** The titles of Keystone's errors, which are those of HTTP statuses. */
const KEYSTONE_ERROR_CODES: ErrorCodes = {
  Throttled: new Set(["Too Many Requests", "Request Entity Too Large"]),
  Denied: new Set(["Unauthorized", "Forbidden"]),
  Invalid: new Set(["Bad Request"]),
  NotFound: new Set(["Not Found"]),
  Conflict: new Set(["Conflict"]),
  Unavailable: new Set(["Internal Server Error", "Service Unavailable"]),
};

/** The format of Neutron's errors. */
const NeutronError = z.object({ NeutronError: z.object({ type: z.string(), message: z.string() }) });

/** The format of Keystone's errors. */
const KeystoneError = z.object({ error: z.object({ title: z.string(), message: z.string() }) });

/** The format of Nova's errors, whose key is the error's name. */
const NovaError = z.record(z.string().regex(/^[a-z][A-Za-z]+$/), z.object({ message: z.string() }));

/** Reads OpenStack's own error from the body of an answer; undefined for any other body. */
export function readError(body: unknown): ApiError | undefined {
  const neutron = NeutronError.safeParse(body).data?.NeutronError;
  if (neutron !== undefined)
    return {
      id: neutron.type,
      message: neutron.message,
      meaning: findMeaning(NEUTRON_ERROR_CODES, neutron.type),
    };
  const keystone = KeystoneError.safeParse(body).data?.error;
  if (keystone !== undefined)
    return {
      id: keystone.title,
      message: keystone.message,
      meaning: findMeaning(KEYSTONE_ERROR_CODES, keystone.title),
    };
  const [nova, ...more] = Object.entries(NovaError.safeParse(body).data ?? {});
  if (nova === undefined || more.length > 0) return undefined;
  const [id, { message }] = nova;
  return { id, message, meaning: findMeaning(NOVA_ERROR_CODES, id) };
}
