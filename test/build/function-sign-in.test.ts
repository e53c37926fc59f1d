import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { CreateSecretCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { PutParameterCommand, SSMClient } from "@aws-sdk/client-ssm";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type Moto, startMoto } from "#test/setup/moto.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { type EksWebhook, startEksWebhook } from "#test/sts/eks-webhook.ts";
import { type FakeSts, OWN_KEYS, startFakeSts } from "#test/sts/fake-sts.ts";
import { NO_PROFILES } from "../../build/build.ts";
import { bundle } from "../../build/bundle.ts";

// Sign-in as bundled into functions: tree-shaken, with only the SDK schemas in use.
describeWithPart("moto", "in a function's bundle", (program) => {
  let folder = "";
  let moto: Moto;
  let sts: FakeSts;
  let eks: EksWebhook;
  let signing: typeof import("#config/sign-in.ts");
  let clusters: typeof import("#config/cluster.ts");

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "function-sign-in-"));
    for (const [entry, name] of [
      ["src/config/sign-in.ts", "sign-in"],
      ["src/config/cluster.ts", "cluster"],
    ] as const)
      await bundle({ entry, folder, name, instead: NO_PROFILES });
    signing = await import(pathToFileURL(join(folder, "sign-in.mjs")).href);
    clusters = await import(pathToFileURL(join(folder, "cluster.mjs")).href);
    moto = await startMoto(program);
    sts = await startFakeSts({ sign: (claims, how) => `${how?.algorithm}.${JSON.stringify(claims["aud"])}` });
    const username = "serverless-ccm-node";
    const entries = [{ roleName: username, username, groups: [] }];
    eks = await startEksWebhook({ folder, clusterName: "blue-eks", sts, entries });
    vi.stubEnv("AWS_ACCESS_KEY_ID", OWN_KEYS.accessKeyId);
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", OWN_KEYS.secretAccessKey);
    vi.stubEnv("AWS_ENDPOINT_URL_STS", sts.url);
    for (const service of ["SECRETS_MANAGER", "SSM"]) vi.stubEnv(`AWS_ENDPOINT_URL_${service}`, moto.url);
    const options = { region: "eu-central-1", endpoint: moto.url };
    const secrets = new SecretsManagerClient(options);
    await secrets.send(new CreateSecretCommand({ Name: "text", SecretString: "token-of-text" }));
    await secrets.send(
      new CreateSecretCommand({ Name: "binary", SecretBinary: Buffer.from("token-of-bytes") }),
    );
    secrets.destroy();
    const parameters = new SSMClient(options);
    const Type = "SecureString";
    await parameters.send(new PutParameterCommand({ Name: "/parameter", Value: "token-of-ssm", Type }));
    parameters.destroy();
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await eks?.close();
    await sts?.close();
    await moto?.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function tokenBy(how: object): Promise<string> {
    const cluster = clusters.Cluster.parse({
      name: "blue",
      server: "https://api.blue.example",
      signIn: { functions: how },
      cloud: { provider: "aws", region: "eu-central-1", vpc: "vpc-1" },
    });
    const { authorization } = await signing.signIn(cluster, "functions");
    return String(await authorization?.()).replace("Bearer ", "");
  }

  const roleArn = "arn:aws:iam::123456789012:role/serverless-ccm-node";

  test("an EKS token passes EKS's authenticator", async () => {
    const token = await tokenBy({ kind: "eks", clusterName: "blue-eks", roleArn });
    expect(await eks.review(token)).toMatchObject({ user: { username: "serverless-ccm-node" } });
  });

  test.each([
    [{ kind: "web-identity", audience: "blue.example", roleArn }, 'RS256."blue.example"'],
    [{ kind: "token", from: { secretsManager: "text" } }, "token-of-text"],
    [{ kind: "token", from: { secretsManager: "binary" } }, "token-of-bytes"],
    [{ kind: "token", from: { ssmParameter: "/parameter" } }, "token-of-ssm"],
  ])("%j: %s", async (how, token) => {
    expect(await tokenBy(how)).toBe(token);
  });

  test.each([
    [{ kind: "token", from: { secretsManager: "none" } }, "SecretNotFound"],
    [{ kind: "token", from: { ssmParameter: "/none" } }, "SecretNotFound"],
    [{ kind: "web-identity", audience: "a", roleArn: `${roleArn}-refused` }, "RoleRefused"],
  ])("%j is reported as %s", async (how, code) => {
    sts.refusedRoles.add(`${roleArn}-refused`);
    await expect(tokenBy(how)).rejects.toMatchObject({ name: "SignInError", code });
  });
});
