import * as z from "zod";
import { BaseURL } from "#clouds/config-fields.ts";
import type { Api } from "#clouds/http/api.ts";
import { type CallContext, createMeteredFlight } from "#clouds/http/meter.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import type { OpenStackCloudConfig } from "#clouds/openstack/config.ts";
import { fault, ok } from "#clouds/outcome.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";

/** Keystone's answer: a token, its project, and the endpoints of the services. */
export interface Session {
  readonly token: string;
  readonly project: string;
  readonly endpoints: Readonly<Record<Service, string>>;
}

/** The types of the catalogue's services in use. */
export type Service = "compute" | "network";

/** Caches sessions and signs in only when needed. */
export interface Sessions {
  /**
   * Returns the valid session, signing in if necessary. `refused` is one whose token was rejected. Never
   * rejects.
   */
  get(callContext: CallContext, refused?: Session): Promise<Outcome<Session>>;
}

/** Inputs of a sign-in. */
export interface SessionParts {
  /** Keystone's API. */
  readonly api: Api;
  readonly config: OpenStackCloudConfig;
  /** Builds the identity part of the request body; rejects if the secret is unreadable. */
  readonly auth: () => Promise<unknown>;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}

/** A token is renewed this long before its end. */
const MARGIN_MS = 5 * 60_000;
/** A token with a lifetime up to this is renewed after half of it. */
const SHORT_LIFE_MS = 2 * MARGIN_MS;
/** A token without a known lifetime is renewed after this time. */
const LIFE_MS = 60 * 60_000;

/** Pause after a rejected sign-in: Keystone locks users out after repeated failures. */
const DENIED_PAUSE_MS = 60_000;
const PAUSE_MS = 5_000;

/** One sign-in serves all waiting callers; a failed one is cached for a while. */
export function createSessions({ api, config, auth, now }: SessionParts): Sessions {
  let current: { readonly session: Session; readonly dueAt: number; readonly endsAt: number } | undefined;
  let failure: { readonly fault: Fault; readonly until: number } | undefined;
  let renewedAt = Number.NEGATIVE_INFINITY;

  const signInCall = createMeteredFlight(signIn);

  async function signIn(callContext: CallContext): Promise<Outcome<Session>> {
    const issued = await requestToken(api, auth, callContext).catch(
      (cause): Outcome<never> => fault("Denied", `${TEMPLATE}: ${getErrorMessage(cause)}`),
    );
    // No caller waits for it any more, and it says nothing about the next sign-in.
    if (issued.kind === "fault" && issued.fault.code === "Aborted") return issued;
    const session = issued.kind === "fault" ? issued : buildSession(issued.value, config);
    if (session.kind === "fault" || issued.kind === "fault") {
      const error = session.kind === "fault" ? session.fault : SIGN_IN_FAILED;
      const pauseMs = error.code === "Denied" ? DENIED_PAUSE_MS : PAUSE_MS;
      failure = { fault: error, until: now() + pauseMs };
      return { kind: "fault", fault: error };
    }
    const lifetimeMs = getTokenLifetime(issued.value);
    const marginMs = lifetimeMs < SHORT_LIFE_MS ? lifetimeMs / 2 : MARGIN_MS;
    current = { session: session.value, dueAt: now() + lifetimeMs - marginMs, endsAt: now() + lifetimeMs };
    failure = undefined;
    return session;
  }

  async function renewSession(callContext: CallContext): Promise<Outcome<Session>> {
    if (failure !== undefined && now() < failure.until) return { kind: "fault", fault: failure.fault };
    const session = await signInCall.join(callContext);
    return session ?? fault("Aborted", `${TEMPLATE}: aborted before it was answered`);
  }

  return {
    async get(callContext, refused) {
      if (refused !== undefined && refused === current?.session) {
        // Several requests are rejected at a time, for the same reason.
        if (signInCall.isRunning()) return renewSession(callContext);
        if (now() - renewedAt < DENIED_PAUSE_MS) return ok(refused);
        renewedAt = now();
        return renewSession(callContext);
      }
      if (current === undefined || now() >= current.endsAt) return renewSession(callContext);
      if (now() < current.dueAt) return ok(current.session);
      // The last session serves until its end if Keystone is unavailable.
      const renewed = await renewSession(callContext);
      return renewed.kind === "ok" || renewed.fault.code === "Aborted" ? renewed : ok(current.session);
    },
  };
}

const TEMPLATE = "POST /v3/auth/tokens";

const SIGN_IN_FAILED: Fault = { code: "Unavailable", message: `${TEMPLATE}: the sign-in failed` };

interface IssuedToken {
  readonly token: string;
  readonly body: Token;
}

async function requestToken(
  api: Api,
  auth: () => Promise<unknown>,
  callContext: CallContext,
): Promise<Outcome<IssuedToken>> {
  const request = { method: "POST", operation: "tokens_create", template: TEMPLATE } as const;
  const answer = await api.send(
    { ...request, path: "/v3/auth/tokens", body: { auth: await auth() } },
    callContext,
  );
  if (answer.kind === "fault") return answer;
  const token = answer.value.headers["x-subject-token"];
  const parsed = Token.safeParse(answer.value.body);
  if (!parsed.success || token === undefined || !/^[\x21-\x7e]+$/.test(token))
    return fault("Unavailable", `${TEMPLATE}: the answer is not a token`);
  return ok({ token, body: parsed.data });
}

const Token = z.object({
  token: z.object({
    expires_at: z.string().optional(),
    issued_at: z.string().optional(),
    project: z.object({ id: z.string().min(1) }).optional(),
    catalog: z
      .array(
        z.object({
          type: z.string(),
          endpoints: z.array(
            z.object({ interface: z.string(), region: z.string().nullish(), url: z.string() }),
          ),
        }),
      )
      .optional(),
  }),
});
type Token = z.output<typeof Token>;

/** Uses only Keystone's clock, which may differ from this machine's. */
function getTokenLifetime({ body: { token } }: IssuedToken): number {
  const lifetimeMs = Date.parse(token.expires_at ?? "") - Date.parse(token.issued_at ?? "");
  return Number.isFinite(lifetimeMs) && lifetimeMs > 0 ? lifetimeMs : LIFE_MS;
}

function buildSession({ token, body }: IssuedToken, config: OpenStackCloudConfig): Outcome<Session> {
  const { project, catalog = [] } = body.token;
  if (project === undefined)
    return fault("Denied", "Keystone's token is for no project; name one by tenant-id or tenant-name");
  const compute = findEndpoint(catalog, "compute", config);
  const network = findEndpoint(catalog, "network", config);
  if (compute.kind === "fault") return compute;
  if (network.kind === "fault") return network;
  return ok({ token, project: project.id, endpoints: { compute: compute.value, network: network.value } });
}

function findEndpoint(
  catalog: NonNullable<Token["token"]["catalog"]>,
  type: Service,
  { region, "os-endpoint-type": kind }: OpenStackCloudConfig,
): Outcome<string> {
  const all = catalog.filter((service) => service.type === type).flatMap(({ endpoints }) => endpoints);
  const found = all.find((endpoint) => endpoint.interface === kind && endpoint.region === region);
  if (found === undefined) {
    const endpoints = [...new Set(all.map((each) => `${each.interface} in ${each.region ?? "no region"}`))];
    const examples = endpoints.slice(0, 5).join(", ").slice(0, 300) || "none";
    const message = `the catalogue has no ${type} endpoint that is ${kind} in ${region}; it has ${examples}: see region and os-endpoint-type`;
    return { kind: "fault", fault: { code: "Denied", key: "region", message } };
  }
  const url = BaseURL.safeParse(found.url);
  if (url.success) return ok(found.url.replace(/(?<!\/)\/+$/, "").replace(/\/v2\.0$/, ""));
  return fault(
    "Denied",
    `the ${type} endpoint of the catalogue cannot be used: ${url.error.issues[0]?.message}`,
  );
}
