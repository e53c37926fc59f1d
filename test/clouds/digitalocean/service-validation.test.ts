import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Observation } from "#core/capability.ts";
import { Service } from "#core/service/service.ts";
import type { ValidationResult } from "#core/service/validation.ts";
import { buildErrorAnswer, type FakeAnswer } from "#emulators/digitalocean/answer.ts";
import { createNodeWorld, type DigitalOceanWorld } from "#test/clouds/digitalocean/world.ts";

const PREFIX = "service.beta.kubernetes.io/do-loadbalancer-";
const ID = "kubernetes.digitalocean.com/load-balancer-id";
const UID = "11111111-2222-3333-4444-555555555555";
const OWN_NAME = `a${UID.replaceAll("-", "")}`.slice(0, 32);
const CERTIFICATE = "892071a0-bb95-49bc-8021-3afd67a210bf";
const REGIONAL = { type: "REGIONAL" };

let world: DigitalOceanWorld;
beforeEach(async () => {
  world = await createNodeWorld();
});
afterEach(() => world.close());

/** Builds a Service with annotations by suffix or by full name. */
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
): Promise<ValidationResult> {
  const answer = await ask({ service, ...(before === undefined ? {} : { before }) }, config);
  if (answer?.kind !== "observed") throw new Error(JSON.stringify(answer));
  return answer.state as ValidationResult;
}

function asked(): string[] {
  return world.fake.requests.map(({ method, path }) => `${method} ${path}`);
}

describe("a Service that is accepted without a request", () => {
  test.each<[string, Service, Service?]>([
    ["a Service of another type", aService({ type: "GLOBAL" }, { type: "ClusterIP" })],
    ["a Service of another class", aService({ type: "GLOBAL" }, { loadBalancerClass: "example.com/other" })],
    [
      "a Service that is being deleted",
      aService({ type: "GLOBAL" }, {}, { deletionTimestamp: "2026-01-01T00:00:00Z" }),
    ],
    [
      "a Service with a disowned load balancer",
      aService({ type: "GLOBAL", "service.kubernetes.io/do-loadbalancer-disown": "true" }),
    ],
    [
      "an unchanged Service, even with an invalid annotation",
      aService({ type: "GLOBAL" }),
      aService({ type: "GLOBAL" }, { clusterIP: "10.0.0.1" }),
    ],
  ])("%s", async (_given, service, before) => {
    expect(await verdictOn(service, before)).toMatchObject({ kind: "allowed" });
    expect(asked()).toEqual([]);
  });
});

describe("an impossible setting is denied without a request", () => {
  test.each<[string, Service, string]>([
    ["an unknown type", aService({ type: "GLOBAL" }), "InvalidAnnotation"],
    ["no ports", aService({}, { ports: [] }), "NoPorts"],
    ["SCTP", aService({}, { ports: [{ protocol: "SCTP", port: 80 }] }), "UnsupportedProtocol"],
    ["TLS without a certificate", aService({ ...REGIONAL, "tls-ports": "443" }), "InvalidAnnotation"],
    ["a foreign address", aService({ ip: "192.0.2.1" }), "NotAllowed"],
    ["a foreign subnet", aService({ "subnet-uuid": CERTIFICATE }), "NotAllowed"],
    [
      "both IP families on an internal load balancer",
      aService({ network: "INTERNAL", "network-stack": "DUALSTACK" }),
      "InvalidAnnotation",
    ],
    ["invalid networks", aService({}, { loadBalancerSourceRanges: ["everywhere"] }), "InvalidSourceRanges"],
  ])("%s", async (_given, service, code) => {
    expect(await verdictOn(service)).toMatchObject({ kind: "denied", issue: { code } });
    expect(asked()).toEqual([]);
  });
});

describe("the dry-run request to the API", () => {
  test("is for a new load balancer without nodes, and changes nothing", async () => {
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

  test("for a network load balancer uses settings that fit any node", async () => {
    await verdictOn(aService());
    expect(world.fake.requests[0]?.body).toMatchObject({ type: "REGIONAL_NETWORK", network_stack: "IPV4" });
  });

  test("is for the Service's existing load balancer, which stays unchanged", async () => {
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

  test("is never for a foreign load balancer, whatever a Service names", async () => {
    const others = world.fake.addLoadBalancer({ tags: ["k8s:other"] });
    const verdict = await verdictOn(aService({ [ID]: others.id }), undefined, { clusterID: "7b1c" });
    expect(verdict).toMatchObject({ kind: "denied", issue: { code: "LoadBalancerForeign" } });
    expect(asked()).toEqual([`GET /v2/load_balancers/${others.id}`]);
  });

  test("is for a new one if the named one is missing", async () => {
    expect(await verdictOn(aService({ [ID]: crypto.randomUUID() }))).toMatchObject({ kind: "allowed" });
    expect(asked()[1]).toBe("POST /v2/load_balancers");
  });
});

describe("certificates", () => {
  const certificates = (allowed: string) => ({ allow: { certificates: [allowed] } });

  test.each([
    ["by id", { "certificate-id": CERTIFICATE }],
    ["by name", { "certificate-name": "web" }],
  ])("%s are looked for, and used if the operator allows it", async (_given, said) => {
    world.fake.addCertificate({ id: CERTIFICATE, name: "web" });
    const service = aService({ ...REGIONAL, ...said });
    expect(await verdictOn(service, undefined, certificates("web"))).toMatchObject({ kind: "allowed" });
    const denied = { kind: "denied", issue: { code: "CertificateNotUsable" } };
    expect(await verdictOn(service, undefined, certificates("other"))).toMatchObject(denied);
    world.fake.certificates.clear();
    expect(await verdictOn(service, undefined, certificates("web"))).toMatchObject(denied);
  });

  test("that were renewed are the load balancer's own", async () => {
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

describe("the API's answer", () => {
  const at = (path: RegExp, answer: FakeAnswer): void => {
    world.fake.fault = (request) => (path.test(request.path) ? answer : undefined);
  };

  test.each<[string, FakeAnswer, object]>([
    ["a success allows the Service", { status: 200, body: "{}" }, { kind: "allowed" }],
    [
      "422 denies the Service",
      buildErrorAnswer(422, "unprocessable_entity"),
      { kind: "denied", issue: { code: "LoadBalancerRefused" } },
    ],
    ["400 denies the Service", buildErrorAnswer(400, "bad_request"), { kind: "denied" }],
    ["401 allows the Service", buildErrorAnswer(401, "unauthorized"), { kind: "allowed" }],
    ["403 allows the Service", buildErrorAnswer(403, "forbidden"), { kind: "allowed" }],
    ["429 allows the Service", buildErrorAnswer(429, "too_many_requests"), { kind: "allowed" }],
    ["500 allows the Service", buildErrorAnswer(500, "server_error"), { kind: "allowed" }],
    ["a proxy's 502 allows the Service", { status: 502, body: "<html>" }, { kind: "allowed" }],
  ])("%s", async (_given, answer, verdict) => {
    at(/load_balancers/, answer);
    expect(await verdictOn(aService())).toMatchObject(verdict);
  });

  test.each([
    ["a load balancer", { [ID]: CERTIFICATE }, /load_balancers/],
    ["a certificate", { ...REGIONAL, "certificate-id": CERTIFICATE }, /certificates/],
  ])("an unreadable answer of %s does not deny the Service", async (_given, said, path) => {
    at(path, buildErrorAnswer(403, "forbidden"));
    expect(await verdictOn(aService(said))).toMatchObject({ kind: "allowed" });
    at(path, "destroy");
    expect(await ask({ service: aService(said) })).toMatchObject({ kind: "error", code: "Unavailable" });
  });

  test("with half of the hour's quota used no request is sent, because tenants spend a quota of all clusters", async () => {
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

  test("an error allows the Service", async () => {
    at(/load_balancers/, "destroy");
    expect(await ask({ service: aService() })).toMatchObject({ kind: "error", code: "Unavailable" });
  });

  test("an invalid question sends no request, and the capability has no actions", async () => {
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
