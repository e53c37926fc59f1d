import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { explainRefusal } from "#cli/clusters/explain-refusal.ts";
import type { ClusterEntry } from "#config/cluster.ts";
import { AWS_CREDENTIALS } from "#core/aws-credentials.ts";
import { type EmbeddedControlPlane, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { buildClusterEntry, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { runProgram, startProgram } from "#test/cli/program.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

const NOW_MS = Date.parse("2026-06-01T12:00:00Z");
const secondsAgo = (seconds: number, nowMs = NOW_MS): number => Math.floor(nowMs / 1_000) - seconds;

function tokenWith(claims: unknown): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "RS256" })}.${part(claims)}.c2lnbmF0dXJl`;
}

const OURS = { sub: "system:serviceaccount:kube-system:serverless-ccm-relay", iss: "https://issuer.example" };

describe("a refusal", () => {
  test.each([
    [
      "of a token that has ended names whose it is, its issuer and its age",
      `Bearer ${tokenWith({ ...OURS, iat: secondsAgo(10_800), exp: secondsAgo(7_200) })}`,
      "the token of system:serviceaccount:kube-system:serverless-ccm-relay (issuer https://issuer.example, issued 3 h ago) ended 2 h ago: replace it, and find out why it was not renewed",
    ],
    [
      "of a token that holds names what the API server has to know",
      `Bearer ${tokenWith({ ...OURS, iat: secondsAgo(60), exp: secondsAgo(-60), aud: ["a", "b"] })}`,
      "the token of system:serviceaccount:kube-system:serverless-ccm-relay (issuer https://issuer.example, issued 60 s ago) holds until 2026-06-01T12:01:00.000Z: see that the API server knows its issuer, and takes the audience a, b",
    ],
    [
      "of a token that has not begun names the clocks",
      `Bearer ${tokenWith({ sub: "x", nbf: secondsAgo(-600) })}`,
      "the token of x is not valid before 2026-06-01T12:10:00.000Z: check the clocks of this machine and of the issuer",
    ],
    [
      "of a token of EKS",
      "Bearer k8s-aws-v1.aHR0cHM",
      expect.stringContaining("an access entry in the cluster"),
    ],
    ["of a token that is no JWT", "Bearer s3cret", expect.stringContaining("no readable claims")],
    ["of three parts that are rubbish", "Bearer a.b.c", expect.stringContaining("no readable claims")],
    [
      "of claims that are no object",
      `Bearer ${tokenWith([1])}`,
      expect.stringContaining("no readable claims"),
    ],
    ["of a password", "Basic dTpw", expect.stringContaining("no readable claims")],
    ["without a token", undefined, expect.stringContaining("client certificate")],
    [
      "of claims of the wrong types",
      `Bearer ${tokenWith({ sub: 1, exp: "soon", iat: -1, aud: {} })}`,
      "the token of an unnamed subject does not end: see that the API server knows its issuer",
    ],
  ])("%s", (_, header, words) => {
    expect(explainRefusal(header, NOW_MS)).toEqual(words);
  });

  test("is safe for terminals, and quotes no more of a token than its claims", () => {
    const claims = { sub: `a\u001b[2J${"b".repeat(500)}`, iss: "c".repeat(500), exp: secondsAgo(3) };
    const words = explainRefusal(`Bearer ${tokenWith(claims)}`, NOW_MS);
    expect(words).toMatch(/^[\x20-\x7E\u2026]+$/);
    expect(words.length).toBeLessThan(240);
    expect(words).not.toContain("c2lnbmF0dXJl");
  });
});

describe("an expired token of the relay", () => {
  let folder: string;
  let plane: EmbeddedControlPlane;
  let file: string;
  const SAYS =
    /the token of tenant:relay \(issuer https:\/\/issuer\.example, issued 3 h ago\) ended 2 h ago: replace/;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "refusal-"));
    plane = await startEmbeddedControlPlane({ folder: join(folder, "plane") });
    file = join(folder, "clusters.yaml");
    const instancesFile = join(folder, "instances.json");
    await writeFile(instancesFile, JSON.stringify({ instances: [] }));
    const now = Date.now();
    const claims = {
      ...{ sub: "tenant:relay", iss: OURS.iss },
      ...{ iat: secondsAgo(10_900, now), exp: secondsAgo(7_300, now) },
    };
    await writeFile(join(folder, "token"), tokenWith(claims));
    const entry: ClusterEntry = buildClusterEntry(plane, {
      name: "blue",
      cloud: { provider: "memory", instancesFile },
    });
    const relay = { kind: "token-file" as const, file: join(folder, "token") };
    await writeClustersFile(file, { ...entry, signIn: { ...entry.signIn, relay } });
  });
  afterAll(async () => {
    await plane?.close();
    await rm(folder, { recursive: true, force: true });
  });

  test("does not pass clusters check", async () => {
    const { code, stdout } = await runProgram(["clusters", "check", "--clusters-file", file]);
    expect([code, stdout]).toEqual([1, expect.stringMatching(SAYS)]);
    expect(stdout).toMatch(/^cluster blue, sign-in of the relay: the token/);
    expect((await runProgram(["clusters", "check", "--clusters-file", file, "--sign-in", "none"])).code).toBe(
      0,
    );
  });

  test.each([
    ["doctor", ["doctor", "blue"]],
    ["clusters check --connect", ["clusters", "check", "--sign-in", "none", "--connect"]],
  ])("is explained by %s", async (_, command) => {
    const { code, stdout } = await runProgram([...command, "--clusters-file", file]);
    expect([code, stdout]).toEqual([1, expect.stringMatching(SAYS)]);
  });

  test("is explained in the log of a relay", async () => {
    const relay = startProgram(["run", `--clusters-file=${file}`, "--port=0", "--workers=0"]);
    try {
      await waitUntilTrue("the refusal", () => relay.lines.some((line) => SAYS.test(JSON.stringify(line))));
    } finally {
      await relay.end("SIGKILL");
    }
  });
});

test("a process without AWS credentials gets the same explanation, without a hint at a role", async () => {
  const folder = await mkdtemp(join(tmpdir(), "no-credentials-"));
  try {
    const file = join(folder, "clusters.yaml");
    const roleArn = "arn:aws:iam::123456789012:role/x";
    const region = "eu-central-1";
    const cloud = { provider: "aws", region, vpc: "vpc-0123456789abcdef0", roleArn };
    const signIn = {
      relay: { kind: "web-identity", audience: "a", roleArn },
      functions: { kind: "eks", clusterName: "b" },
    };
    await writeClustersFile(file, { name: "blue", server: "https://127.0.0.1:1", cloud, signIn });
    const environment = {
      ...{ AWS_ACCESS_KEY_ID: "", AWS_SECRET_ACCESS_KEY: "", AWS_PROFILE: "", HOME: folder },
      ...{ AWS_EC2_METADATA_DISABLED: "true", AWS_ENDPOINT_URL: "http://127.0.0.1:1", NO_COLOR: "1" },
    };
    const run = (...flags: readonly string[]) =>
      runProgram([...flags, "--clusters-file", file], "", environment);
    const checks = await Promise.all(
      ["relay", "functions"].map((who) => run("clusters", "check", "--sign-in", who)),
    );
    const doctor = await run("doctor", "blue", "--function-prefix", "x", "--region", region);
    for (const { stdout } of checks)
      expect(stdout).toContain(`this process has no credentials of AWS; ${AWS_CREDENTIALS.missing.advice}`);
    const advised = doctor.stdout.split(`→ ${AWS_CREDENTIALS.missing.advice}`).length - 1;
    expect([advised, doctor.stdout.includes("trust policy")]).toEqual([2, false]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
