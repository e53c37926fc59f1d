import { access, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connectRelay, describeSignInFailure } from "#cli/clusters/connect-identity.ts";
import { readKubeconfig } from "#cli/clusters/kubeconfig.ts";
import { Cluster } from "#config/cluster.ts";
import type { KubeconfigPower } from "#config/sign-in/kinds.ts";
import { type EmbeddedControlPlane, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";

/** Address rules as for a file. */
const OWN = { trustsEntries: true, networks: [] };

let folder: string;
let plane: EmbeddedControlPlane;
let token: string;
let authority: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "connect-relay-"));
  plane = await startEmbeddedControlPlane({ folder: join(folder, "plane") });
  token = (await readFile(plane.tokenFile("relay"), "utf8")).trim();
  authority = Buffer.from(await readFile(plane.certificateAuthorityFile, "utf8")).toString("base64");
});
afterEach(async () => {
  await plane.close();
  await rm(folder, { recursive: true, force: true });
});

const at = (name: string): string => join(folder, name);
const wasRun = (): Promise<boolean> =>
  access(at("marker")).then(
    () => true,
    () => false,
  );

interface Parts {
  readonly user?: object;
  readonly cluster?: object;
  /** More users, which the context does not name. */
  readonly others?: readonly object[];
}

/** Writes a kubeconfig as a tenant would, with a token and the authority's certificate in it. */
async function write({ user = { token }, cluster = {}, others = [] }: Parts): Promise<void> {
  const trusted = { server: plane.server, "certificate-authority-data": authority };
  const kubeconfig = {
    clusters: [{ name: "c", cluster: { ...trusted, ...cluster } }],
    users: [{ name: "u", user }, ...others],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  };
  await writeFile(at("kubeconfig"), JSON.stringify(kubeconfig));
}

interface Entry {
  readonly allow?: readonly KubeconfigPower[];
  readonly certificateAuthorityFile?: string;
}

/** Returns the API server's answer to the relay of a cluster whose entry names that kubeconfig. */
async function ask({ allow, ...entry }: Entry = {}): Promise<number> {
  const cluster = Cluster.parse({
    name: "blue",
    server: plane.server,
    signIn: { relay: { kind: "kubeconfig", file: at("kubeconfig"), ...(allow && { allow }) } },
    cloud: { provider: "memory", instancesFile: "unused" },
    ...entry,
  });
  const transport = await connectRelay(cluster, OWN);
  try {
    return (await transport.send({ method: "GET", path: "/api/v1/nodes" })).status;
  } finally {
    await transport.close();
  }
}

async function faultOf(asking: Promise<unknown>): Promise<string> {
  const error: unknown = await asking.then(
    () => new Error("it was accepted"),
    (reason: unknown) => reason,
  );
  return describeSignInFailure(error).message;
}

/** Creates a program that leaves a mark and prints the token. */
const plugin = () => ({
  apiVersion: "client.authentication.k8s.io/v1",
  command: process.execPath,
  args: [
    "-e",
    `require("node:fs").writeFileSync(process.argv[1], ""); console.log(process.argv[2])`,
    at("marker"),
    JSON.stringify({
      apiVersion: "client.authentication.k8s.io/v1",
      kind: "ExecCredential",
      status: { token },
    }),
  ],
  interactiveMode: "Never",
});

const ROWS: readonly [string, () => Parts, KubeconfigPower, string][] = [
  [
    "an exec plugin",
    () => ({ user: { exec: plugin() } }),
    "exec",
    "exec is refused: it names a program to be run",
  ],
  [
    "an exec plugin in the way of old",
    () => ({ user: { "auth-provider": { name: "exec", config: { exec: plugin() } } } }),
    "auth-provider",
    "auth-provider is refused: it may name a program to be run",
  ],
  [
    "a token file",
    () => ({ user: { tokenFile: plane.tokenFile("relay") } }),
    "files",
    "tokenFile is refused",
  ],
  [
    "a token file by a path that is relative",
    () => ({ user: { tokenFile: relative(folder, plane.tokenFile("relay")) } }),
    "files",
    "tokenFile is refused",
  ],
  [
    "a token file by its other key",
    () => ({ user: { "token-file": plane.tokenFile("relay") } }),
    "files",
    "tokenFile is refused: it names a file of this machine",
  ],
  [
    "an authority's file",
    () => ({
      cluster: {
        "certificate-authority-data": undefined,
        "certificate-authority": relative(folder, plane.certificateAuthorityFile),
      },
    }),
    "files",
    "certificate-authority is refused",
  ],
  [
    "no verification",
    () => ({ cluster: { "certificate-authority-data": undefined, "insecure-skip-tls-verify": true } }),
    "insecure-skip-tls-verify",
    "insecure-skip-tls-verify is refused: any server could pretend to be the API server",
  ],
  [
    "another server",
    () => ({ cluster: { server: "https://tenant-b.example.com" } }),
    "server",
    "server is refused: it is another than the entry's",
  ],
];

describe("a kubeconfig that a clusters file names", () => {
  test("signs in with its credentials, to the entry's server", async () => {
    await write({ cluster: { server: `${plane.server}/` } });
    expect(await ask()).toBe(200);
  });

  test.each(ROWS)("with %s is rejected, and nothing is run", async (_, parts, power, words) => {
    await write(parts());
    const fault = await faultOf(ask());
    expect(fault).toContain(`kubeconfig ${at("kubeconfig")}: ${words}`);
    expect(fault).toContain(`or allow it by signIn.relay.allow: [${power}] in the cluster's entry`);
    expect(await faultOf(ask({ allow: ROWS.map((row) => row[2]).filter((each) => each !== power) }))).toBe(
      fault,
    );
    expect(await wasRun()).toBe(false);
  });

  test.each(ROWS)("with %s is accepted if the entry allows it", async (_, parts, power) => {
    await write(parts());
    expect(await ask({ allow: [power] })).toBe(200);
  });

  test("with a client certificate in files names both keys", async () => {
    await write({ user: { "client-certificate": "tls.crt", "client-key": "/tls.key" } });
    expect(await faultOf(ask())).toContain("client-certificate, client-key are refused");
  });

  test.each<[string, Parts, string]>([
    ["a proxy", { cluster: { "proxy-url": "http://10.0.0.1:3128" } }, "proxy-url is not supported"],
    ["impersonation", { user: { token: "t", as: "root" } }, "impersonation (as) is not supported"],
    ["a server that is no text", { cluster: { server: 5 } }, "is not a kubeconfig"],
    ["a file that is no text", { user: { tokenFile: 5 } }, "is not a kubeconfig"],
    ["plain text", { cluster: { server: "http://127.0.0.1" } }, "its server is not https"],
  ])("with %s is rejected whatever the entry allows", async (_, parts, words) => {
    await write(parts);
    expect(await faultOf(ask({ allow: ["exec", "auth-provider", "files", "server"] }))).toContain(words);
  });

  test("is rejected from the moment when it names a program, too", async () => {
    await write({});
    const cluster = Cluster.parse({
      name: "blue",
      server: plane.server,
      signIn: { relay: { kind: "kubeconfig", file: at("kubeconfig") } },
      cloud: { provider: "memory", instancesFile: "unused" },
    });
    const transport = await connectRelay(cluster, OWN);
    await write({ user: { exec: plugin(), token: "no more" } });
    const get = () => transport.send({ method: "GET", path: "/api/v1/nodes" });
    expect((await get()).status).toBe(200);
    await transport.close();
    expect(await faultOf(connectRelay(cluster, OWN))).toContain("exec is refused");
    expect(await wasRun()).toBe(false);
  });

  test("does not cause reads of files of users that its context does not name", async () => {
    await write({ others: [{ name: "other", user: { "token-file": "/dev/zero" } }] });
    expect(await ask()).toBe(200);
  });

  test("is verified by the entry's authority, if that names one", async () => {
    await write({ cluster: { "certificate-authority-data": Buffer.from("none").toString("base64") } });
    expect(await ask({ certificateAuthorityFile: plane.certificateAuthorityFile })).toBe(200);
    await write({ cluster: { "insecure-skip-tls-verify": true } });
    const allow = ["insecure-skip-tls-verify"] as const;
    const file = at("ca.crt");
    await writeFile(file, (await createCertificateAuthority()).certificate);
    await expect(ask({ allow, certificateAuthorityFile: file })).rejects.toMatchObject({
      code: "NotTrusted",
    });
  });
});

describe("the operator's own kubeconfig, by flag", () => {
  test("may run its exec plugin and name files", async () => {
    await write({ user: { exec: plugin() } });
    const { authorization } = await readKubeconfig(at("kubeconfig"));
    expect([await authorization(), await wasRun()]).toEqual([`Bearer ${token}`, true]);
  });

  test.each<[string, () => Parts, string]>([
    [
      "a missing authority file",
      () => ({ cluster: { "certificate-authority": "absent.crt" } }),
      "its certificate-authority FOLDER/absent.crt cannot be read (ENOENT)",
    ],
    [
      "a missing certificate file",
      () => ({ user: { "client-certificate": "/absent.crt", "client-key": "/absent.key" } }),
      "its client-certificate /absent.crt cannot be read (ENOENT)",
    ],
    [
      "a token file that is a device",
      () => ({ user: { tokenFile: "/dev/zero" } }),
      "its token file /dev/zero is not a regular file",
    ],
    [
      "an authority's file that is a device",
      () => ({ cluster: { "certificate-authority": "/dev/zero" } }),
      "its certificate-authority /dev/zero is not a regular file",
    ],
    [
      "an exec plugin that fails",
      () => ({ user: { exec: { ...plugin(), command: "/absent" } } }),
      "signing in as its user failed: run its exec plugin by hand",
    ],
    [
      "no verification",
      () => ({ cluster: { "insecure-skip-tls-verify": true } }),
      "insecure-skip-tls-verify is refused: any server could pretend to be the API server; give its certificate-authority-data",
    ],
  ])("with %s says what is missing", async (_, parts, words) => {
    await write(parts());
    expect(await faultOf(readKubeconfig(at("kubeconfig")))).toContain(
      words.replace("FOLDER", dirname(at("x"))),
    );
  });
});
