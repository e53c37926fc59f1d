import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Cluster } from "#config/cluster.ts";
import { readClustersFile } from "#config/read-clusters-file.ts";
import { signIn } from "#config/sign-in.ts";
import { nodeController } from "#core/node/controller.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { buildInstance, Ec2World } from "#test/clouds/aws/ec2-world.ts";
import { expectNothingLeft, expectSecretsKept } from "#test/functions/expect-secrets-kept.ts";
import {
  MARK,
  type MarkedWorld,
  SECRET,
  startMarkedWorld,
  toDependencies,
} from "#test/functions/marked-world.ts";

// Every failure but a cloud's goes through the functions with marks in all that is not the tenant's; then all
// that the cluster was sent is searched for them. The operator must have got them.

let world: MarkedWorld;
let folder: string;
beforeAll(async () => {
  world = await startMarkedWorld();
  folder = await mkdtemp(join(tmpdir(), `${MARK}-`));
});
afterAll(async () => {
  await world.close();
  await rm(folder, { recursive: true });
});

let numbers = 0;

describe("of a failure", () => {
  const nodes = async () => {
    numbers += 1;
    return [
      await world.join({
        name: `node-${numbers}`,
        providerID: `aws:///a/${buildInstance(numbers).InstanceId}`,
      }),
    ];
  };
  const cloudOf = (number: number) => {
    const ec2 = new Ec2World();
    ec2.instances.push(buildInstance(number));
    return toDependencies(ec2.cloud());
  };

  test("a cloud that cannot be used", async () => {
    const cloud = () => Promise.reject(new Error(`no such file /etc/${MARK}/config`));
    expectSecretsKept(await world.run(await nodes(), { cloud }));
  });

  test("clusters that cannot be read", async () => {
    const clusters = readClustersFile(join(folder, "clusters.yaml"));
    const read = await world.run(await nodes(), { clusters });
    expectSecretsKept(read);
    expect(read.sent).toEqual([]);
  });

  test("a cluster that is configured otherwise, or not at all", async () => {
    const other = { cluster: MARK, clusterHash: "0123456789abcdef" };
    const clusters = async (name: string) => (name === MARK ? undefined : world.cluster);
    const unknown = await world.run(await nodes(), { clusters, event: other });
    expectSecretsKept(unknown);
    const differs = await world.run(await nodes(), { event: { clusterHash: other.clusterHash } });
    expectSecretsKept(differs, false);
    expect([unknown.sent, differs.sent]).toEqual([[], []]);
  });

  test.each([
    ["is not there", undefined],
    ["is empty", ""],
    ["holds no token", `${SECRET} and ${SECRET}\n${SECRET}`],
  ])("a sign-in with a file that %s", async (_, content) => {
    const file = join(folder, "sign-in");
    await rm(file, { force: true });
    if (content !== undefined) await writeFile(file, content);
    const cluster = Cluster.parse({
      name: "tenant-a",
      server: world.api.plane.server,
      cloud: { provider: "memory", instancesFile: "instances.json" },
      signIn: { functions: { kind: "token-file", file } },
    });
    const api = async () => connect({ server: cluster.server, ...(await signIn(cluster, "functions")) });
    const made = await nodes();
    const read = await world.run(made, { ...cloudOf(numbers), api });
    expectSecretsKept(read);
    expect(read.sent).toEqual([]);
  });

  test("a sign-in that the API server refuses", async () => {
    const made = await nodes();
    const authorization = async () => `Bearer ${SECRET}`;
    const api = () => world.api.transport("node", { authorization });
    const read = await world.run(made, { ...cloudOf(numbers), api });
    expectSecretsKept(read, false);
    expect(read.operator).toContain("Unauthenticated");
  });

  test("a crash while deciding", async () => {
    const decide = () => {
      throw new Error(`crashed over ${MARK}`);
    };
    const made = await nodes();
    const read = await world.run(made, { ...cloudOf(numbers), decide });
    expectSecretsKept(read);
  });

  test("a crash in a second decision on a changed node", async () => {
    const made = await nodes();
    const [node] = made;
    await world.api.patch(`${node?.metadata.name}/status`, [
      { op: "add", path: "/status/addresses/-", value: { type: "InternalDNS", address: "a.local" } },
    ]);
    let decisions = 0;
    const decide: typeof nodeController.decide = (batch, context) => {
      decisions += 1;
      if (decisions > 1) throw new Error(`crashed over ${MARK}`);
      return nodeController.decide(batch, context);
    };
    const read = await world.run(made, { ...cloudOf(numbers), decide: decide as never });
    expectSecretsKept(read);
    expect(read.operator).toContain("a fault of serverless-ccm");
  });

  test("a deadline that is over", async () => {
    const made = await nodes();
    const context = { getRemainingTimeInMillis: () => 900 };
    const read = await world.run(made, { ...cloudOf(numbers), context });
    expectSecretsKept(read, false);
    expect(read.sent).toEqual([]);
  });

  test.each([400, 401, 403, 404, 409, 413, 422, 429, 500, 503])(
    "an API server that answers %d: its own words, bounded, and in the one Event that quotes it",
    async (status) => {
      const OWN_WORDS = "words of the tenant's own server \u001b[31m";
      const api = async (): Promise<Transport> => ({
        ...world.api.functions,
        async send(request) {
          if (request.method !== "PATCH") return world.api.functions.send(request);
          const message = OWN_WORDS.repeat(100);
          return {
            status,
            headers: {},
            body: JSON.stringify({ kind: "Status", message, reason: "Whatever" }),
          };
        },
      });
      const made = await nodes();
      // A server that throttles is waited for, as long as there is time.
      const context = status === 429 ? { getRemainingTimeInMillis: () => 1_200 } : {};
      const read = await world.run(made, { ...cloudOf(numbers), api, context });
      expectSecretsKept(read, false);
      const quoting = read.sent.filter(({ body }) =>
        JSON.stringify(body ?? null).includes("words of the tenant's"),
      );
      const isRejected = ![401, 404, 409, 429, 500, 503].includes(status);
      expect(quoting.length > 0).toBe(isRejected);
      for (const { body } of quoting) {
        const { reason, message } = body as { readonly reason: string; readonly message: string };
        expect(reason).toMatch(/^(Node|CertificateSigningRequest)UpdateRejected$/);
        expect(message.length).toBeLessThanOrEqual(1_024);
        expect(message).not.toMatch(/\p{Cc}/u);
      }
    },
  );
});

test("afterwards, the cluster contains none of it", async () => {
  await expectNothingLeft(world);
});
