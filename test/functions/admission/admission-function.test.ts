import { describe, expect, test } from "vitest";
import type { Cloud } from "#clouds/cloud.ts";
import { Cluster } from "#config/cluster.ts";
import type { Observation } from "#core/capability.ts";
import { createAdmissionDependencies } from "#functions/parts/admission/admission-dependencies.ts";
import { createAdmissionFunction } from "#functions/parts/admission/admission-function.ts";
import { createReadPath, signPath } from "#functions/parts/admission/signed-path.ts";
import { derivePublicKey, parsePublicKeys } from "#functions/parts/cluster-signature.ts";
import type { LogLine } from "#functions/parts/log-report.ts";
import {
  buildReview,
  buildSignedPath,
  buildUrlRequest,
  getSigningKey,
  PUBLIC_KEY,
} from "#test/functions/admission/review-builders.ts";

const cluster = Cluster.parse({
  ...{ name: "blue", server: "https://blue.invalid" },
  cloud: { provider: "digitalocean", region: "fra1", dropletTag: "k8s-workers" },
});
const SERVICE = {
  metadata: { namespace: "default", name: "web", uid: "u", creationTimestamp: null },
  spec: { type: "LoadBalancer", ports: [{ port: 80 }] },
};
const REVIEW = JSON.stringify(buildReview(SERVICE));
const PATH = buildSignedPath("blue");
const OTHER_KEY = getSigningKey();
const OLD_KEY = getSigningKey();
const KEYS = parsePublicKeys(`${PUBLIC_KEY}, ${derivePublicKey(OLD_KEY)}`);
const UNREADABLE = "the secret cannot be read";
const context = { awsRequestId: "r-1", getRemainingTimeInMillis: () => 5_000 };

/** Creates a function on a cloud with this answer, and records its requests and log. */
function given(
  answer: Observation | undefined,
  traits: { readonly isWithout?: true; readonly token?: string } = {},
) {
  const asked: unknown[] = [];
  const read: string[] = [];
  const lines: LogLine[] = [];
  const usage = { calls: {}, throttled: 0, waitedMs: 0 };
  const serviceValidation = {
    async observe(questions: readonly unknown[]) {
      asked.push(...questions);
      return { answers: answer === undefined ? [] : [answer], usage };
    },
    act: async () => ({ answer: { kind: "done" as const, result: null }, usage }),
  };
  const cloud: Cloud = {
    provider: "digitalocean",
    instances: async () => ({ answers: [], usage }),
    capabilities: traits.isWithout ? {} : { serviceValidation },
    close: () => Promise.resolve(),
  };
  const { token = "Bearer the-token" } = traits;
  const admission = createAdmissionFunction({
    readPath: createReadPath(KEYS.kind === "keys" ? KEYS.keys : []),
    async cluster(name) {
      read.push(`entry of ${name}`);
      return name === "blue" ? cluster : undefined;
    },
    async authorization({ name }) {
      read.push(`token of ${name}`);
      if (token === UNREADABLE) throw new Error(UNREADABLE);
      return token === "" ? undefined : token;
    },
    cloud: async () => cloud,
    log: (line) => void lines.push(line),
  });
  const send = async (event: unknown) => {
    const { statusCode, body } = await admission(event, context);
    return { statusCode, body: JSON.parse(body) };
  };
  return { send, asked, read, lines };
}

const ALLOWED: Observation = { kind: "observed", state: { kind: "allowed", because: "so" } };

describe("the request", () => {
  test.each<[string, unknown, number]>([
    ["no request", { hello: "world" }, 400],
    ["another path", buildUrlRequest("/", REVIEW), 404],
    ["no cluster", buildUrlRequest("/lb-service", REVIEW), 404],
    ["a path within", buildUrlRequest("/lb-service/blue/../green", REVIEW), 404],
    ["a path below", buildUrlRequest(`${PATH}/more`, REVIEW), 404],
    ["another method", buildUrlRequest(PATH, REVIEW, { requestContext: { http: { method: "GET" } } }), 405],
    ["no token", buildUrlRequest(PATH, REVIEW, { headers: {} }), 401],
    ["another token", buildUrlRequest(PATH, REVIEW, { headers: { authorization: "Bearer other" } }), 401],
    ["half a token", buildUrlRequest(PATH, REVIEW, { headers: { authorization: "Bearer the-toke" } }), 401],
    ["an unknown cluster", buildUrlRequest(buildSignedPath("green"), REVIEW), 401],
    ["no JSON", buildUrlRequest(PATH, "{"), 400],
    ["no review", buildUrlRequest(PATH, "{}"), 400],
    [
      "a review of an earlier version",
      buildUrlRequest(PATH, REVIEW.replace("k8s.io/v1", "k8s.io/v1beta1")),
      400,
    ],
    ["an invalid Service", buildUrlRequest(PATH, JSON.stringify(buildReview(7))), 400],
    [
      "a review of something else",
      buildUrlRequest(PATH, REVIEW.replace('"kind":"Service"', '"kind":"Pod"')),
      400,
    ],
    ["too much", buildUrlRequest(PATH, REVIEW + " ".repeat(4 * 1024 * 1024)), 400],
  ])("%s gets %3$i without a verdict, and no cloud request is made", async (_given, event, status) => {
    const { send, asked } = given(ALLOWED);
    const { statusCode, body } = await send(event);
    expect(statusCode).toBe(status);
    expect(body.response).toBeUndefined();
    expect(asked).toEqual([]);
  });

  const signature = (path: string): string => path.split("/").at(-1) ?? "";
  test.each([
    ["no signature", "/lb-service/NAME"],
    ["an empty signature", "/lb-service/NAME/"],
    ["an invalid signature", `/lb-service/NAME/${"A".repeat(86)}`],
    ["half of a signature", `/lb-service/NAME/${signature(PATH).slice(0, 43)}`],
    ["the signature of another cluster", `/lb-service/NAME/${signature(buildSignedPath("red"))}`],
    ["a signature by another key", `/lb-service/NAME/${signature(signPath("blue", OTHER_KEY))}`],
    ["a name as long as names are", `/lb-service/${"n".repeat(253)}/${signature(PATH)}`],
  ])("%s: nothing is read, and known and unknown clusters are answered alike", async (_, path) => {
    const { send, asked, read } = given(ALLOWED);
    const known = await send(buildUrlRequest(path.replace("NAME", "blue"), REVIEW));
    const unknown = await send(buildUrlRequest(path.replace("NAME", "green"), REVIEW));
    expect(known.statusCode).toBe(401);
    expect(unknown).toEqual(known);
    expect([asked, read]).toEqual([[], []]);
  });

  test("a signed path with another token reads the entry and the token of that cluster, and answers as one that is not signed", async () => {
    const { send, asked, read } = given(ALLOWED);
    const other = await send(buildUrlRequest(PATH, REVIEW, { headers: { authorization: "Bearer other" } }));
    expect(read).toEqual(["entry of blue", "token of blue"]);
    expect(other).toEqual(await send(buildUrlRequest("/lb-service/green", REVIEW)));
    expect(asked).toEqual([]);
  });

  test("opens for paths signed by each of two keys, while one is replaced", async () => {
    const { send } = given(ALLOWED);
    for (const path of [PATH, signPath("blue", OLD_KEY)])
      expect((await send(buildUrlRequest(path, REVIEW))).statusCode).toBe(200);
  });

  test("logs once that unsigned paths are requested, however often that happens", async () => {
    const { send, lines } = given(ALLOWED);
    for (let index = 0; index < 50; index += 1) await send(buildUrlRequest(`/lb-service/c${index}`, REVIEW));
    expect(lines).toMatchObject([{ level: "warn", event: "UnsignedPath", cluster: "c0" }]);
  });

  test("rejects every token, also an empty one, for a cluster without a configured token", async () => {
    for (const authorization of ["", "Bearer ", "undefined"]) {
      const { send } = given(ALLOWED, { token: "" });
      expect((await send(buildUrlRequest(PATH, REVIEW, { headers: { authorization } }))).statusCode).toBe(
        401,
      );
    }
  });

  test("logs an unreadable token, and answers as for an unknown cluster", async () => {
    const { send, lines } = given(ALLOWED, { token: UNREADABLE });
    const unknown = await send(buildUrlRequest(buildSignedPath("green"), REVIEW));
    expect(lines).toEqual([]);
    expect(await send(buildUrlRequest(PATH, REVIEW))).toEqual(unknown);
    expect(lines).toMatchObject([{ event: "ReviewFailed", cluster: "blue", message: UNREADABLE }]);
  });

  test("opens for a body in base64, too", async () => {
    const { send, asked } = given(ALLOWED);
    const body = Buffer.from(REVIEW).toString("base64");
    expect((await send(buildUrlRequest(PATH, body, { isBase64Encoded: true }))).statusCode).toBe(200);
    expect(asked).toMatchObject([{ service: { metadata: { name: "web" } } }]);
  });
});

describe("the verdict", () => {
  const uid = buildReview(SERVICE).request.uid;

  test("of a Service and of what it was before is the cloud's", async () => {
    const { send, asked } = given(ALLOWED);
    const review = buildReview(SERVICE, { operation: "UPDATE", oldObject: SERVICE });
    expect(await send(buildUrlRequest(PATH, JSON.stringify(review)))).toEqual({
      statusCode: 200,
      body: { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: { uid, allowed: true } },
    });
    expect(asked).toMatchObject([
      { service: { metadata: { name: "web" } }, before: { metadata: { name: "web" } } },
    ]);
  });

  test("against it is a sentence of the catalogue; only the log has the cloud's message", async () => {
    const issue = { code: "LoadBalancerRefused", detail: "account 4711 has 10 of 10" };
    const { send, lines } = given({ kind: "observed", state: { kind: "denied", issue } });
    const { statusCode, body } = await send(buildUrlRequest(PATH, REVIEW));
    expect(statusCode).toBe(200);
    expect(body.response).toEqual({
      ...{ uid, allowed: false },
      status: {
        code: 422,
        reason: "Invalid",
        message: expect.stringContaining("cannot be created or changed"),
      },
    });
    expect(JSON.stringify(body)).not.toContain("4711");
    expect(lines).toMatchObject([{ event: "ServiceDenied", code: issue.code, message: issue.detail }]);
  });

  test("names the annotation, and what it says", async () => {
    const annotations = { "service.beta.kubernetes.io/do-loadbalancer-type": "GLOBAL" };
    const [field = ""] = Object.keys(annotations);
    const issue = { code: "InvalidAnnotation", field, value: "GLOBAL", allowed: "REGIONAL" };
    const { send } = given({ kind: "observed", state: { kind: "denied", issue } });
    const service = { ...SERVICE, metadata: { ...SERVICE.metadata, annotations } };
    const { body } = await send(buildUrlRequest(PATH, JSON.stringify(buildReview(service))));
    expect(body.response.status.message).toBe(`The annotation ${field} is "GLOBAL"; allowed: REGIONAL`);
  });

  test("is positive on a cloud without load balancers", async () => {
    const { send } = given(ALLOWED, { isWithout: true });
    expect((await send(buildUrlRequest(PATH, REVIEW))).body.response.allowed).toBe(true);
  });

  test("is positive without quota for the request", async () => {
    const { send } = given({ kind: "error", code: "Throttled", message: "spent" });
    expect((await send(buildUrlRequest(PATH, REVIEW))).body.response.allowed).toBe(true);
  });

  test.each<[string, Observation | undefined]>([
    ["does not answer", { kind: "error", code: "Unavailable", message: "ECONNRESET 10.0.0.7" }],
    ["says nothing", undefined],
    ["gives an unknown answer", { kind: "observed", state: 7 }],
  ])("is missing if the cloud %s", async (_given, answer) => {
    const { send, lines } = given(answer);
    const { statusCode, body } = await send(buildUrlRequest(PATH, REVIEW));
    expect([statusCode, body.response]).toEqual([500, undefined]);
    expect(JSON.stringify(body)).not.toContain("10.0.0.7");
    expect(lines).toHaveLength(1);
  });
});

describe("the deployed function's public keys", () => {
  test.each<[string, string | undefined, string]>([
    ["are missing", undefined, "names no public key"],
    ["are empty", " , ", "names no public key"],
    ["are no keys", "secret", "is not a list of public"],
    [
      "are of another kind",
      derivePublicKey(OTHER_KEY).replace("MCowBQYDK2Vw", "MCowBQYDK2Vu"),
      "is not a list",
    ],
    ["are too many", Array.from({ length: 5 }, () => PUBLIC_KEY).join(), "names 5 public keys"],
  ])("that %s reject every request, and the log says so", async (_, keys, message) => {
    const lines: LogLine[] = [];
    const environment = { CLUSTERS_FILE: "/nowhere/clusters.yaml", ADMISSION_PUBLIC_KEYS: keys };
    const world = createAdmissionDependencies(environment, (line) => void lines.push(line));
    expect(lines).toMatchObject([{ level: "error", message: expect.stringContaining(message) }]);
    const { statusCode } = await createAdmissionFunction(world)(buildUrlRequest(PATH, REVIEW), context);
    expect(statusCode).toBe(401);
  });
});
