import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type KubeconfigAccess, readKubeconfig } from "#cli/clusters/kubeconfig.ts";
import type { TlsCredentials } from "#kube/client/connection.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "kubeconfig-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const inFolder = (name: string): string => join(folder, name);
const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Writes a kubeconfig of one user and one cluster. */
function write(user: object, cluster: object = {}): Promise<void> {
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { server: "https://api.blue.example/", ...cluster } }],
    users: [{ name: "u", user }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  };
  return writeFile(inFolder("config"), JSON.stringify(kubeconfig));
}

function read(): Promise<KubeconfigAccess> {
  return readKubeconfig(inFolder("config"));
}

/** Returns the credentials of a user whose pair and authority have these names. */
function credentials(pair: string, certificateAuthority?: string): TlsCredentials {
  return { certificateAuthority, clientCertificate: { certificate: `${pair} crt`, key: `${pair} key` } };
}

function inlinePair(name: string): object {
  return {
    "client-certificate-data": base64(`${name} crt`),
    "client-key-data": base64(`${name} key`),
  };
}

async function writeFiles(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) await writeFile(inFolder(name), text);
}

test("files of authority and pair are read again for each connection", async () => {
  const user = { "client-certificate": inFolder("crt"), "client-key": inFolder("key") };
  await writeFiles({ crt: "old crt", key: "old key", ca: "old ca" });
  await write(user, { "certificate-authority": inFolder("ca") });
  const { server, tls } = await read();
  expect([server, await tls()]).toEqual(["https://api.blue.example", credentials("old", "old ca")]);
  await writeFiles({ crt: "renewed crt", key: "renewed key", ca: "renewed ca" });
  expect(await tls()).toEqual(credentials("renewed", "renewed ca"));
});

test("the kubeconfig itself is read again after a change", async () => {
  await write(inlinePair("old"), { "certificate-authority-data": base64("old ca") });
  const { tls } = await read();
  await write(inlinePair("renewed"), { "certificate-authority-data": base64("renewed ca") });
  expect(await tls()).toEqual(credentials("renewed", "renewed ca"));
});

test.each([
  { given: "half written", rewrite: () => writeFile(inFolder("config"), '{"clusters":[{"na') },
  { given: "gone", rewrite: () => rm(inFolder("config")) },
  { given: "one that skips verification", rewrite: () => write({}, { "insecure-skip-tls-verify": true }) },
])("a kubeconfig that is $given is not used; the last one holds until it is refused", async ({ rewrite }) => {
  await write(inlinePair("old"));
  const { tls } = await read();
  await rewrite();
  expect(await tls()).toEqual(credentials("old"));
  await expect(tls({ fresh: true })).rejects.toMatchObject({ code: "KUBECONFIG" });
});

test("a token in a file is read again at once after the server has refused it", async () => {
  await writeFiles({ token: "old" });
  await write({ tokenFile: "token" });
  const { authorization } = await read();
  await writeFiles({ token: "renewed" });
  expect(await authorization()).toBe("Bearer old");
  expect(await authorization(undefined, { fresh: true })).toBe("Bearer renewed");
  expect(await authorization()).toBe("Bearer renewed");
});

test("a token in the kubeconfig itself is read again at once after the server has refused it", async () => {
  await write({ token: "old" });
  const { authorization } = await read();
  await write({ token: "renewed" });
  expect(await authorization(undefined, { fresh: true })).toBe("Bearer renewed");
});

test("an exec plugin is run again after the server has refused its token, once for all requests", async () => {
  const program = `
    const { appendFileSync, readFileSync } = require("node:fs");
    appendFileSync(process.argv[2], "x");
    const name = readFileSync(process.argv[1], "utf8");
    const status = { token: name, clientCertificateData: name + " crt", clientKeyData: name + " key" };
    const apiVersion = "client.authentication.k8s.io/v1";
    console.log(JSON.stringify({ apiVersion, kind: "ExecCredential", status }));`;
  const args = ["-e", program, inFolder("name"), inFolder("runs")];
  await writeFiles({ name: "old", runs: "" });
  await write({
    exec: {
      apiVersion: "client.authentication.k8s.io/v1",
      command: process.execPath,
      args,
      interactiveMode: "Never",
    },
  });
  const { authorization, tls } = await read();
  await writeFiles({ name: "renewed" });
  expect([await authorization(), await tls()]).toEqual(["Bearer old", credentials("old")]);
  const fresh = Array.from({ length: 50 }, () => authorization(undefined, { fresh: true }));
  const connection = tls({ fresh: true });
  expect(new Set(await Promise.all(fresh))).toEqual(new Set(["Bearer renewed"]));
  expect(await connection).toEqual(credentials("renewed"));
  expect(await readFile(inFolder("runs"), "utf8")).toBe("xx");
});
