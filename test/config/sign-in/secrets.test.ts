import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  CreateSecretCommand,
  DeleteSecretCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
} from "@aws-sdk/client-secrets-manager";
import { PutParameterCommand, SSMClient } from "@aws-sdk/client-ssm";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createCertificateAuthority, type KeyPair } from "#emulators/harness/certificates.ts";
import type { SecretReference } from "#platforms/secrets/reference.ts";
import { expectSignInError, getToken, signInCluster } from "#test/config/sign-in/a-cluster.ts";
import { type Moto, startMoto } from "#test/setup/moto.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const SECRET = "secret7a11";
const MINUTE_MS = 60_000;

/** Creates a token with this expiry, in milliseconds since the epoch. */
function jwt(endsAt: number, mark = SECRET): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "RS256" })}.${part({ exp: Math.floor(endsAt / 1_000), mark })}.${mark}`;
}

describeWithPart("moto", "secrets by reference", (program) => {
  let moto: Moto;
  let folder: string;
  let secrets: SecretsManagerClient;
  let parameters: SSMClient;
  let names = 0;

  beforeAll(async () => {
    moto = await startMoto(program);
    folder = await mkdtemp(join(tmpdir(), "secrets-"));
    vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
    for (const service of ["SECRETS_MANAGER", "SSM", "STS"])
      vi.stubEnv(`AWS_ENDPOINT_URL_${service}`, moto.url);
    const options = { region: "eu-central-1", endpoint: moto.url };
    secrets = new SecretsManagerClient(options);
    parameters = new SSMClient(options);
  });
  afterAll(async () => {
    secrets.destroy();
    parameters.destroy();
    vi.unstubAllEnvs();
    await moto.close();
    await rm(folder, { recursive: true });
  });

  /** A secret of a new name in one of the stores, and how to rewrite it. */
  interface Put {
    readonly from: SecretReference;
    readonly write: (text: string) => Promise<unknown>;
  }
  type Home = "secretsManager" | "secretsManager ARN" | "ssmParameter" | "file";
  const HOMES: readonly Home[] = ["secretsManager", "secretsManager ARN", "ssmParameter", "file"];

  async function put(home: Home, text: string): Promise<Put> {
    names += 1;
    const name = `tenants/blue/${names}`;
    if (home === "file") {
      const file = join(folder, String(names));
      await writeFile(file, text);
      return { from: { file }, write: (next) => writeFile(file, next) };
    }
    if (home === "ssmParameter") {
      const Name = `/${name}`;
      const write = (Value: string) =>
        parameters.send(new PutParameterCommand({ Name, Value, Type: "SecureString", Overwrite: true }));
      await write(text);
      return { from: { ssmParameter: Name }, write };
    }
    const { ARN } = await secrets.send(new CreateSecretCommand({ Name: name, SecretString: text }));
    const write = (SecretString: string) =>
      secrets.send(new PutSecretValueCommand({ SecretId: name, SecretString }));
    return { from: { secretsManager: home === "secretsManager" ? name : (ARN ?? "") }, write };
  }

  describe.each(HOMES)("%s", (home) => {
    test.each([
      ["the token alone", `${SECRET}\n`],
      ["JSON with the token", JSON.stringify({ token: SECRET })],
    ])("a token: %s", async (_, text) => {
      const { from } = await put(home, text);
      expect(await getToken(await signInCluster({ kind: "token", from }))).toBe(SECRET);
    });

    test("a token is read again now and then, and at once where it was refused", async () => {
      let now = Date.now();
      const { from, write } = await put(home, "first");
      const signed = await signInCluster({ kind: "token", from }, () => now);
      await write("second");
      expect(await getToken(signed)).toBe("first");
      now += 5 * MINUTE_MS;
      expect(await getToken(signed)).toBe("second");
      await write("third");
      now += 1_000;
      expect(await getToken(signed, { fresh: true })).toBe("third");
    });

    test("a token with an end is read again before it, and refused after it in words", async () => {
      let now = Date.now();
      const { from, write } = await put(home, jwt(now + MINUTE_MS));
      const signed = await signInCluster({ kind: "token", from }, () => now);
      const next = jwt(now + 2 * MINUTE_MS, "next");
      await write(next);
      now += 0.8 * MINUTE_MS;
      expect(await getToken(signed)).toBe(next);
      now += 1.2 * MINUTE_MS;
      const says = /token: the token in the .* has ended at .*; see why it was not replaced/;
      await expectSignInError(getToken(signed), "SecretExpired", says, ["next"]);
    });

    test("a client certificate and its key, renewed before the certificate ends", async () => {
      const [old, renewed] = [await aPair(), await aPair()];
      const { from, write } = await put(
        home,
        JSON.stringify({ "tls.crt": old.certificate, "tls.key": old.key }),
      );
      const { tls, authorization } = await signInCluster({ kind: "client-certificate", from });
      expect(authorization).toBeUndefined();
      expect(await tls()).toMatchObject({ clientCertificate: trimmed(old) });
      await write(`${renewed.certificate}\n${renewed.key}`);
      expect(await tls({ fresh: true })).toMatchObject({ clientCertificate: trimmed(renewed) });
    });
  });

  test("what is not text there is read as text", async () => {
    const name = `binary-${SECRET.length}`;
    await secrets.send(new CreateSecretCommand({ Name: name, SecretBinary: Buffer.from("token") }));
    expect(await getToken(await signInCluster({ kind: "token", from: { secretsManager: name } }))).toBe(
      "token",
    );
  });

  test("a role is assumed first where one is named", async () => {
    const { from } = await put("secretsManager", "token");
    const roleArn = "arn:aws:iam::123456789012:role/reader";
    expect(await getToken(await signInCluster({ kind: "token", from: { ...from, roleArn } }))).toBe("token");
  });

  test.each<[string, string, () => Promise<SecretReference>, RegExp]>([
    [
      "a secret that was not found",
      "SecretNotFound",
      async () => ({ secretsManager: "none" }),
      /the secret none of Secrets Manager was not found/,
    ],
    [
      "a parameter that was not found",
      "SecretNotFound",
      async () => ({ ssmParameter: "/none" }),
      /the SSM parameter \/none was not found/,
    ],
    [
      "a file that was not found",
      "SecretNotFound",
      async () => ({ file: "/none" }),
      /\/none cannot be read \(ENOENT\)/,
    ],
    ["a folder", "SecretInvalid", async () => ({ file: folder }), /is not a regular file/],
    [
      "a secret of another region",
      "SecretNotFound",
      async () => ({ ...(await put("secretsManager", SECRET)).from, region: "us-east-1" }),
      /was not found/,
    ],
    [
      "a secret scheduled for deletion",
      "SecretNotFound",
      async () => {
        const { from } = await put("secretsManager", SECRET);
        await secrets.send(new DeleteSecretCommand({ SecretId: from.secretsManager }));
        return from;
      },
      /InvalidRequestException/,
    ],
    [
      "a parameter that anybody can read",
      "SecretInvalid",
      async () => {
        await parameters.send(new PutParameterCommand({ Name: "/plain", Value: SECRET, Type: "String" }));
        return { ssmParameter: "/plain" };
      },
      /\/plain is not a SecureString/,
    ],
    [
      "two tokens",
      "SecretInvalid",
      async () => (await put("secretsManager", `${SECRET} ${SECRET}`)).from,
      /holds no token/,
    ],
    [
      "JSON without a token",
      "SecretInvalid",
      async () => (await put("file", JSON.stringify({ password: SECRET }))).from,
      /holds no token/,
    ],
    [
      "invalid JSON",
      "SecretInvalid",
      async () => (await put("file", `{ "token": ${SECRET}`)).from,
      /holds no token/,
    ],
    ["nothing", "SecretInvalid", async () => (await put("file", " \n")).from, /is empty/],
    [
      "too much",
      "SecretInvalid",
      async () => (await put("file", SECRET.repeat(200_000))).from,
      /larger than 1048576 bytes/,
    ],
  ])("%s is %s, with a message that names it and quotes nothing of it", async (_, code, from, says) => {
    await expectSignInError(signInCluster({ kind: "token", from: await from() }), code, says, [SECRET]);
  });

  test("an unreachable store is reported, and the last value stays in use", async () => {
    let now = Date.now();
    const { from } = await put("secretsManager", "token");
    const signed = await signInCluster({ kind: "token", from }, () => now);
    vi.stubEnv("AWS_ENDPOINT_URL_SECRETS_MANAGER", "http://127.0.0.1:1");
    try {
      now += 5 * MINUTE_MS;
      expect(await getToken(signed)).toBe("token");
      const refused = getToken(signed, { fresh: true });
      await expectSignInError(refused, "SecretUnavailable", /ECONNREFUSED/);
    } finally {
      vi.stubEnv("AWS_ENDPOINT_URL_SECRETS_MANAGER", moto.url);
    }
  });
});

describe("a certificate in a secret", () => {
  test.each<[string, string, (pair: KeyPair) => string, RegExp]>([
    [
      "a key of another pair",
      "SecretInvalid",
      ({ certificate }) => `${certificate}${SECRET_KEY}`,
      /no client certificate and its key/,
    ],
    ["no key", "SecretInvalid", ({ certificate }) => certificate, /no client certificate and its key/],
    ["JSON with other keys", "SecretInvalid", ({ key }) => JSON.stringify({ key }), /tls\.crt and tls\.key/],
    ["invalid JSON", "SecretInvalid", ({ key }) => `{ ${key}`, /tls\.crt and tls\.key/],
  ])("%s is %s", async (_, code, textOf, says) => {
    const pair = await aPair();
    const folder = await mkdtemp(join(tmpdir(), "pair-"));
    const file = join(folder, "pair");
    await writeFile(file, textOf(pair));
    const signing = signInCluster({ kind: "client-certificate", from: { file } });
    await expectSignInError(signing, code, says, [pair.key.split("\n")[1] ?? "none", "c2VjcmV0"]);
    await rm(folder, { recursive: true });
  });

  test("that has expired is reported as expired", async () => {
    const longAgo = new Date(Date.now() - 20 * 24 * 3_600_000);
    const authority = await createCertificateAuthority({ now: longAgo });
    const { certificate, key } = await authority.issueClient({ name: "a", groups: [] });
    const folder = await mkdtemp(join(tmpdir(), "pair-"));
    const file = join(folder, "pair");
    await writeFile(file, `${key}\n${certificate}`);
    const signing = signInCluster({ kind: "client-certificate", from: { file } });
    await expectSignInError(signing, "SecretExpired", /the certificate in the file .* has ended at/);
    await rm(folder, { recursive: true });
  });
});

const SECRET_KEY = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----";

async function aPair(): Promise<KeyPair> {
  return (await createCertificateAuthority()).issueClient({ name: "functions", groups: [] });
}

/** PEM may end with a line break or not. */
function trimmed({ certificate, key }: KeyPair): object {
  return {
    certificate: expect.stringContaining(certificate.trim()),
    key: expect.stringContaining(key.trim()),
  };
}
