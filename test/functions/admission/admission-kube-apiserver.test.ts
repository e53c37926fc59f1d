import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { parse, stringify } from "yaml";
import { TOKEN, VPC } from "#emulators/digitalocean/names.ts";
import { type FakeDigitalOcean, startFakeDigitalOcean } from "#emulators/digitalocean/server.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";
import { type KubeApiserver, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { createAdmissionDependencies } from "#functions/parts/admission/admission-dependencies.ts";
import { createAdmissionFunction } from "#functions/parts/admission/admission-function.ts";
import type { Transport } from "#kube/client/transport.ts";
import { buildSignedPath, PUBLIC_KEY } from "#test/functions/admission/review-builders.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const MANIFESTS = fileURLToPath(new URL("../../../infra/admission/webhook", import.meta.url));
const SERVICES = "/api/v1/namespaces/default/services";
const PREFIX = "service.beta.kubernetes.io/do-loadbalancer-";
const WEBHOOK_TOKEN = "webhook-token-of-blue";

describeWithPart(
  "control-plane",
  "infra/admission/webhook: a real API server asks the function",
  (binaries) => {
    let folder = "";
    let fake: FakeDigitalOcean;
    let server: Server;
    let cluster: ClusterUnderTest;
    let admin: Transport;
    let isDown = false;
    const statuses: number[] = [];
    let count = 0;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "admission-"));
      fake = await startFakeDigitalOcean();
      const file = async (name: string, text: string): Promise<string> => {
        await writeFile(join(folder, name), text, { mode: 0o600 });
        return join(folder, name);
      };
      const webhookToken = await file("webhook-token", WEBHOOK_TOKEN);
      const clusters = await file(
        "clusters.yaml",
        stringify({
          clusters: [
            {
              ...{ name: "blue", server: "https://blue.invalid" },
              cloud: {
                ...{ provider: "digitalocean", region: "fra1", vpc: VPC, apiURL: fake.url },
                ...{ tokenFile: await file("api-token", TOKEN), webhookToken: { file: webhookToken } },
              },
            },
          ],
        }),
      );
      const authority = await createCertificateAuthority();
      server = await startUrl(await authority.issueServer(), clusters);
      const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;

      // The shipped manifests with their placeholders filled in.
      const offered = async (name: string) => parse(await readFile(join(MANIFESTS, name), "utf8"));
      const kubeconfig = await offered("api-server/webhook-kubeconfig.yaml");
      kubeconfig.users[0] = { name: host, user: { tokenFile: webhookToken } };
      const configuration = await offered("api-server/admission-configuration.yaml");
      configuration.plugins[0].configuration.kubeConfigFile = await file("kubeconfig", stringify(kubeconfig));
      const flag = `--admission-control-config-file=${await file("admission.yaml", stringify(configuration))}`;
      let plane: KubeApiserver | undefined;
      cluster = await startCluster(async (home) => {
        plane = await startKubeApiserver({ folder: home, binaries, flags: [flag], manifests: [] });
        return plane;
      });
      admin = await cluster.transport("admin");
      const webhook = await offered("validating-webhook.yaml");
      const caBundle = Buffer.from(authority.certificate).toString("base64");
      webhook.webhooks[0].clientConfig = { url: `https://${host}${buildSignedPath("blue")}`, caBundle };
      await plane?.apply(await file("webhook.yaml", stringify(webhook)));
      await vi.waitFor(async () => expect((await create({ type: "GLOBAL" })).status).toBe(422), {
        timeout: 30_000,
      });
      fake.requests.length = 0;
      statuses.length = 0;
    });
    afterAll(async () => {
      await cluster?.close();
      await new Promise((resolve) => server?.close(resolve) ?? resolve(undefined));
      await fake?.close();
      await rm(folder, { recursive: true });
    });

    /** Runs the function behind a server that converts requests as a function URL does. */
    async function startUrl(pair: { certificate: string; key: string }, clusters: string): Promise<Server> {
      const environment = { CLUSTERS_FILE: clusters, ADMISSION_PUBLIC_KEYS: PUBLIC_KEY };
      const world = createAdmissionDependencies(environment, () => undefined);
      const admission = createAdmissionFunction(world);
      const made = createServer({ cert: pair.certificate, key: pair.key }, async (request, response) => {
        const chunks: Buffer[] = [];
        for await (const chunk of request) chunks.push(chunk as Buffer);
        if (isDown) return void request.socket.destroy();
        const rawPath = new URL(request.url ?? "/", "https://url").pathname;
        const answer = await admission(
          {
            ...{ version: "2.0", rawPath, headers: request.headers, isBase64Encoded: true },
            requestContext: { http: { method: request.method } },
            body: Buffer.concat(chunks).toString("base64"),
          },
          { awsRequestId: "r", getRemainingTimeInMillis: () => 5_000 },
        );
        statuses.push(answer.statusCode);
        return void response.writeHead(answer.statusCode, answer.headers).end(answer.body);
      });
      await new Promise<void>((resolve) => made.listen(0, "127.0.0.1", resolve));
      return made;
    }

    function create(said: Readonly<Record<string, string>>, spec: object = {}) {
      count += 1;
      const annotations = Object.fromEntries(
        Object.entries(said).map(([key, value]) => [`${PREFIX}${key}`, value]),
      );
      const body = {
        metadata: { name: `service-${count}`, annotations },
        spec: { type: "LoadBalancer", ports: [{ port: 443 }], ...spec },
      };
      return admin.send({ method: "POST", path: SERVICES, body });
    }

    it("admits a Service whose load balancer is possible, without creating it", async () => {
      expect((await create({ type: "REGIONAL" })).status).toBe(201);
      expect(fake.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
        "POST /v2/load_balancers",
      ]);
      expect(fake.requests[0]?.body).toMatchObject({ validate_only: true });
      expect(fake.loadBalancers.size).toBe(0);
    });

    it("is not called for a Service without a load balancer", async () => {
      statuses.length = 0;
      expect((await create({ type: "GLOBAL" }, { type: "ClusterIP" })).status).toBe(201);
      expect(statuses).toEqual([]);
    });

    it("rejects an impossible one with a sentence of the catalogue", async () => {
      const { status, body } = await create({ type: "GLOBAL" });
      expect(status).toBe(422);
      expect(JSON.parse(body).message).toContain(
        `The annotation ${PREFIX}type is "GLOBAL"; allowed: REGIONAL_NETWORK`,
      );
    });

    it("rejects what the API rejects, without further details", async () => {
      fake.fault = ({ method }) =>
        method === "POST"
          ? { status: 422, body: '{"id":"unprocessable_entity","message":"limit of account 4711"}' }
          : undefined;
      const { status, body } = await create({});
      fake.fault = undefined;
      expect([status, JSON.parse(body).message]).toEqual([
        422,
        expect.stringContaining("cannot be created or changed"),
      ]);
      expect(body).not.toContain("4711");
    });

    it("admits a Service if the API or the function does not answer", async () => {
      fake.fault = () => "destroy";
      expect((await create({})).status).toBe(201);
      fake.fault = undefined;
      expect(statuses.at(-1)).toBe(500);
      isDown = true;
      expect((await create({ type: "GLOBAL" })).status).toBe(201);
      isDown = false;
    });
  },
);
