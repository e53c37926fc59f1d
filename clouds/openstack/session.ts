import * as z from "zod";
import { BaseURL } from "#clouds/base-url.ts";
import type { Api } from "#clouds/http/api.ts";
import type { CallContext } from "#clouds/http/call-context.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { createSharedFlight } from "#clouds/http/shared-flight.ts";
import type { OpenStackCloudConfig } from "#clouds/openstack/config.ts";
import { fault, ok } from "#clouds/outcome.ts";
import { getErrorMessage } from "#core/error-message.ts";

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
/** A token with a life up to this is renewed after half of it. */
const SHORT_LIFE_MS = 2 * MARGIN_MS;
/** A token without a known lifetime is renewed after this time. */
const LIFE_MS = 60 * 60_000;

/** Pause after a rejected sign-in: Keystone locks users out after repeated failures. */
const DENIED_PAUSE_MS = 60_000;
const PAUSE_MS = 5_000;

/** One sign-in serves all waiting callers; a failed one is cached for a while. */
export function createSessions({ api, config, auth, now }: SessionParts): Sessions {
  let held: { readonly session: Session; readonly dueAt: number; readonly endsAt: number } | undefined;
  let failure: { readonly fault: Fault; readonly until: number } | undefined;
  let renewedAt = Number.NEGATIVE_INFINITY;

  const invocation = createSharedFlight(signIn);

  async function signIn(callContext: CallContext): Promise<Outcome<Session>> {
    const given = await requestToken(api, auth, callContext).catch(
      (cause): Outcome<never> => fault("Denied", `${TEMPLATE}: ${getErrorMessage(cause)}`),
    );
    // No caller waits for it any more, and it says nothing about the next sign-in.
    if (given.kind === "fault" && given.fault.code === "Aborted") return given;
    const session = given.kind === "fault" ? given : buildSession(given.value, config);
    if (session.kind === "fault" || given.kind === "fault") {
      const trouble = session.kind === "fault" ? session.fault : FAILED;
      const pauseMs = trouble.code === "Denied" ? DENIED_PAUSE_MS : PAUSE_MS;
      failure = { fault: trouble, until: now() + pauseMs };
      return { kind: "fault", fault: trouble };
    }
    const life = getTokenLifetime(given.value);
    const margin = life < SHORT_LIFE_MS ? life / 2 : MARGIN_MS;
    held = { session: session.value, dueAt: now() + life - margin, endsAt: now() + life };
    failure = undefined;
    return session;
  }

  async function renewed(callContext: CallContext): Promise<Outcome<Session>> {
    if (failure !== undefined && now() < failure.until) return { kind: "fault", fault: failure.fault };
    const session = await invocation.join(callContext);
    return session ?? fault("Aborted", `${TEMPLATE}: aborted before it was answered`);
  }

  return {
    async get(callContext, refused) {
      if (refused !== undefined && refused === held?.session) {
        // Several requests are rejected at a time, for the same reason.
        if (invocation.isUnderWay()) return renewed(callContext);
        if (now() - renewedAt < DENIED_PAUSE_MS) return ok(refused);
        renewedAt = now();
        return renewed(callContext);
      }
      if (held === undefined || now() >= held.endsAt) return renewed(callContext);
      if (now() < held.dueAt) return ok(held.session);
      // The last session serves until its end if Keystone is unavailable.
      const next = await renewed(callContext);
      return next.kind === "ok" || next.fault.code === "Aborted" ? next : ok(held.session);
    },
  };
}

const TEMPLATE = "POST /v3/auth/tokens";

const FAILED: Fault = { code: "Unavailable", message: `${TEMPLATE}: it failed` };

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
  const life = Date.parse(token.expires_at ?? "") - Date.parse(token.issued_at ?? "");
  return Number.isFinite(life) && life > 0 ? life : LIFE_MS;
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
    const there = [...new Set(all.map((each) => `${each.interface} in ${each.region ?? "no region"}`))];
    const shown = there.slice(0, 5).join(", ").slice(0, 300) || "none";
    const message = `the catalogue has no ${type} endpoint that is ${kind} in ${region}; it has ${shown}: see region and os-endpoint-type`;
    return { kind: "fault", fault: { code: "Denied", key: "region", message } };
  }
  const url = BaseURL.safeParse(found.url);
  if (url.success) return ok(found.url.replace(/(?<!\/)\/+$/, "").replace(/\/v2\.0$/, ""));
  return fault(
    "Denied",
    `the ${type} endpoint of the catalogue cannot be used: ${url.error.issues[0]?.message}`,
  );
}
