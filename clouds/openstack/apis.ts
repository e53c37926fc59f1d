import { type Api, type ApiRequest, createApi } from "#clouds/http/api.ts";
import type { Budget } from "#clouds/http/budget.ts";
import type { CallContext } from "#clouds/http/call-context.ts";
import { createHttpClient, type HttpClient } from "#clouds/http/client.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import type { Auth } from "#clouds/openstack/auth.ts";
import type { OpenStackCloudConfig } from "#clouds/openstack/config.ts";
import { readError } from "#clouds/openstack/read-error.ts";
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
