import {
  CreateSecretCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
} from "@aws-sdk/client-secrets-manager";
import { PutParameterCommand, SSMClient } from "@aws-sdk/client-ssm";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { signIn } from "#config/sign-in.ts";
import { createCertificateAuthority, type KeyPair } from "#emulators/harness/certificates.ts";
import { type Moto, startMoto } from "#test/setup/moto.ts";
import { describeWithBoth } from "#test/setup/parts.ts";
import { playBurst } from "#test/sign-in/burst.ts";
import {
  AUDIENCE,
  EKS_CLUSTER,
  formatRoleArn,
  type SignInPlane,
  startSignInPlane,
  type Who,
} from "#test/sign-in/plane.ts";
import { OWN_KEYS } from "#test/sts/fake-sts.ts";

const BURST_TIMEOUT_MS = 180_000;

describeWithBoth("signing in to a real API server", (binaries, program) => {
  let moto: Moto;
  let world: SignInPlane;

  beforeAll(async () => {
    moto = await startMoto(program);
    world = await startSignInPlane(binaries);
    vi.stubEnv("AWS_ACCESS_KEY_ID", OWN_KEYS.accessKeyId);
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", OWN_KEYS.secretAccessKey);
    vi.stubEnv("AWS_REGION", "eu-central-1");
    vi.stubEnv("AWS_ENDPOINT_URL_STS", world.sts.url);
    for (const service of ["SECRETS_MANAGER", "SSM"]) vi.stubEnv(`AWS_ENDPOINT_URL_${service}`, moto.url);
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await world?.close();
    await moto?.close();
  });

  const burst = (
    cluster: ReturnType<SignInPlane["cluster"]>,
    prefix: string,
    rotate: () => Promise<unknown>,
  ) => playBurst({ cluster, prefix, rotate, admin: world.admin, folder: world.folder });

  /** Returns the present token of an identity. */
  async function tokenOf(cluster: ReturnType<SignInPlane["cluster"]>, who: Who): Promise<string> {
    const { authorization } = await signIn(cluster, who);
    return String(await authorization?.()).replace("Bearer ", "");
  }

  test("EKS: tokens that expire in the middle of a burst", { timeout: BURST_TIMEOUT_MS }, async () => {
    const eks = (who: Who) =>
      ({ kind: "eks", clusterName: EKS_CLUSTER, roleArn: formatRoleArn(who) }) as const;
    const cluster = world.cluster({ relay: eks("relay"), node: eks("node") });
    const refused = await burst(cluster, "eks", async () => {
      const old = await tokenOf(cluster, "node");
      expect(await world.statusOf(old)).toBe(404);
      world.eks.endTokens();
      await world.untilRefused(old);
    });
    expect(refused).toBeGreaterThan(0);
    expect(new Set(world.eks.reviews())).toEqual(new Set(["OK", "ended"]));
  });

  // Most of the time is waiting for the API server's caches; each test revokes only its own credentials.
  describe.concurrent("credentials that end in the middle of their own burst,", () => {
    test("web identity: keys of the issuer that change in the middle of a burst", {
      timeout: BURST_TIMEOUT_MS,
    }, async () => {
      const web = (who: Who) =>
        ({ kind: "web-identity", audience: AUDIENCE, roleArn: formatRoleArn(who) }) as const;
      const cluster = world.cluster({
        relay: web("relay"),
        node: { ...web("node"), signingAlgorithm: "ES384" },
      });
      const refused = await burst(cluster, "web", async () => {
        const old = await tokenOf(cluster, "node");
        expect(await world.statusOf(old)).toBe(404);
        world.issuer.rotateKeys();
        // An unknown key makes the API server read the keys again.
        expect(await world.statusOf(await tokenOf(cluster, "node"))).toBe(404);
        await world.untilRefused(old);
      });
      expect(refused).toBeGreaterThan(0);
    });

    describe("a bound ServiceAccount token that ends in the middle of a burst", () => {
      const options = () => ({ region: "eu-central-1", endpoint: moto.url });

      test.each(["token", "kubeconfig"] as const)(
        "as a %s in Secrets Manager and SSM",
        { timeout: BURST_TIMEOUT_MS },
        async (kind) => {
          const secrets = new SecretsManagerClient(options());
          const parameters = new SSMClient(options());
          const names = { node: `${kind}/node`, relay: `/${kind}/relay` };
          const written = (token: string): string =>
            kind === "token" ? token : kubeconfigOf(world.plane.server, token);
          const putRelay = (token: string) =>
            parameters.send(
              new PutParameterCommand({
                Name: names.relay,
                Value: written(token),
                Type: "SecureString",
                Overwrite: true,
              }),
            );
          await world.makeSecret(`${kind}-old`);
          const old = await world.serviceAccountToken("node", `${kind}-old`);
          await secrets.send(new CreateSecretCommand({ Name: names.node, SecretString: written(old) }));
          await putRelay(await world.serviceAccountToken("relay", `${kind}-old`));
          const cluster = world.cluster({
            relay: { kind, from: { ssmParameter: names.relay } },
            node: { kind, from: { secretsManager: names.node } },
          });
          const refused = await burst(cluster, kind, async () => {
            await world.makeSecret(`${kind}-new`);
            const SecretString = written(await world.serviceAccountToken("node", `${kind}-new`));
            await secrets.send(new PutSecretValueCommand({ SecretId: names.node, SecretString }));
            await putRelay(await world.serviceAccountToken("relay", `${kind}-new`));
            await world.endSecret(`${kind}-old`);
            await world.untilRefused(old);
          });
          expect(refused).toBeGreaterThan(0);
          secrets.destroy();
          parameters.destroy();
        },
      );
    });

    test("a client certificate in Secrets Manager that expires in the middle of a burst", {
      timeout: BURST_TIMEOUT_MS,
    }, async () => {
      const secrets = new SecretsManagerClient({ region: "eu-central-1", endpoint: moto.url });
      const endsAt = Date.now() + LEFT_MS;
      const ending = await createCertificateAuthority({ name: "ending", now: new Date(endsAt - VALID_MS) });
      await world.trustClients(ending);
      const pairOf = async (who: Who, authority: typeof ending): Promise<string> => {
        const pair = await authority.issueClient({
          name: `serverless-ccm-${who}`,
          groups: ["serverless-ccm"],
        });
        return jsonOf(pair);
      };
      for (const who of ["relay", "node"] as const)
        await secrets.send(
          new CreateSecretCommand({ Name: `pair/${who}`, SecretString: await pairOf(who, ending) }),
        );
      const pair = (who: Who) =>
        ({ kind: "client-certificate", from: { secretsManager: `pair/${who}` } }) as const;
      const cluster = world.cluster({ relay: pair("relay"), node: pair("node") });
      await burst(cluster, "pair", async () => {
        for (const who of ["relay", "node"] as const)
          await secrets.send(
            new PutSecretValueCommand({
              SecretId: `pair/${who}`,
              SecretString: await pairOf(who, world.clients),
            }),
          );
        // Certificates have a resolution of seconds.
        await new Promise((resolve) => setTimeout(resolve, endsAt + 2_000 - Date.now()));
      });
      secrets.destroy();
    });
  });

  test("web identity: tokens of a few seconds, one after the other", {
    timeout: BURST_TIMEOUT_MS,
  }, async () => {
    const web = (who: Who) =>
      ({ kind: "web-identity", audience: AUDIENCE, roleArn: formatRoleArn(who) }) as const;
    const cluster = world.cluster({ relay: web("relay"), node: web("node") });
    const askedOf = (who: Who): number =>
      world.sts.calls("GetWebIdentityToken").filter(({ roleArn }) => roleArn === formatRoleArn(who)).length;
    const before = askedOf("node");
    world.sts.tokenSeconds = 5;
    const old = await tokenOf(cluster, "node");
    expect(await world.statusOf(old)).toBe(404);
    await burst(cluster, "short", () => world.untilRefused(old));
    world.sts.tokenSeconds = undefined;
    expect(askedOf("node") - before).toBeGreaterThan(2);
  });
});

/** The validity of the harness's certificates. */
const VALID_MS = 240 * 3_600_000;
/** Long enough for the first nodes to come up. */
const LEFT_MS = 25_000;

function jsonOf({ certificate, key }: KeyPair): string {
  return JSON.stringify({ "tls.crt": certificate, "tls.key": key });
}

function kubeconfigOf(server: string, token: string): string {
  return JSON.stringify({
    clusters: [{ name: "blue", cluster: { server } }],
    users: [{ name: "us", user: { token } }],
    contexts: [{ name: "a", context: { cluster: "blue", user: "us" } }],
    "current-context": "a",
  });
}
