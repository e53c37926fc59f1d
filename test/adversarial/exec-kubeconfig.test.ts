import { access, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startListener } from "#emulators/api-server/listener.ts";
import { type EmbeddedControlPlane, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { buildClusterEntry, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { type Attacked, startAttackedRelay } from "#test/adversarial/processes.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

// A secret that a tenant's kubeconfig tries to take from the operator of a relay.

const SECRET = "a-secret-of-the-operator";

let folder: string;
let relay: Attacked;
let planes: readonly EmbeddedControlPlane[];
const signedInWith = new Set<string>();

const path = (name: string): string => join(folder, name);
const exists = (name: string): Promise<boolean> =>
  access(path(name)).then(
    () => true,
    () => false,
  );

const ROWS = [
  ["exec", () => ({ user: { exec: execTouching("executed") } }), /exec/],
  ["token-file", () => ({ user: { tokenFile: path("operators-token") } }), /tokenFile/],
  [
    "certificate-files",
    () => ({
      user: { "client-certificate": path("operators-token"), "client-key": path("operators-token") },
    }),
    /client-certificate/,
  ],
  [
    "insecure",
    () => ({ user: { token: "x" }, cluster: { "insecure-skip-tls-verify": true } }),
    /insecure-skip-tls-verify/,
  ],
  ["proxy", () => ({ user: { token: "x" }, cluster: { "proxy-url": `https://127.0.0.1:1` } }), /proxy-url/],
] as const;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "exec-kubeconfig-"));
  await writeFile(path("operators-token"), SECRET);
  const honest = await startEmbeddedControlPlane({ folder: path("honest") });
  const hostile = await startEmbeddedControlPlane({
    folder: path("hostile"),
    listen: (port, certificate, handle) =>
      startListener(port, certificate, (request, answer) => {
        signedInWith.add(request.headers.authorization ?? "");
        handle(request, answer);
      }),
  });
  planes = [honest, hostile];
  await writeFile(path("instances.json"), JSON.stringify({ instances: [] }));
  const cloud = { provider: "memory", instancesFile: path("instances.json") } as const;
  const entries = [buildClusterEntry(honest, { name: "honest", cloud })];
  for (const [name, difference] of ROWS) {
    await writeKubeconfig(path(`${name}.kubeconfig`), hostile, difference());
    const signIn = { relay: { kind: "kubeconfig", file: path(`${name}.kubeconfig`) } } as const;
    entries.push(buildClusterEntry(hostile, { name, cloud, signIn }));
  }
  await writeClustersFile(path("clusters.yaml"), ...entries);
  relay = await startAttackedRelay(path("clusters.yaml"), {
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "x",
    AWS_SECRET_ACCESS_KEY: "x",
  });
});
afterAll(async () => {
  await relay?.stop();
  for (const plane of planes ?? []) await plane.close();
  await rm(folder, { recursive: true, force: true });
});

describe("a tenant's kubeconfig", () => {
  test("does not keep other clusters from being followed", async () => {
    const page = () => fetch(`${relay.url}/readyz/clusters/honest`);
    await waitUntilTrue("honest to be ready", async () => (await page()).status === 200);
  });

  test.each(ROWS)("with %s is rejected, with a reason", async (name, _, why) => {
    const page = await fetch(`${relay.url}/readyz/clusters/${name}`);
    expect(page.status).toBe(503);
    expect(await page.text()).toMatch(why);
  });

  test("runs no program and sends nothing of the operator's", async () => {
    expect(await exists("executed")).toBe(false);
    expect([...signedInWith].filter((header) => header.includes(SECRET))).toEqual([]);
  });
});

function execTouching(name: string) {
  return {
    apiVersion: "client.authentication.k8s.io/v1",
    command: "/bin/sh",
    args: ["-c", `touch ${path(name)}`],
    interactiveMode: "Never",
  };
}

async function writeKubeconfig(
  file: string,
  plane: EmbeddedControlPlane,
  { user, cluster = {} }: { readonly user: object; readonly cluster?: object },
): Promise<void> {
  const { server, certificateAuthorityFile } = plane;
  const trust =
    "insecure-skip-tls-verify" in cluster
      ? {}
      : { "certificate-authority-data": await base64(certificateAuthorityFile) };
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "tenant", cluster: { server, ...trust, ...cluster } }],
    users: [{ name: "tenant", user }],
    contexts: [{ name: "tenant", context: { cluster: "tenant", user: "tenant" } }],
    "current-context": "tenant",
  };
  await writeFile(file, JSON.stringify(kubeconfig));
}

async function base64(file: string): Promise<string> {
  return (await readFile(file)).toString("base64");
}
