import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Observation } from "#core/capability.ts";
import { Service } from "#core/service/service.ts";
import type { Verdict } from "#core/service/validation.ts";
import { errorAnswer, type FakeAnswer } from "#emulators/digitalocean/answer.ts";
import { aWorld, type DigitalOceanWorld } from "#test/clouds/digitalocean/world.ts";

const PREFIX = "service.beta.kubernetes.io/do-loadbalancer-";
const ID = "kubernetes.digitalocean.com/load-balancer-id";
const UID = "11111111-2222-3333-4444-555555555555";
const OWN_NAME = `a${UID.replaceAll("-", "")}`.slice(0, 32);
const CERTIFICATE = "892071a0-bb95-49bc-8021-3afd67a210bf";
const REGIONAL = { type: "REGIONAL" };

let world: DigitalOceanWorld;
beforeEach(async () => {
  world = await aWorld();
});
afterEach(() => world.close());

/** A Service with annotations by what their names end in, or by their whole names. */
function aService(
  said: Readonly<Record<string, string>> = {},
  spec: object = {},
  metadata: object = {},
): Service {
  const annotations = Object.fromEntries(
    Object.entries(said).map(([name, value]) => [name.includes("/") ? name : `${PREFIX}${name}`, value]),
  );
  return Service.parse({
    metadata: {
      ...{ namespace: "default", name: "web", uid: UID, resourceVersion: "0", creationTimestamp: "" },
      ...{ annotations, ...metadata },
    },
    spec: { type: "LoadBalancer", ports: [{ protocol: "TCP", port: 443 }], ...spec },
  });
}

async function ask(
  question: unknown,
  config: Record<string, unknown> = {},
): Promise<Observation | undefined> {
  const validation = world.cloud(config).capabilities?.["serviceValidation"];
  const result = await validation?.observe([question], { signal: new AbortController().signal, share: 1 });
  return result?.answers[0];
}

async function verdictOn(
  service: Service,
  before?: Service,
  config?: Record<string, unknown>,
): Promise<Verdict> {
  const answer = await ask({ service, ...(before === undefined ? {} : { before }) }, config);
  if (answer?.kind !== "observed") throw new Error(JSON.stringify(answer));
  return answer.state as Verdict;
}

function asked(): string[] {
  return world.fake.requests.map(({ method, path }) => `${method} ${path}`);
}

describe("what goes through without a request", () => {
  test.each<[string, Service, Service?]>([
    ["no load balancer at all", aService({ type: "GLOBAL" }, { type: "ClusterIP" })],
    ["one of another class", aService({ type: "GLOBAL" }, { loadBalancerClass: "example.com/other" })],
    [
      "one that is being deleted",
      aService({ type: "GLOBAL" }, {}, { deletionTimestamp: "2026-01-01T00:00:00Z" }),
    ],
    [
      "one that is disowned",
      aService({ type: "GLOBAL", "service.kubernetes.io/do-loadbalancer-disown": "true" }),
    ],
    [
      "what was asked for before, be it wrong",
      aService({ type: "GLOBAL" }),
      aService({ type: "GLOBAL" }, { clusterIP: "10.0.0.1" }),
    ],
  ])("%s", async (_given, service, before) => {
    expect(await verdictOn(service, before)).toMatchObject({ kind: "allowed" });
    expect(asked()).toEqual([]);
  });
});

describe("what cannot be asked for is denied without a request", () => {
  test.each<[string, Service, string]>([
    ["a kind that there is not", aService({ type: "GLOBAL" }), "InvalidAnnotation"],
    ["no ports", aService({}, { ports: [] }), "NoPorts"],
    ["SCTP", aService({}, { ports: [{ protocol: "SCTP", port: 80 }] }), "UnsupportedProtocol"],
    ["TLS without a certificate", aService({ ...REGIONAL, "tls-ports": "443" }), "InvalidAnnotation"],
    ["an address of somebody's", aService({ ip: "192.0.2.1" }), "NotAllowed"],
    ["a subnet of somebody's", aService({ "subnet-uuid": CERTIFICATE }), "NotAllowed"],
    [
      "both families within",
      aService({ network: "INTERNAL", "network-stack": "DUALSTACK" }),
      "InvalidAnnotation",
    ],
    [
      "networks that are none",
      aService({}, { loadBalancerSourceRanges: ["everywhere"] }),
      "InvalidSourceRanges",
    ],
  ])("%s", async (_given, service, code) => {
    expect(await verdictOn(service)).toMatchObject({ kind: "denied", problem: { code } });
    expect(asked()).toEqual([]);
  });
});

describe("what the API is asked to look at", () => {
  test("is a new load balancer without nodes, and nothing comes of it", async () => {
    expect(await verdictOn(aService(REGIONAL), aService())).toMatchObject({ kind: "allowed" });
    expect(asked()).toEqual(["POST /v2/load_balancers"]);
    expect(world.fake.requests[0]?.body).toMatchObject({
      ...{
        validate_only: true,
        name: OWN_NAME,
        type: "REGIONAL",
        network_stack: "DUALSTACK",
        droplet_ids: [],
      },
      forwarding_rules: [{ entry_port: 443, target_port: 30_000 }],
    });
    expect(world.fake.loadBalancers.size).toBe(0);
    expect(world.fake.tags.size).toBe(0);
  });

  test("of a network load balancer it is the one that any node would do for", async () => {
    await verdictOn(aService());
    expect(world.fake.requests[0]?.body).toMatchObject({ type: "REGIONAL_NETWORK", network_stack: "IPV4" });
  });

  test("is the Service's own, where it has one, and that stays as it is", async () => {
    const own = world.fake.addLoadBalancer({ name: OWN_NAME, type: "REGIONAL", droplet_ids: [] });
    const before = structuredClone(own);
    const service = aService({ [ID]: own.id, protocol: "http" }, { ports: [{ port: 80, nodePort: 30123 }] });
    expect(await verdictOn(service)).toMatchObject({ kind: "allowed" });
    expect(asked()).toEqual([`GET /v2/load_balancers/${own.id}`, `PUT /v2/load_balancers/${own.id}`]);
    expect(world.fake.requests[1]?.body).toMatchObject({
      ...{ validate_only: true, forwarding_rules: [{ entry_protocol: "http", target_port: 30_123 }] },
    });
    expect(world.fake.loadBalancers.get(own.id)).toEqual(before);
  });

  test("is never somebody else's, whatever a Service names", async () => {
    const others = world.fake.addLoadBalancer({ tags: ["k8s:other"] });
    const verdict = await verdictOn(aService({ [ID]: others.id }), undefined, { clusterID: "7b1c" });
    expect(verdict).toMatchObject({ kind: "denied", problem: { code: "LoadBalancerForeign" } });
    expect(asked()).toEqual([`GET /v2/load_balancers/${others.id}`]);
  });

  test("is a new one where the one that it names is gone", async () => {
    expect(await verdictOn(aService({ [ID]: crypto.randomUUID() }))).toMatchObject({ kind: "allowed" });
    expect(asked()[1]).toBe("POST /v2/load_balancers");
  });
});

describe("certificates", () => {
  const certificates = (allowed: string) => ({ allow: { certificates: [allowed] } });

  test.each([
    ["by id", { "certificate-id": CERTIFICATE }],
    ["by name", { "certificate-name": "web" }],
  ])("%s are looked for, and used where the operator allows it", async (_given, said) => {
    world.fake.addCertificate({ id: CERTIFICATE, name: "web" });
    const service = aService({ ...REGIONAL, ...said });
    expect(await verdictOn(service, undefined, certificates("web"))).toMatchObject({ kind: "allowed" });
    const denied = { kind: "denied", problem: { code: "CertificateNotUsable" } };
    expect(await verdictOn(service, undefined, certificates("other"))).toMatchObject(denied);
    world.fake.certificates.clear();
    expect(await verdictOn(service, undefined, certificates("web"))).toMatchObject(denied);
  });

  test("that were renewed are the load balancer's own by now", async () => {
    const renewed = world.fake.addCertificate({ name: "web", type: "lets_encrypt" });
    const rule = {
      entry_protocol: "https",
      entry_port: 443,
      target_protocol: "http",
      target_port: 30_000,
    } as const;
    const own = world.fake.addLoadBalancer({
      ...{ name: OWN_NAME, type: "REGIONAL" },
      forwarding_rules: [{ ...rule, certificate_id: renewed.id, tls_passthrough: false }],
    });
    const service = aService({ ...REGIONAL, [ID]: own.id, "certificate-id": CERTIFICATE });
    expect(await verdictOn(service, undefined, certificates("web"))).toMatchObject({ kind: "allowed" });
  });
});

describe("what the API answers", () => {
  const at = (path: RegExp, answer: FakeAnswer): void => {
    world.fake.fault = (request) => (path.test(request.path) ? answer : undefined);
  };

  test.each<[string, FakeAnswer, object]>([
    ["nothing against it", { status: 200, body: "{}" }, { kind: "allowed" }],
    [
      "against the request",
      errorAnswer(422, "unprocessable_entity"),
      { kind: "denied", problem: { code: "LoadBalancerRefused" } },
    ],
    ["against it in general", errorAnswer(400, "bad_request"), { kind: "denied" }],
    ["of the token", errorAnswer(401, "unauthorized"), { kind: "allowed" }],
    ["of rights", errorAnswer(403, "forbidden"), { kind: "allowed" }],
    ["of the quota", errorAnswer(429, "too_many_requests"), { kind: "allowed" }],
    ["of itself", errorAnswer(500, "server_error"), { kind: "allowed" }],
    ["of itself, in a proxy's words", { status: 502, body: "<html>" }, { kind: "allowed" }],
  ])("%s", async (_given, answer, verdict) => {
    at(/load_balancers/, answer);
    expect(await verdictOn(aService())).toMatchObject(verdict);
  });

  test.each([
    ["a load balancer", { [ID]: CERTIFICATE }, /load_balancers/],
    ["a certificate", { ...REGIONAL, "certificate-id": CERTIFICATE }, /certificates/],
  ])("of %s that cannot be read says nothing of the Service", async (_given, said, path) => {
    at(path, errorAnswer(403, "forbidden"));
    expect(await verdictOn(aService(said))).toMatchObject({ kind: "allowed" });
    at(path, "destroy");
    expect(await ask({ service: aService(said) })).toMatchObject({ kind: "error", code: "Unavailable" });
  });

  test("with half of the hour's quota gone nothing is asked, as whoever writes Services spends of what all clusters have", async () => {
    const validation = world.cloud().capabilities?.["serviceValidation"];
    const call = { signal: new AbortController().signal, share: 1 };
    const left = async (remaining: number) => {
      world.fake.rateLimit = { "ratelimit-remaining": String(remaining) };
      await validation?.observe([{ service: aService() }], call);
      world.fake.requests.length = 0;
      const said = await validation?.observe([{ service: aService() }], call);
      return [said?.answers[0]?.kind, asked().length];
    };
    expect(await left(2_500)).toEqual(["observed", 1]);
    expect(await left(2_499)).toEqual(["error", 0]);
    expect(await validation?.observe([{ service: aService() }], call)).toMatchObject({
      answers: [{ kind: "error", code: "Throttled" }],
    });
    world.pass(60_000);
    expect(await left(2_600)).toEqual(["observed", 1]);
  });

  test("no answer is no verdict", async () => {
    at(/load_balancers/, "destroy");
    expect(await ask({ service: aService() })).toMatchObject({ kind: "error", code: "Unavailable" });
  });

  test("what is no question is no request, and there are no actions", async () => {
    expect(await ask({ service: 7 })).toMatchObject({ kind: "error", code: "Invalid" });
    const validation = world.cloud().capabilities?.["serviceValidation"];
    const action = {
      ...{ on: "cloud" as const, capability: "serviceValidation", action: "Make", target: "it" },
      ...{ parameters: {}, precondition: { uid: "u", deleting: false } },
    };
    const call = { signal: new AbortController().signal, share: 1 };
    expect((await validation?.act(action, call))?.answer).toMatchObject({ code: "Invalid" });
    expect(asked()).toEqual([]);
  });
});
