import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Cluster } from "#config/cluster.ts";
import { SignInError, type SignInRole } from "#config/sign-in/error.ts";
import type { SignIn } from "#config/sign-in/kinds.ts";
import { getSignInRole, type SignInOptions, signIn } from "#config/sign-in.ts";
import { WATCHES } from "#core/controllers.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";
import type { TlsCredentials } from "#kube/client/connection.ts";

let folder: string;
let now = 0;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sign-in-"));
  now = 0;
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Signs the functions of a cluster in; file names are relative to the folder. */
function signedIn(how: SignIn | undefined, certificateAuthorityFile?: string): Promise<SignInOptions> {
  const cluster = Cluster.parse({
    name: "blue",
    server: "https://api.blue.example",
    ...(certificateAuthorityFile && { certificateAuthorityFile: join(folder, certificateAuthorityFile) }),
    ...(how && { signIn: { functions: inFolder(how) } }),
    cloud: { provider: "memory", instancesFile: "unused" },
  });
  return signIn(cluster, "functions", { now: () => now });
}

function inFolder(how: SignIn): unknown {
  return Object.fromEntries(
    Object.entries(how).map(([key, value]) => [
      key,
      /file$/i.test(key) ? join(folder, String(value)) : value,
    ]),
  );
}

function write(name: string, text: string): Promise<void> {
  return writeFile(join(folder, name), text);
}

const TOKEN_FILE: SignIn = { kind: "token-file", file: "token" };
const CERTIFICATE: SignIn = { kind: "client-certificate", certificateFile: "tls.crt", keyFile: "tls.key" };

describe("signing in", () => {
  it("with a token file: a bearer token, trimmed", async () => {
    await write("token", "abc.def\n");
    expect(await (await signedIn(TOKEN_FILE)).authorization?.()).toBe("Bearer abc.def");
  });

  it("with a client certificate and an authority: PEM, all of it read again for each connection", async () => {
    const [old, renewed] = [await rotation(), await rotation()];
    await old.put("ca.crt", "tls.crt", "tls.key");
    const { tls } = await signedIn(CERTIFICATE, "ca.crt");
    expect(await tls()).toEqual(old.credentials);
    await renewed.put("ca.crt", "tls.crt", "tls.key");
    expect(await tls()).toEqual(renewed.credentials);
  });

  it("with a token file and an authority: the authority read again for each connection", async () => {
    const [old, renewed] = [await rotation(), await rotation()];
    await write("token", "t");
    await old.put("ca.crt");
    const { tls } = await signedIn(TOKEN_FILE, "ca.crt");
    await renewed.put("ca.crt");
    const { certificateAuthority } = renewed.credentials;
    expect(await tls()).toEqual({ certificateAuthority, clientCertificate: undefined });
  });

  it("with an inline authority in the entry", async () => {
    await write("token", "t");
    const { certificate } = await createCertificateAuthority();
    const cluster = Cluster.parse({
      name: "blue",
      server: "https://api.blue.example",
      certificateAuthorityData: Buffer.from(certificate).toString("base64"),
      signIn: { functions: inFolder(TOKEN_FILE) },
      cloud: { provider: "memory", instancesFile: "unused" },
    });
    const { tls } = await signIn(cluster, "functions");
    expect((await tls()).certificateAuthority).toBe(certificate);
  });

  it.each<{ given: string; rotate: (renewed: Rotation) => Promise<void> }>([
    { given: "a key of another pair", rotate: (renewed) => renewed.put("tls.key") },
    { given: "half a certificate", rotate: () => write("tls.crt", "-----BEGIN CERTIFICATE-----\nMII") },
    { given: "no key", rotate: () => rm(join(folder, "tls.key")) },
    { given: "an empty authority", rotate: () => write("ca.crt", "") },
  ])(
    "keeps the last files when a rotation shows $given, until the server rejects them",
    async ({ rotate }) => {
      const [old, renewed] = [await rotation(), await rotation()];
      await old.put("ca.crt", "tls.crt", "tls.key");
      const { tls } = await signedIn(CERTIFICATE, "ca.crt");
      await rotate(renewed);
      expect(await tls()).toEqual(old.credentials);
      await expect(tls({ fresh: true })).rejects.toMatchObject({
        code: expect.stringMatching(/^File(Empty|Invalid|Unreadable)$/),
      });
    },
  );

  it.each([
    { given: "soon after", afterMs: 1_000, fresh: false, token: "old" },
    { given: "a while after", afterMs: 10_000, fresh: false, token: "new" },
    { given: "at once where the server refused the old one", afterMs: 0, fresh: true, token: "new" },
  ])("reads a renewed token $given: $token", async ({ afterMs, fresh, token }) => {
    await write("token", "old");
    const { authorization } = await signedIn(TOKEN_FILE);
    await write("token", "new");
    now += afterMs;
    expect(await authorization?.(undefined, { fresh })).toBe(`Bearer ${token}`);
  });

  it("keeps the last token during a rotation, until the server rejects it", async () => {
    await write("token", "old");
    const { authorization } = await signedIn(TOKEN_FILE);
    await write("token", "");
    now += 60_000;
    expect(await authorization?.()).toBe("Bearer old");
    await expect(authorization?.(undefined, { fresh: true })).rejects.toMatchObject({ code: "FileEmpty" });
  });

  it.each<{
    given: string;
    files?: Record<string, string>;
    how?: SignIn;
    authority?: string;
    code: string;
    names: string;
  }>([
    { given: "no sign-in", code: "NotConfigured", names: "signIn.functions" },
    {
      given: "a kubeconfig",
      how: { kind: "kubeconfig", file: "config" },
      code: "NotSupported",
      names: "token-file",
    },
    {
      given: "no token file",
      how: TOKEN_FILE,
      code: "FileUnreadable",
      names: "/token cannot be read (ENOENT)",
    },
    {
      given: "an empty token file",
      files: { token: " \n" },
      how: TOKEN_FILE,
      code: "FileEmpty",
      names: "/token is empty",
    },
    {
      given: "two tokens",
      files: { token: "s3cret s3cret" },
      how: TOKEN_FILE,
      code: "FileInvalid",
      names: "/token",
    },
    {
      given: "a huge token file",
      files: { token: "s3cret".repeat(20_000) },
      how: TOKEN_FILE,
      code: "FileTooLarge",
      names: "/token",
    },
    {
      given: "an authority that is not PEM",
      files: { "ca.crt": "s3cret" },
      how: TOKEN_FILE,
      authority: "ca.crt",
      code: "FileInvalid",
      names: "/ca.crt",
    },
    { given: "no certificate", how: CERTIFICATE, code: "FileUnreadable", names: "/tls.crt" },
    {
      given: "an invalid key",
      files: { "tls.crt": "-----BEGIN CERTIFICATE-----", "tls.key": "s3cret" },
      how: CERTIFICATE,
      code: "FileInvalid",
      names: "/tls.key",
    },
    {
      given: "an invalid pair",
      files: {
        "tls.crt": "-----BEGIN CERTIFICATE-----\ns3cret\n-----END CERTIFICATE-----",
        "tls.key": "-----BEGIN PRIVATE KEY-----\ns3cret\n-----END PRIVATE KEY-----",
      },
      how: CERTIFICATE,
      code: "FileInvalid",
      names: "/tls.key are not a certificate and its key",
    },
  ])(
    "$given is $code, in words that name cluster, role and file and no content",
    async ({ files = {}, how, authority, code, names }) => {
      for (const [name, text] of Object.entries(files)) await write(name, text);
      const error: unknown = await signedIn(how, authority).catch((failure: unknown) => failure);
      expect(error).toBeInstanceOf(SignInError);
      expect(error).toMatchObject({ code, cluster: "blue", role: "functions" });
      expect((error as Error).message).toMatch(/^cluster blue, sign-in of the functions: /);
      expect((error as Error).message).toContain(names);
      expect((error as Error).message).not.toContain("s3cret");
    },
  );
});

describe("who signs in by what", () => {
  const of = (token: string): SignIn => ({ kind: "token-file", file: join(folder, token) });
  const clusterWith = (signIns: Readonly<Record<string, SignIn>>): Cluster =>
    Cluster.parse({
      name: "blue",
      server: "https://api.blue.example",
      signIn: signIns,
      cloud: { provider: "memory", instancesFile: "unused" },
    });

  it.each<{ role: SignInRole; token: string }>([
    { role: "relay", token: "relay" },
    { role: "functions", token: "shared" },
    { role: "node", token: "shared" },
    { role: "node-lifecycle", token: "own" },
    { role: "csr", token: "shared" },
    { role: "sweep", token: "shared" },
    { role: "ec2-events", token: "shared" },
  ])("$role by $token", async ({ role, token }) => {
    for (const name of ["relay", "shared", "own"]) await write(name, name);
    const cluster = clusterWith({ relay: of("relay"), functions: of("shared"), "node-lifecycle": of("own") });
    expect(await (await signIn(cluster, role)).authorization?.()).toBe(`Bearer ${token}`);
  });

  it.each<{ role: SignInRole; written: readonly string[]; says: string }>([
    {
      role: "relay",
      written: ["functions", "node"],
      says: "relay: the sign-in is missing; add signIn.relay to",
    },
    {
      role: "functions",
      written: ["relay", "node"],
      says: "functions: the sign-in is missing; add signIn.functions to",
    },
    {
      role: "sweep",
      written: ["relay", "node"],
      says: "function sweep: the sign-in is missing; add signIn.sweep or signIn.functions to",
    },
  ])("never $role by another's", async ({ role, written, says }) => {
    await write("token", "token");
    const cluster = clusterWith(Object.fromEntries(written.map((key) => [key, of("token")])));
    const error: unknown = await signIn(cluster, role).catch((failure: unknown) => failure);
    expect(error).toMatchObject({ code: "NotConfigured", role });
    expect((error as Error).message).toContain(`cluster blue, sign-in of the ${says}`);
  });

  it.each(WATCHES)("the function of $name as itself", ({ functionName }) => {
    expect(getSignInRole(functionName)).toBe(functionName);
  });

  it("a function of no name of ours as one of all", () => {
    expect(getSignInRole("shelves")).toBe("functions");
  });
});

/** An authority and a pair of its own, to be put into place file by file. */
interface Rotation {
  readonly credentials: TlsCredentials;
  put(...names: readonly ("ca.crt" | "tls.crt" | "tls.key")[]): Promise<void>;
}

async function rotation(): Promise<Rotation> {
  const authority = await createCertificateAuthority();
  const clientCertificate = await authority.issueClient({ name: "functions", groups: [] });
  const files = {
    "ca.crt": authority.certificate,
    "tls.crt": clientCertificate.certificate,
    "tls.key": clientCertificate.key,
  };
  return {
    credentials: { certificateAuthority: authority.certificate, clientCertificate },
    put: async (...names) => {
      for (const name of names) await write(name, files[name]);
    },
  };
}
