import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, request } from "undici";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type EmbeddedControlPlane, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import { type Ec2Server, startEc2 } from "#emulators/ec2/server.ts";
import { type CertificateAuthority, createCertificateAuthority } from "#emulators/harness/certificates.ts";
import { buildClusterEntry, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import { type NodeHistory, recordNodeHistory } from "#emulators/harness/node-history.ts";
import { derivePublicKey, signCluster } from "#functions/parts/cluster-signature.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { getConnectOptions } from "#test/access.ts";
import { type Running, startProgram } from "#test/cli/program.ts";
import { buildReview, buildSignedPath, PUBLIC_KEY } from "#test/functions/admission/review-builders.ts";
import { buildAuditEvent, buildEventList } from "#test/functions/audit/event-builders.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

const SIGNING_KEY = generateKeyPairSync("ed25519")
  .privateKey.export({ format: "pem", type: "pkcs8" })
  .toString();

let folder: string;
let plane: EmbeddedControlPlane;
let ec2: Ec2Server;
let admin: Transport;
let history: NodeHistory;
let authority: CertificateAuthority;
let environment: Readonly<Record<string, string>>;
const programs: Running[] = [];
const inFolder = (name: string): string => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "functions-"));
  plane = await startEmbeddedControlPlane({ folder: inFolder("plane") });
  ec2 = await startEc2();
  admin = connect(await getConnectOptions(plane, "admin"));
  history = await recordNodeHistory(admin);
  const cloud = { provider: "aws", region: ec2.region, vpc: DEFAULT_VPC_ID } as const;
  await writeClustersFile(inFolder("clusters.yaml"), buildClusterEntry(plane, { name: "blue", cloud }));
  authority = await createCertificateAuthority();
  const server = await authority.issueServer();
  await writeFile(inFolder("ca.pem"), authority.certificate);
  await writeFile(inFolder("server.pem"), server.certificate);
  await writeFile(inFolder("server.key"), server.key);
  await writeFile(inFolder("token"), "a-token\n");
  environment = {
    CLUSTERS_FILE: inFolder("clusters.yaml"),
    AWS_REGION: ec2.region,
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
    AWS_EC2_METADATA_DISABLED: "true",
    AWS_ENDPOINT_URL_EC2: ec2.url,
  };
});
afterEach(async () => {
  await Promise.all(programs.splice(0).map((each) => each.end("SIGKILL")));
});
afterAll(async () => {
  await history.close();
  await admin.close();
  await ec2.close();
  await plane.close();
  await rm(folder, { recursive: true });
});

const TLS = (): readonly string[] => [
  `--tls-cert-file=${inFolder("server.pem")}`,
  `--tls-private-key-file=${inFolder("server.key")}`,
];

async function startFunctions(...flags: readonly string[]): Promise<{ program: Running; url: string }> {
  const program = startProgram(["functions", "--port=0", ...flags], environment);
  programs.push(program);
  const { url } = await program.line("Serving");
  return { program, url: String(url) };
}

async function startRelay(url: string, ...flags: readonly string[]): Promise<Running> {
  const to = ["--platform=http", `--function-url=${url}/{function}`];
  const program = startProgram(["relay", "--port=0", ...to, ...flags], {
    CLUSTERS_FILE: environment["CLUSTERS_FILE"],
  });
  programs.push(program);
  await program.line("PlatformReady");
  return program;
}

/** Launches machines and registers their nodes. */
async function join20(): Promise<number> {
  const before = history.schedulable;
  const instances = ec2.addInstances(Array.from({ length: 20 }, () => ({})));
  await Promise.all(
    instances.map(({ id, availabilityZone, privateDnsName: name }) =>
      admin.send({
        method: "POST",
        path: "/api/v1/nodes",
        body: buildJoiningNode({ name, providerID: `aws:///${availabilityZone}/${id}` }),
      }),
    ),
  );
  return before + 20;
}

describe("a relay and functions over HTTP", () => {
  test.each([
    ["in the same thread", ["--workers=0"]],
    ["in workers", ["--workers=1"]],
  ])("bring up twenty nodes over TLS with a bearer token, %s", async (_, workers) => {
    const functions = await startFunctions(...TLS(), `--token-file=${inFolder("token")}`);
    const relay = await startRelay(
      functions.url,
      `--function-ca-file=${inFolder("ca.pem")}`,
      `--function-token-file=${inFolder("token")}`,
      ...workers,
    );
    const all = await join20();
    await waitUntilTrue("twenty nodes to come up", () => history.schedulable >= all);
    expect([...history.records.values()].filter(({ naked }) => naked)).toEqual([]);
    expect([await relay.end("SIGTERM"), await functions.program.end("SIGTERM")]).toEqual([0, 0]);
    expect(functions.program.lines.at(-1)).toMatchObject({ event: "Drained", finished: true });
  });

  test.each<[string, () => Promise<string>]>([
    ["in the same process", async () => `${(await startFunctions()).url}/sweep`],
    [
      "by functions elsewhere",
      async () => {
        const { url } = await startFunctions(
          "--functions=node",
          ...TLS(),
          `--token-file=${inFolder("token")}`,
        );
        const sweep = await startFunctions(
          ...["--functions=sweep", `--function-url=${url}/{function}`],
          ...[`--function-ca-file=${inFolder("ca.pem")}`, `--function-token-file=${inFolder("token")}`],
        );
        return sweep.url;
      },
    ],
  ])("the sweep finds what no relay has sent, and has it done %s", async (_, startSweep) => {
    const url = await startSweep();
    const all = await join20();
    await waitUntilTrue("the sweep to bring them up", async () => {
      const answer = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{}",
      });
      expect(answer.status).toBe(200);
      await answer.arrayBuffer();
      return history.schedulable >= all;
    });
  });

  test("API servers ask admission at its signed path, and strangers learn nothing", async () => {
    const program = startProgram(["functions", "--port=0", ...TLS(), `--token-file=${inFolder("token")}`], {
      ...environment,
      ADMISSION_PUBLIC_KEYS: PUBLIC_KEY,
    });
    programs.push(program);
    const { url, functions } = await program.line("Serving");
    expect(functions).toContain("admission");
    const agent = new Agent({ connect: { ca: authority.certificate } });
    const ask = async (path: string): Promise<number> => {
      const { statusCode, body } = await request(`${url}${path}`, {
        ...{ dispatcher: agent, method: "POST", headers: { "content-type": "application/json" } },
        body: JSON.stringify(
          buildReview({ metadata: { name: "x", namespace: "default", uid: "u" }, spec: {} }),
        ),
      });
      await body.dump();
      return statusCode;
    };
    // The cluster has no token for admission, so the review ends there.
    expect([
      await ask(buildSignedPath("blue")),
      await ask("/lb-service/blue"),
      await ask("/lb-service/"),
    ]).toEqual([401, 401, 404]);
    await agent.close();
  });

  test("an API server's report brings nodes up without a relay", async () => {
    const program = startProgram(["functions", "--port=0"], {
      ...environment,
      AUDIT_PUBLIC_KEYS: derivePublicKey(SIGNING_KEY),
    });
    programs.push(program);
    const { url } = await program.line("Serving");
    const all = await join20();
    const report = async (token: string): Promise<number> => {
      const answer = await fetch(`${url}/audit/blue`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
        body: buildEventList([buildAuditEvent("create", { resource: "nodes" })]),
      });
      await answer.arrayBuffer();
      return answer.status;
    };
    expect(await report(signCluster("audit", "red", SIGNING_KEY))).toBe(401);
    expect(await report(signCluster("audit", "blue", SIGNING_KEY))).toBe(200);
    await waitUntilTrue("the report to bring them up", () => history.schedulable >= all);
  });

  test("a relay says which function refuses its token", async () => {
    await writeFile(inFolder("other"), "another-token");
    const { url, program } = await startFunctions(...TLS(), `--token-file=${inFolder("token")}`);
    const relay = startProgram(["relay", "--port=0", "--platform=http", `--function-url=${url}/{function}`], {
      CLUSTERS_FILE: environment["CLUSTERS_FILE"],
      FUNCTION_TOKEN: "another-token",
      NODE_EXTRA_CA_CERTS: inFolder("ca.pem"),
    });
    programs.push(relay);
    const line = await relay.line("PlatformUnreachable");
    expect(line["codes"]).toContain("CredentialsRefused");
    expect(JSON.stringify([relay.lines, program.lines])).not.toContain("another-token");
  });
});
