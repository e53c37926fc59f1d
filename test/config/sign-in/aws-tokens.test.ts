import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createFault } from "#emulators/ec2/fault.ts";
import { expectSignInError, getToken, signInCluster } from "#test/config/sign-in/a-cluster.ts";
import { type LocalIssuer, startIssuer } from "#test/issuer/local-issuer.ts";
import { type EksWebhook, startEksWebhook } from "#test/sts/eks-webhook.ts";
import { type FakeSts, OWN_KEYS, startFakeSts } from "#test/sts/fake-sts.ts";

const ROLE = "arn:aws:iam::123456789012:role/serverless-ccm-node";
const MINUTE_MS = 60_000;

let folder: string;
let issuer: LocalIssuer;
let sts: FakeSts;
let webhook: EksWebhook;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "aws-tokens-"));
  issuer = await startIssuer();
});
afterAll(async () => {
  await issuer.close();
  await rm(folder, { recursive: true });
});
beforeEach(async () => {
  sts = await startFakeSts(issuer);
  const entries = ["serverless-ccm-process", "serverless-ccm-node"].map((roleName) => ({
    roleName,
    username: `user-of-${roleName}`,
    groups: [],
  }));
  webhook = await startEksWebhook({ folder, clusterName: "blue-eks", sts, entries });
  vi.stubEnv("AWS_ACCESS_KEY_ID", OWN_KEYS.accessKeyId);
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", OWN_KEYS.secretAccessKey);
  vi.stubEnv("AWS_SESSION_TOKEN", "");
  vi.stubEnv("AWS_ENDPOINT_URL_STS", sts.url);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await webhook.close();
  await sts.close();
});

function urlIn(token: string | undefined): URL {
  return new URL(Buffer.from((token ?? "").replace("k8s-aws-v1.", ""), "base64url").toString());
}

describe("an EKS token", () => {
  const EKS = { kind: "eks", clusterName: "blue-eks" } as const;

  test("is accepted by EKS for its cluster, and is created without a request", async () => {
    const token = await getToken(await signInCluster(EKS));
    expect(await webhook.review(token ?? "")).toMatchObject({
      user: { username: "user-of-serverless-ccm-process" },
    });
    expect(sts.calls()).toEqual([]);
  });

  test("is a role's where one is named, which is assumed first", async () => {
    const token = await getToken(await signInCluster({ ...EKS, roleArn: ROLE }));
    expect(await webhook.review(token ?? "")).toMatchObject({
      user: { username: "user-of-serverless-ccm-node" },
    });
    expect(sts.calls()).toMatchObject([{ action: "AssumeRole", region: "eu-central-1", code: "OK" }]);
  });

  test.each([
    ["of another cluster", { ...EKS, clusterName: "red-eks" }, "SignatureDoesNotMatch"],
    ["of a role without an access entry", { ...EKS, roleArn: `${ROLE}-2` }, "no access entry"],
  ])("%s is refused by EKS", async (_, how, error) => {
    expect(await webhook.review((await getToken(await signInCluster(how))) ?? "")).toEqual({ error });
  });

  test.each<[string, string, Record<string, string>]>([
    ["eu-central-1", "sts.eu-central-1.amazonaws.com", {}],
    ["us-east-1", "sts.us-east-1.amazonaws.com", {}],
    ["cn-north-1", "sts.cn-north-1.amazonaws.com.cn", {}],
    ["us-gov-west-1", "sts.us-gov-west-1.amazonaws.com", {}],
    ["us-east-1", "sts.us-east-1.amazonaws.com", { AWS_USE_FIPS_ENDPOINT: "true" }],
    ["us-east-1", "sts.us-east-1.amazonaws.com", { AWS_USE_DUALSTACK_ENDPOINT: "true" }],
  ])("in %s is for %s, whatever endpoint the process itself uses", async (region, host, environment) => {
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    const token = await getToken(await signInCluster({ ...EKS, region }));
    expect(urlIn(token).host).toBe(host);
    expect(urlIn(token).searchParams.get("X-Amz-Credential")).toContain(`/${region}/sts/`);
    expect(await webhook.review(token ?? "")).toHaveProperty("user");
  });

  test("serves until shortly before its end, and is then another", async () => {
    let now = Date.now();
    const signed = await signInCluster(EKS, () => now);
    const first = await getToken(signed);
    now += 9 * MINUTE_MS;
    expect(await getToken(signed)).toBe(first);
    // Signatures have the time in seconds.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    now += 5 * MINUTE_MS;
    const second = await getToken(signed);
    expect(second).not.toBe(first);
    webhook.skewMs = 14 * MINUTE_MS;
    expect(await webhook.review(second ?? "")).toHaveProperty("user");
    webhook.skewMs = 15 * MINUTE_MS;
    expect(await webhook.review(first ?? "")).toEqual({ error: "expired" });
  });

  test("is another at once where it was refused", async () => {
    const signed = await signInCluster(EKS);
    const first = await getToken(signed);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect(await getToken(signed)).toBe(first);
    expect(await getToken(signed, { fresh: true })).not.toBe(first);
  });

  test("cannot be had for a role that cannot be assumed: the error names it, and what to do", async () => {
    sts.refusedRoles.add(ROLE);
    const says =
      /eks: the role arn:aws:iam::123456789012:role\/serverless-ccm-node is refused by AWS \(AccessDenied: .*\); see its trust policy/;
    await expectSignInError(signInCluster({ ...EKS, roleArn: ROLE }), "RoleRefused", says, [
      OWN_KEYS.secretAccessKey,
    ]);
  });

  test("cannot be had without credentials", async () => {
    for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]) vi.stubEnv(name, "");
    vi.stubEnv("AWS_EC2_METADATA_DISABLED", "true");
    vi.stubEnv("HOME", folder);
    await expectSignInError(signInCluster(EKS), "NoAwsCredentials", /no credentials of AWS/);
  });
});

describe("a token of AWS's own issuer", () => {
  const WEB = { kind: "web-identity", audience: "blue.example" } as const;
  const claimsOf = (token: string | undefined): unknown =>
    JSON.parse(Buffer.from((token ?? "").split(".")[1] ?? "", "base64url").toString());

  test.each([
    ["as it is usual", WEB, { aud: "blue.example", sub: expect.stringContaining("process") }, 300],
    ["of a role", { ...WEB, roleArn: ROLE }, { sub: ROLE }, 300],
    [
      "of another algorithm and duration",
      { ...WEB, signingAlgorithm: "ES384", durationSeconds: 900 } as const,
      {},
      900,
    ],
  ])("%s", async (_, how, claims, seconds) => {
    const token = await getToken(await signInCluster(how));
    expect(claimsOf(token)).toMatchObject(claims);
    const { exp, iat } = claimsOf(token) as { exp: number; iat: number };
    expect(exp - iat).toBe(seconds);
    const { alg } = JSON.parse(Buffer.from((token ?? "").split(".")[0] ?? "", "base64url").toString());
    expect(alg).toBe("signingAlgorithm" in how ? how.signingAlgorithm : "RS256");
  });

  test("is requested once for all callers, and again only near its end or after a rejection", async () => {
    let now = Date.now();
    const signed = await signInCluster(WEB, () => now);
    const ask = async (count: number, options = {}): Promise<number> => {
      const tokens = await Promise.all(Array.from({ length: count }, () => getToken(signed, options)));
      expect(new Set(tokens).size).toBe(1);
      return sts.calls("GetWebIdentityToken").length;
    };
    expect(await ask(20)).toBe(1);
    now += 3 * MINUTE_MS;
    expect(await ask(20)).toBe(1);
    now += MINUTE_MS + 1_000;
    expect(await ask(20)).toBe(2);
    expect(await ask(20, { fresh: true })).toBe(3);
  });

  test("is the cluster's alone: another cluster's and another audience's are others", async () => {
    const blue = await getToken(await signInCluster(WEB));
    const red = await getToken(await signInCluster(WEB, undefined, { name: "red" }));
    const green = await getToken(await signInCluster({ ...WEB, audience: "green.example" }));
    expect(new Set([blue, red, green]).size).toBe(3);
    expect(claimsOf(green)).toMatchObject({ aud: "green.example" });
  });

  test("stays in use while STS is away until it expires, and no longer", async () => {
    let now = Date.now();
    const signed = await signInCluster(WEB, () => now);
    const token = await getToken(signed);
    sts.faults.set("GetWebIdentityToken", createFault("InternalFailure", `echo of ${token}`, 500));
    now += 4.5 * MINUTE_MS;
    expect(await getToken(signed)).toBe(token);
    now += 0.5 * MINUTE_MS + 1_000;
    const says = /web-identity: a token for the audience blue\.example/;
    await expectSignInError(getToken(signed), "TokenUnavailable", says, [token ?? "none"]);
  });

  test.each([
    [
      "the federation is off",
      "OutboundWebIdentityFederationDisabledException",
      /enable-outbound-web-identity-federation$/,
    ],
    [
      "the session ends before the token would",
      "SessionDurationEscalationException",
      /lower durationSeconds$/,
    ],
    ["it is not allowed", "AccessDenied", /see that sts:GetWebIdentityToken is allowed for this audience/],
  ])("cannot be had where %s, and the error says what to do", async (_, code, says) => {
    sts.faults.set("GetWebIdentityToken", createFault(code, "AWS says no", 403));
    await expectSignInError(signInCluster(WEB), "TokenRefused", says, [OWN_KEYS.secretAccessKey]);
  });
});
