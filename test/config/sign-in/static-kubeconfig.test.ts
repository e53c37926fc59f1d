import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { createCertificateAuthority, type KeyPair } from "#emulators/harness/certificates.ts";
import { buildCluster, expectSignInError, getToken, signInCluster } from "#test/config/sign-in/a-cluster.ts";

const SECRET = "secret7a11";
const SERVER = "https://api.blue.example:6443";

let folder: string;
let file: string;
let pair: KeyPair;
let authority: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "static-kubeconfig-"));
  file = join(folder, "kubeconfig");
  const made = await createCertificateAuthority();
  pair = await made.issueClient({ name: "functions", groups: [] });
  authority = made.certificate;
});
afterAll(() => rm(folder, { recursive: true }));

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** A kubeconfig of two contexts, of which the current one is `blue`. */
function kubeconfig(cluster: object, user: object, more: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Config",
    preferences: {},
    "current-context": "blue",
    contexts: [
      { name: "red", context: { cluster: "red", user: "red" } },
      { name: "blue", context: { cluster: "blue", user: "blue", namespace: "default" } },
    ],
    clusters: [
      { name: "red", cluster: { server: "https://elsewhere.example" } },
      { name: "blue", cluster: { server: SERVER, ...cluster } },
    ],
    users: [
      { name: "red", user: { exec: { command: "/bin/sh" } } },
      { name: "blue", user },
    ],
    ...more,
  };
}

async function read(written: unknown, how: object = {}, difference: object = {}) {
  await writeFile(file, typeof written === "string" ? written : stringify(written));
  return signInCluster({ kind: "kubeconfig", from: { file }, ...how }, undefined, difference);
}

describe("a kubeconfig that is kept as a secret", () => {
  const certificates = () => ({
    "client-certificate-data": base64(pair.certificate),
    "client-key-data": base64(pair.key),
  });

  test("signs in by the token of its current context, and by its authority", async () => {
    const signed = await read(
      kubeconfig({ "certificate-authority-data": base64(authority) }, { token: SECRET }),
    );
    expect(await getToken(signed)).toBe(SECRET);
    expect(await signed.tls()).toEqual({ certificateAuthority: authority, clientCertificate: undefined });
  });

  test("signs in by a client certificate, JSON as well as YAML", async () => {
    const signed = await read(JSON.stringify(kubeconfig({}, certificates())));
    expect(await getToken(signed)).toBeUndefined();
    const { certificate, key } = pair;
    expect(await signed.tls()).toMatchObject({ clientCertificate: { certificate, key } });
  });

  test("may be of another server, or without verification, where the entry allows it", async () => {
    const cluster = { server: "https://other.example", "insecure-skip-tls-verify": true };
    const allow = ["server", "insecure-skip-tls-verify"];
    const signed = await read(kubeconfig(cluster, { token: SECRET }), { allow });
    expect(await signed.tls()).toMatchObject({ skipsVerification: true });
  });

  test("has no say in the authority where the entry names one", async () => {
    const certificateAuthorityFile = join(folder, "ca.crt");
    await writeFile(certificateAuthorityFile, authority);
    const cluster = { "insecure-skip-tls-verify": true, "certificate-authority-data": base64("another") };
    const allow = ["insecure-skip-tls-verify"];
    const signed = await read(
      kubeconfig(cluster, { token: SECRET }),
      { allow },
      { certificateAuthorityFile },
    );
    expect(await signed.tls()).toEqual({ certificateAuthority: authority, clientCertificate: undefined });
  });

  test.each<[string, object, object, RegExp]>([
    ["exec", {}, { token: SECRET, exec: { command: `/bin/${SECRET}` } }, /exec refused: nothing is run/],
    ["an auth-provider", {}, { "auth-provider": { name: "gcp" } }, /auth-provider refused: nothing is run/],
    ["a token file", {}, { tokenFile: `/run/${SECRET}` }, /tokenFile refused: no file is read/],
    ["a token-file", {}, { token: SECRET, "token-file": "/run/t" }, /token-file refused: no file is read/],
    [
      "a key file",
      {},
      { "client-certificate": "/c", "client-key": "/k" },
      /client-certificate, client-key refused/,
    ],
    [
      "an authority file",
      { "certificate-authority": "/ca" },
      { token: SECRET },
      /certificate-authority refused/,
    ],
    ["a password", {}, { username: "admin", password: SECRET }, /username, password refused/],
    [
      "impersonation",
      {},
      { token: SECRET, as: "system:admin", "as-groups": ["system:masters"] },
      /as, as-groups refused/,
    ],
    ["a proxy", { "proxy-url": `https://${SECRET}@proxy` }, { token: SECRET }, /proxy-url refused/],
    [
      "another name",
      { "tls-server-name": "other" },
      { token: SECRET },
      /tls-server-name refused: it is another than the entry/,
    ],
    [
      "no verification",
      { "insecure-skip-tls-verify": true },
      { token: SECRET },
      /insecure-skip-tls-verify refused: anybody/,
    ],
    [
      "another server",
      { server: "https://other.example" },
      { token: SECRET },
      /server refused: it is another than the entry's/,
    ],
    ["nothing to sign in with", {}, {}, /neither a token nor client-certificate-data/],
    ["a certificate without its key", {}, { "client-certificate-data": "AAAA" }, /neither a token nor/],
    [
      "an invalid certificate",
      {},
      { "client-certificate-data": "AAAA", "client-key-data": base64(SECRET) },
      /no client certificate/,
    ],
    ["a token of two lines", {}, { token: `${SECRET}\n${SECRET}` }, /spaces or lines/],
  ])("with %s is rejected by name, whatever else it holds", async (_, cluster, user, says) => {
    await expectSignInError(read(kubeconfig(cluster, user)), "SecretInvalid", says, [SECRET, base64(SECRET)]);
  });

  test.each<[string, unknown, object, RegExp]>([
    ["no YAML", `{ ${SECRET}: [`, {}, /is not a kubeconfig: clusters, users and contexts/],
    ["something else", { token: SECRET }, {}, /is not a kubeconfig: clusters, users and contexts/],
    [
      "no current context",
      kubeconfig({}, { token: SECRET }, { "current-context": "" }),
      {},
      /its current-context has no cluster and user/,
    ],
    [
      "no such context",
      kubeconfig({}, { token: SECRET }),
      { context: "green" },
      /the context that the entry names/,
    ],
    [
      "another context than the current",
      kubeconfig({}, { token: SECRET }),
      { context: "red" },
      /exec refused.*server refused/,
    ],
  ])("that is or has %s is refused", async (_, written, how, says) => {
    await expectSignInError(read(written, how), "SecretInvalid", says, [SECRET]);
  });

  test.each([
    [
      { kind: "kubeconfig", from: { file: "a" }, allow: ["exec"] },
      /may be no more than insecure-skip-tls-verify and server/,
    ],
    [{ kind: "kubeconfig", from: { file: "a" }, file: "b" }, /needs one of file and from/],
    [{ kind: "kubeconfig" }, /needs one of file and from/],
    [
      { kind: "client-certificate", from: { file: "a" }, keyFile: "b" },
      /needs certificateFile and keyFile, or from alone/,
    ],
    [{ kind: "client-certificate" }, /needs certificateFile and keyFile, or from alone/],
    [{ kind: "token", from: {} }, /names its home by one of/],
    [{ kind: "token", from: { file: "a", ssmParameter: "b" } }, /names its home by one of/],
    [
      { kind: "token", from: { file: "a", roleArn: "arn:aws:iam::123456789012:role/a" } },
      /roleArn mean nothing/,
    ],
    [{ kind: "token", from: { secretsManager: "a" }, token: SECRET }, /token/],
    [{ kind: "eks", clusterName: "blue eks" }, /the cluster's name in EKS/],
    [{ kind: "eks", clusterName: "blue", region: "eu-centrl" }, /is not an AWS region/],
    [{ kind: "web-identity", audience: "a", durationSeconds: 59 }, /60/],
    [{ kind: "web-identity", audience: "a", durationSeconds: 3_601 }, /3600/],
    [{ kind: "web-identity", audience: "a", signingAlgorithm: "none" }, /RS256/],
  ])("an entry with %j is refused", (how, says) => {
    expect(() => buildCluster(how as never)).toThrow(says);
  });
});
