import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { NO_PROFILES } from "../../build/build.ts";
import { bundle } from "../../build/bundle.ts";
import { buildEc2Answer, type Gate, openGate } from "../clouds/aws/gate.ts";

// The EC2 client as bundled into functions, with each source of credentials.
describe("EC2 in a function's bundle", () => {
  let folder = "";
  let ec2: Gate;
  let sts: Gate;
  let createEc2: typeof import("#clouds/aws/ec2.ts").createEc2;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "function-credentials-"));
    await bundle({ entry: "src/clouds/aws/ec2.ts", folder, name: "ec2", instead: NO_PROFILES });
    ({ createEc2 } = await import(pathToFileURL(join(folder, "ec2.mjs")).href));
    ec2 = await openGate();
    ec2.answer(buildEc2Answer({ DescribeInstances: "<reservationSet/>" }));
    sts = await openGate();
    sts.answer({ status: 200, body: WEB_IDENTITY });
  });
  afterEach(() => vi.unstubAllEnvs());
  afterAll(async () => {
    await Promise.all([ec2.close(), sts.close()]);
    await rm(folder, { recursive: true, force: true });
  });

  async function signerOf(variables: Record<string, string>): Promise<string | undefined> {
    const all = { ...NONE, AWS_ENDPOINT_URL_EC2: ec2.url, AWS_ENDPOINT_URL_STS: sts.url, ...variables };
    for (const [name, value] of Object.entries(all)) vi.stubEnv(name, value);
    const client = createEc2("eu-central-1", undefined);
    try {
      await client.describeInstances({}, AbortSignal.timeout(120_000));
    } finally {
      client.close();
    }
    return /Credential=([^/]+)\//.exec(String(ec2.lastHeaders()["authorization"]))?.[1];
  }

  test("signs with the environment's credentials", async () => {
    expect(await signerOf({ AWS_ACCESS_KEY_ID: "STATIC", AWS_SECRET_ACCESS_KEY: "s" })).toBe("STATIC");
    expect(ec2.lastHeaders()["x-amz-security-token"]).toBeUndefined();
  });

  test("signs with the environment's credentials for a session", async () => {
    const session = {
      AWS_ACCESS_KEY_ID: "SESSION",
      AWS_SECRET_ACCESS_KEY: "s",
      AWS_SESSION_TOKEN: "of-an-hour",
    };
    expect(await signerOf(session)).toBe("SESSION");
    expect(ec2.lastHeaders()["x-amz-security-token"]).toBe("of-an-hour");
  });

  test("signs with a container's credentials", async () => {
    const endpoint = createServer((_, response) => response.end(CONTAINER));
    await new Promise<void>((resolve) => endpoint.listen(0, "127.0.0.1", resolve));
    const { port } = endpoint.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/credentials`;
    expect(await signerOf({ AWS_CONTAINER_CREDENTIALS_FULL_URI: url })).toBe("CONTAINER");
    endpoint.close();
  });

  test("signs with STS credentials for a web identity", async () => {
    const file = join(folder, "token");
    await writeFile(file, "the-token");
    const role = "arn:aws:iam::123456789012:role/ccm";
    expect(await signerOf({ AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: role })).toBe(
      "ASIAWEBIDENTITY00",
    );
    expect(sts.lastBody()).toContain("WebIdentityToken=the-token");
  });

  test("says that it reads no profiles if one is named", async () => {
    await expect(signerOf({ AWS_PROFILE: "mine" })).rejects.toThrow(/AWS_PROFILE is mine, .*no profiles/);
  });

  test("reports missing credentials", async () => {
    await expect(signerOf({})).rejects.toMatchObject({ name: "CredentialsProviderError" });
  });
});

/** Clears the machine's own environment. An empty value counts as unset. */
const NONE = {
  AWS_ACCESS_KEY_ID: "",
  AWS_SECRET_ACCESS_KEY: "",
  AWS_SESSION_TOKEN: "",
  AWS_CONTAINER_CREDENTIALS_FULL_URI: "",
  AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: "",
  AWS_WEB_IDENTITY_TOKEN_FILE: "",
  AWS_ROLE_ARN: "",
  AWS_PROFILE: "",
  AWS_REGION: "eu-central-1",
  AWS_EC2_METADATA_DISABLED: "true",
};

const CONTAINER = JSON.stringify({
  AccessKeyId: "CONTAINER",
  SecretAccessKey: "s",
  Token: "t",
  Expiration: "2999-01-01T00:00:00Z",
});

const WEB_IDENTITY = `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>ASIAWEBIDENTITY00</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2999-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`;
