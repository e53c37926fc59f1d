import {
  CreateSecretCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
} from "@aws-sdk/client-secrets-manager";
import { PutParameterCommand, SSMClient } from "@aws-sdk/client-ssm";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import type { Cloud } from "#clouds/cloud.ts";
import { CloudConfig, getCloudProvider, loadCloud } from "#clouds/providers.ts";
import type { Node } from "#core/node/node.ts";
import { startFakeDigitalOcean } from "#emulators/digitalocean/server.ts";
import type { SecretReference } from "#platforms/secrets/reference.ts";
import { buildCall, buildNode } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";
import {
  buildConfig as aDigitalOceanConfig,
  buildIdentifiedNode as droplet,
} from "#test/clouds/digitalocean/world.ts";
import { startFakeHcloud } from "#test/clouds/hcloud/fake-server.ts";
import { buildConfig as anHcloudConfig, buildIdentifiedNode as server } from "#test/clouds/hcloud/world.ts";
import { startFakeOpenStack } from "#test/clouds/openstack/fake-server.ts";
import {
  buildConfig as anOpenStackConfig,
  buildIdentifiedNode as instance,
} from "#test/clouds/openstack/world.ts";
import { CLUSTER, startFakeManagement } from "#test/clouds/rancher/fake-management.ts";
import { type Moto, startMoto } from "#test/setup/moto.ts";
import { describeWithPart } from "#test/setup/parts.ts";

// Tests that a store of AWS can hold the credentials of any cloud: a table of clouds, each with both stores.

/** A cloud with only one valid secret. */
interface SignedIn {
  config(credentials: SecretReference): object;
  /** From now on accepts only this secret. */
  accept(secret: string): void;
  /** Returns a node of an existing machine. */
  readonly node: () => Node;
  readonly asked: () => string;
  close(): Promise<void>;
}

const CLOUDS: Readonly<Record<string, () => Promise<SignedIn>>> = {
  async digitalocean() {
    const fake = await startFakeDigitalOcean();
    return {
      config: (credentials) => aDigitalOceanConfig({ apiURL: fake.url, credentials }),
      accept: (token) => only(fake.tokens, token),
      node: () => droplet(fake.add()),
      asked: () => JSON.stringify(fake.requests),
      close: fake.close,
    };
  },
  async hcloud() {
    const fake = await startFakeHcloud();
    return {
      config: (credentials) => anHcloudConfig({ endpoint: `${fake.url}/v1`, credentials }),
      accept: (token) => only(fake.tokens, token),
      node: () => server(fake.add()),
      asked: () => JSON.stringify(fake.requests),
      close: fake.close,
    };
  },
  async openstack() {
    const fake = await startFakeOpenStack();
    return {
      config: (credentials) => anOpenStackConfig({ "auth-url": fake.authURL, credentials }),
      accept(secret) {
        fake.secret = secret;
        fake.tokens.clear();
      },
      node: () => instance(fake.add()),
      asked: () => JSON.stringify(fake.requests),
      close: fake.close,
    };
  },
  async rancher() {
    const fake = await startFakeManagement();
    return {
      config: (credentials) => ({
        provider: "rancher",
        distribution: "rke2",
        existence: "rancher",
        rancher: { url: fake.url, cluster: CLUSTER, credentials },
      }),
      accept(token) {
        fake.token = token;
      },
      node() {
        const { metadata } = fake.add({ node: { name: "node-1" } });
        return buildNode({ name: "node-1", labels: { "rke.cattle.io/machine": metadata.uid } });
      },
      asked: () => JSON.stringify(fake.requests),
      close: fake.close,
    };
  },
};

function only(accepted: Set<string>, one: string): void {
  accepted.clear();
  accepted.add(one);
}

const REGION = "eu-central-1";
const NAME = "tenants-blue-token";
const REFERENCES = {
  "SSM parameter": { ssmParameter: NAME, region: REGION },
  secret: { secretsManager: NAME, region: REGION },
} as const satisfies Record<string, SecretReference>;

describeWithPart("moto", "what a cloud signs in with", (program) => {
  let moto: Moto;
  let parameters: SSMClient;
  let secrets: SecretsManagerClient;
  const open: { close(): Promise<void> }[] = [];

  beforeAll(async () => {
    moto = await startMoto(program);
    vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
    vi.stubEnv("AWS_ENDPOINT_URL_SSM", moto.url);
    vi.stubEnv("AWS_ENDPOINT_URL_SECRETS_MANAGER", moto.url);
    // The environment's secret must not be used.
    for (const name of [
      "DO_ACCESS_TOKEN",
      "HCLOUD_TOKEN",
      "OS_APPLICATION_CREDENTIAL_SECRET",
      "RANCHER_TOKEN",
    ])
      vi.stubEnv(name, "of-the-environment");
    parameters = new SSMClient({ region: REGION, endpoint: moto.url });
    secrets = new SecretsManagerClient({ region: REGION, endpoint: moto.url });
    await secrets.send(new CreateSecretCommand({ Name: NAME, SecretString: "first" }));
  });
  afterEach(async () => {
    for (const each of open.splice(0)) await each.close();
  });
  afterAll(async () => {
    parameters.destroy();
    secrets.destroy();
    await moto.close();
    vi.unstubAllEnvs();
  });

  const put = async (value: string): Promise<void> => {
    await parameters.send(
      new PutParameterCommand({ Name: NAME, Value: value, Type: "SecureString", Overwrite: true }),
    );
    await secrets.send(new PutSecretValueCommand({ SecretId: NAME, SecretString: value }));
  };

  const ROWS = Object.keys(CLOUDS).flatMap((cloud) =>
    Object.keys(REFERENCES).map((store) => [cloud, store as keyof typeof REFERENCES] as const),
  );

  describe.each(ROWS)("to %s, in an %s of AWS", (name, store) => {
    const started = async (): Promise<{ world: SignedIn; load(): Promise<Cloud> }> => {
      const world = await CLOUDS[name]?.();
      if (world === undefined) throw new Error(`no cloud ${name}`);
      open.push(world);
      const load = async () => {
        const config = CloudConfig.parse(world.config(REFERENCES[store]));
        expect(getCloudProvider(config).describeCredentialSource(config)).toContain(NAME);
        const cloud = await loadCloud(config, { clusterName: "blue" });
        open.unshift(cloud);
        return cloud;
      };
      return { world, load };
    };

    test("is used in place of the environment's; a rejected one is read again, once a minute", async () => {
      const { world, load } = await started();
      await put("first-0123456789");
      world.accept("first-0123456789");
      const cloud = await load();
      const ask = async () => (await cloud.instances([world.node()], buildCall())).answers.map(formatAnswer);
      expect(await ask()).not.toEqual(["Denied"]);
      world.accept("second-0123456789");
      await put("second-0123456789");
      expect(await ask()).not.toEqual(["Denied"]);
      world.accept("third-0123456789");
      await put("third-0123456789");
      expect(await ask()).toEqual(["Denied"]);
      expect(world.asked()).not.toContain("of-the-environment");
    });

    test("that is finally rejected is the error of all, and appears in no message", async () => {
      const { world, load } = await started();
      await put("wrong-0123456789");
      world.accept("right-0123456789");
      const cloud = await load();
      const { answers } = await cloud.instances([world.node()], buildCall());
      expect(answers.map(formatAnswer)).toEqual(["Denied"]);
      expect(answers).toMatchObject([{ message: expect.stringContaining("401") }]);
      expect(JSON.stringify(answers)).not.toContain("0123456789");
    });

    test("that does not exist is an error when the cloud is loaded", async () => {
      const { world } = await started();
      const reference = { ...REFERENCES[store], [Object.keys(REFERENCES[store])[0] ?? ""]: "absent" };
      const config = CloudConfig.parse(world.config(reference));
      const error: unknown = await loadCloud(config, { clusterName: "blue" }).catch((failure) => failure);
      expect(error).toMatchObject({ name: "SecretError", code: "SecretNotFound" });
      expect(String(error)).toContain("absent");
    });
  });
});
