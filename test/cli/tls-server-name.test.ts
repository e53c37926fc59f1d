import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import * as http2 from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSecureContext, type TLSSocket } from "node:tls";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { connectIdentity } from "#cli/clusters/connect-identity.ts";
import { readKubeconfig } from "#cli/clusters/kubeconfig.ts";
import { selectAddressRules } from "#config/address-rules.ts";
import { Cluster } from "#config/cluster.ts";
import { buildEntry } from "#config/registry/kubernetes/build-entry.ts";
import type { NO_DEFAULTS } from "#config/registry/kubernetes/entry-defaults.ts";
import { parseLabelledSecret } from "#config/registry/kubernetes/found-cluster.ts";
import { signIn } from "#config/sign-in.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";

const NAME = "kubernetes.blue.example";

/** A router in front of several API servers, which selects by the name in the client's request (SNI). */
interface Router {
  readonly url: string;
  readonly certificateAuthority: string;
  /** The names that clients requested, one for each connection; "" for no name. */
  readonly asked: string[];
  close(): Promise<void>;
}

async function startRouter(): Promise<Router> {
  const [authority, stranger] = [await createCertificateAuthority(), await createCertificateAuthority()];
  const [own, other] = [
    await authority.issueNamedServer([NAME]),
    await stranger.issueNamedServer(["router.example"]),
  ];
  const blue = createSecureContext({ cert: own.certificate, key: own.key });
  const router = createSecureContext({ cert: other.certificate, key: other.key });
  const server = http2.createSecureServer({
    cert: other.certificate,
    key: other.key,
    SNICallback: (name, answer) => answer(null, name === "router.example" ? router : blue),
  });
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
  });
  server.on("session", (session) => {
    const { servername } = session.socket as TLSSocket;
    asked.push(typeof servername === "string" ? servername : "");
    session.on("error", () => {});
  });
  server.on("stream", (stream) => {
    stream.respond({ ":status": 200 });
    stream.end("ok");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    certificateAuthority: authority.certificate,
    asked,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

let router: Router;
let folder: string;
let open: Transport[];
beforeAll(async () => {
  router = await startRouter();
});
afterAll(() => router.close());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tls-server-name-"));
  open = [];
  router.asked.length = 0;
});
afterEach(async () => {
  for (const transport of open) await transport.close();
  await rm(folder, { recursive: true });
});

const base64 = (text: string): string => Buffer.from(text).toString("base64");

async function kubeconfig(cluster: object): Promise<string> {
  const file = join(folder, "kubeconfig");
  const authority = { "certificate-authority-data": base64(router.certificateAuthority) };
  const written = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { server: router.url, ...authority, ...cluster } }],
    users: [{ name: "u", user: { token: "t0ken" } }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  };
  await writeFile(file, JSON.stringify(written));
  return file;
}

function entry(difference: object, signIn: object): Cluster {
  return Cluster.parse({
    name: "blue",
    server: router.url,
    cloud: { provider: "memory", instancesFile: "/none" },
    signIn: { relay: signIn },
    ...difference,
  });
}

async function answered(transport: Transport): Promise<number> {
  open.push(transport);
  return (await transport.send({ method: "GET", path: "/readyz" })).status;
}

const ANYWHERE = selectAddressRules("file", undefined);

describe("the tls-server-name of a kubeconfig", () => {
  test("is sent to the server, and must match its certificate", async () => {
    const access = await readKubeconfig(await kubeconfig({ "tls-server-name": NAME }));
    expect(await answered(connect(access))).toBe(200);
    expect(router.asked).toEqual([NAME]);
  });

  test("is rejected if the certificate is for another name", async () => {
    const access = await readKubeconfig(await kubeconfig({ "tls-server-name": "red.example" }));
    await expect(answered(connect(access))).rejects.toMatchObject({ code: "WrongName" });
  });

  test("is required if the server is selected by its name", async () => {
    const access = await readKubeconfig(await kubeconfig({}));
    await expect(answered(connect(access))).rejects.toMatchObject({ code: "NotTrusted" });
  });
});

describe("the tlsServerName of an entry", () => {
  const relayOf = (cluster: Cluster) => connectIdentity(cluster, "relay", ANYWHERE);

  test("applies to a kubeconfig without a name", async () => {
    const signIns = { kind: "kubeconfig", file: await kubeconfig({}) };
    expect(await answered(await relayOf(entry({ tlsServerName: NAME }, signIns)))).toBe(200);
    expect(router.asked).toEqual([NAME]);
  });

  test("applies to a kubeconfig with the same name, under the authority of the entry", async () => {
    const signIns = { kind: "kubeconfig", file: await kubeconfig({ "tls-server-name": NAME }) };
    const certificateAuthorityData = base64(router.certificateAuthority);
    const cluster = entry({ tlsServerName: NAME, certificateAuthorityData }, signIns);
    expect(await answered(await relayOf(cluster))).toBe(200);
  });

  test.each(["file", "secret"] as const)("is not overridden by a kubeconfig of a %s", async (kept) => {
    const file = await kubeconfig({ "tls-server-name": NAME });
    const signIns = { kind: "kubeconfig", ...(kept === "file" ? { file } : { from: { file } }) };
    await expect(relayOf(entry({}, signIns))).rejects.toThrow(/tls-server-name (is )?refused/);
    await expect(relayOf(entry({ tlsServerName: "red.example" }, signIns))).rejects.toThrow(
      "tls-server-name",
    );
  });

  test.each(["file", "secret"] as const)("comes from a kubeconfig of a %s which may set it", async (kept) => {
    const file = await kubeconfig({ "tls-server-name": NAME });
    const signIns = {
      kind: "kubeconfig",
      ...(kept === "file" ? { file } : { from: { file } }),
      allow: ["server"],
    };
    expect(await answered(await relayOf(entry({}, signIns)))).toBe(200);
    expect(router.asked).toEqual([NAME]);
  });

  test.each([
    ["the host of the entry's server", "https://Blue.example:6443", "blue.example", undefined],
    ["its address", "https://[::1]:6443", "::1", undefined],
    ["the entry's own, in capitals", "https://10.0.0.1", "BLUE.example", "blue.example"],
  ])("may be written in a kubeconfig as %s", async (_, server, name, tlsServerName) => {
    const file = await kubeconfig({ server, "tls-server-name": name });
    for (const kept of [{ file }, { from: { file } }]) {
      const cluster = entry(
        { server, ...(tlsServerName === undefined ? {} : { tlsServerName }) },
        { kind: "kubeconfig", ...kept },
      );
      open.push(await relayOf(cluster));
    }
    expect(open).toHaveLength(2);
  });

  test("applies to functions, however they sign in", async () => {
    const file = join(folder, "token");
    await writeFile(file, "t0ken");
    const certificateAuthorityData = base64(router.certificateAuthority);
    const cluster = entry({ tlsServerName: NAME, certificateAuthorityData }, { kind: "token-file", file });
    expect(await answered(connect({ server: cluster.server, ...(await signIn(cluster, "relay")) }))).toBe(
      200,
    );
  });

  test("comes from the kubeconfig in a Secret of the management cluster", async () => {
    const text = await readFile(await kubeconfig({ "tls-server-name": NAME }), "utf8");
    const found = parseLabelledSecret({
      metadata: { name: "blue", namespace: "clusters" },
      data: { kubeconfig: base64(text) },
    });
    if (found === undefined) throw new Error("no cluster was found");
    const defaults = {
      forCluster: () => ({ cloud: { provider: "memory", instancesFile: "/none" } }),
    } satisfies typeof NO_DEFAULTS;
    expect(buildEntry(found, { home: "kubernetes:", defaults })).toMatchObject({
      server: router.url,
      tlsServerName: NAME,
    });
  });

  test("may be an address, which is compared with the certificate and not sent to a server", async () => {
    const signIns = { kind: "kubeconfig", file: await kubeconfig({}) };
    const transport = await relayOf(entry({ tlsServerName: "10.0.0.1" }, signIns));
    await expect(answered(transport)).rejects.toMatchObject({ code: "NotTrusted" });
  });

  test.each(["", "a b", "-", "a_b/"])("rejects a text that is no name: %j", (tlsServerName) => {
    expect(() => entry({ tlsServerName }, { kind: "token-file", file: "/t" })).toThrow("tlsServerName");
  });
});
