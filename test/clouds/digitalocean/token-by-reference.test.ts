import { PutParameterCommand, SSMClient } from "@aws-sdk/client-ssm";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import type { Cloud } from "#clouds/cloud.ts";
import { loadDigitalOceanCloud } from "#clouds/digitalocean/cloud.ts";
import { digitalocean } from "#clouds/digitalocean/provider.ts";
import { TOKEN } from "#emulators/digitalocean/names.ts";
import { type FakeDigitalOcean, startFakeDigitalOcean } from "#emulators/digitalocean/server.ts";
import { buildCall } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";
import { buildConfig, buildIdentifiedNode } from "#test/clouds/digitalocean/world.ts";
import { type Moto, startMoto } from "#test/setup/moto.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const credentials = { ssmParameter: "/tenants/blue/digitalocean", region: "eu-central-1" };

describeWithPart("moto", "an API token in a parameter", (program) => {
  let moto: Moto;
  let parameters: SSMClient;
  let fake: FakeDigitalOcean;
  let cloud: Cloud | undefined;

  beforeAll(async () => {
    moto = await startMoto(program);
    vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
    vi.stubEnv("AWS_ENDPOINT_URL_SSM", moto.url);
    parameters = new SSMClient({ region: "eu-central-1", endpoint: moto.url });
  });
  afterAll(async () => {
    parameters.destroy();
    await moto.close();
    vi.unstubAllEnvs();
  });
  beforeEach(async () => {
    fake = await startFakeDigitalOcean();
    cloud = undefined;
    await put(TOKEN);
  });
  afterEach(async () => {
    await cloud?.close();
    await fake.close();
  });

  const put = (Value: string) =>
    parameters.send(
      new PutParameterCommand({
        Name: credentials.ssmParameter,
        Value,
        Type: "SecureString",
        Overwrite: true,
      }),
    );
  const load = () =>
    loadDigitalOceanCloud(
      buildConfig({ apiURL: fake.url, credentials }),
      { clusterName: "blue" },
      { DO_ACCESS_TOKEN: "other" },
    );
  const ask = async (): Promise<string[]> => {
    cloud ??= await load();
    return (await cloud.instances([buildIdentifiedNode(fake.add())], buildCall())).answers.map(formatAnswer);
  };
  const sent = (): unknown[] => fake.requests.map(({ headers }) => headers.authorization);

  test("is sent in place of the environment's; a rejected one is read again, once a minute", async () => {
    expect(await ask()).not.toEqual(["Denied"]);
    expect(new Set(sent())).toEqual(new Set([`Bearer ${TOKEN}`]));
    fake.tokens.clear();
    fake.tokens.add("dop_v1_next");
    await put("dop_v1_next");
    expect(await ask()).not.toEqual(["Denied"]);
    expect(sent().at(-1)).toBe("Bearer dop_v1_next");
    fake.tokens.clear();
    fake.tokens.add("dop_v1_third");
    await put("dop_v1_third");
    expect(await ask()).toEqual(["Denied"]);
  });

  test("that is invalid is an error when the cloud is loaded, and is not quoted", async () => {
    await put("secret7a11 secret7a11");
    const error: unknown = await load().catch((failure: unknown) => failure);
    expect(error).toMatchObject({ name: "SecretError", code: "SecretInvalid" });
    expect(String(error)).toMatch(/the SSM parameter \/tenants\/blue\/digitalocean holds no token/);
    expect(String(error)).not.toContain("secret7a11");
  });

  test("is named once", () => {
    expect(() => buildConfig({ credentials, tokenFile: "/run/token" })).toThrow(/in addition to tokenFile/);
    const source = digitalocean.describeCredentialSource(buildConfig({ credentials }));
    expect(source).toBe("the API token in the SSM parameter /tenants/blue/digitalocean");
  });
});
