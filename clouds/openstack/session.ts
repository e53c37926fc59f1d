import * as z from "zod";
import { BaseURL } from "#clouds/base-url.ts";
import type { Api, Turn } from "#clouds/http/api.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { createSharedFlight } from "#clouds/http/shared-flight.ts";
import type { OpenStackCloudConfig } from "#clouds/openstack/kind.ts";
import { fault, ok } from "#clouds/outcome.ts";
import { messageOf } from "#core/message-of.ts";

/** What Keystone gave: a token, whose project it is for, and where the services are. */
export interface Session {
  readonly token: string;
  readonly project: string;
  readonly endpoints: Readonly<Record<Service, string>>;
}

/** The services of the catalogue that are in use, by their types. */
export type Service = "compute" | "network";

/** Signs in no more often than there is reason to. */
export interface Sessions {
  /** The session that holds; signs in where there is none. `refused` is one whose token was not accepted. Never rejects. */
  get(turn: Turn, refused?: Session): Promise<Outcome<Session>>;
}

/** What signing in takes. */
export interface SessionParts {
  /** Keystone's. */
  readonly api: Api;
  readonly config: OpenStackCloudConfig;
  /** What the body of the request says of who signs in; rejects where the secret cannot be had. */
  readonly auth: () => Promise<unknown>;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

/** A token is renewed so long before its end, … */
const MARGIN_MS = 5 * 60_000;
/** … one that lives but shortly after half of its life, … */
const SHORT_LIFE_MS = 2 * MARGIN_MS;
/** … and one of which nothing is known after an hour. */
const LIFE_MS = 60 * 60_000;

/** Whoever is refused does not try again before: Keystone locks users out that are wrong too often. */
const DENIED_PAUSE_MS = 60_000;
const PAUSE_MS = 5_000;

/** One sign-in serves all who wait for it; one that failed is remembered for a while. */
export function createSessions({ api, config, auth, now }: SessionParts): Sessions {
  let held: { readonly session: Session; readonly dueAt: number; readonly endsAt: number } | undefined;
  let failure: { readonly fault: Fault; readonly until: number } | undefined;
  let renewedAt = Number.NEGATIVE_INFINITY;

  const flight = createSharedFlight(signIn);

  async function signIn(turn: Turn): Promise<Outcome<Session>> {
    const given = await ask(api, auth, turn).catch(
      (cause): Outcome<never> => fault("Denied", `${TEMPLATE}: ${messageOf(cause)}`),
    );
    // Nobody waits for it any more, and it says nothing of the next.
    if (given.kind === "fault" && given.fault.code === "Aborted") return given;
    const session = given.kind === "fault" ? given : sessionOf(given.value, config);
    if (session.kind === "fault" || given.kind === "fault") {
      const trouble = session.kind === "fault" ? session.fault : FAILED;
      const pauseMs = trouble.code === "Denied" ? DENIED_PAUSE_MS : PAUSE_MS;
      failure = { fault: trouble, until: now() + pauseMs };
      return { kind: "fault", fault: trouble };
    }
    const life = lifeOf(given.value);
    const margin = life < SHORT_LIFE_MS ? life / 2 : MARGIN_MS;
    held = { session: session.value, dueAt: now() + life - margin, endsAt: now() + life };
    failure = undefined;
    return session;
  }

  async function renewed(turn: Turn): Promise<Outcome<Session>> {
    if (failure !== undefined && now() < failure.until) return { kind: "fault", fault: failure.fault };
    const session = await flight.join(turn);
    return session ?? fault("Aborted", `${TEMPLATE}: aborted before it was answered`);
  }

  return {
    async get(turn, refused) {
      if (refused !== undefined && refused === held?.session) {
        // Several requests are refused at a time, for the same reason.
        if (flight.isUnderWay()) return renewed(turn);
        if (now() - renewedAt < DENIED_PAUSE_MS) return ok(refused);
        renewedAt = now();
        return renewed(turn);
      }
      if (held === undefined || now() >= held.endsAt) return renewed(turn);
      if (now() < held.dueAt) return ok(held.session);
      // Until its end the last one does, should Keystone be away.
      const next = await renewed(turn);
      return next.kind === "ok" || next.fault.code === "Aborted" ? next : ok(held.session);
    },
  };
}

const TEMPLATE = "POST /v3/auth/tokens";

const FAILED: Fault = { code: "Unavailable", message: `${TEMPLATE}: it failed` };

interface Given {
  readonly token: string;
  readonly body: Token;
}

async function ask(api: Api, auth: () => Promise<unknown>, turn: Turn): Promise<Outcome<Given>> {
  const request = { method: "POST", operation: "tokens_create", template: TEMPLATE } as const;
  const answer = await api.send({ ...request, path: "/v3/auth/tokens", body: { auth: await auth() } }, turn);
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

/** By Keystone's clock alone, which need not be this machine's. */
function lifeOf({ body: { token } }: Given): number {
  const life = Date.parse(token.expires_at ?? "") - Date.parse(token.issued_at ?? "");
  return Number.isFinite(life) && life > 0 ? life : LIFE_MS;
}

function sessionOf({ token, body }: Given, config: OpenStackCloudConfig): Outcome<Session> {
  const { project, catalog = [] } = body.token;
  if (project === undefined)
    return fault("Denied", "Keystone's token is for no project; name one by tenant-id or tenant-name");
  const compute = endpointOf(catalog, "compute", config);
  const network = endpointOf(catalog, "network", config);
  if (compute.kind === "fault") return compute;
  if (network.kind === "fault") return network;
  return ok({ token, project: project.id, endpoints: { compute: compute.value, network: network.value } });
}

function endpointOf(
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
