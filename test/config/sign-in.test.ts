import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Cluster, type SignIn } from "#config/cluster.ts";
import { type SignedIn, SignInError, signIn } from "#config/sign-in.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";

let folder: string;
let now = 0;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sign-in-"));
  now = 0;
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Signs the functions of a cluster in; files are named within the folder. */
function signedIn(how: SignIn | undefined, certificateAuthorityFile?: string): Promise<SignedIn> {
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

  it("with a client certificate and an authority: PEM, the certificate read again for each connection", async () => {
    const authority = await createCertificateAuthority();
    const [old, renewed] = [await issue(authority), await issue(authority)];
    await write("ca.crt", authority.certificate);
    await old();
    const { certificateAuthority, clientCertificate } = await signedIn(CERTIFICATE, "ca.crt");
    expect(certificateAuthority).toBe(authority.certificate);
    const before = await clientCertificate?.();
    await renewed();
    expect((await clientCertificate?.())?.certificate).not.toBe(before?.certificate);
  });

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

  it("goes on with the last token in the middle of a rotation, until the server refuses it", async () => {
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
      given: "a key that is none",
      files: { "tls.crt": "-----BEGIN CERTIFICATE-----", "tls.key": "s3cret" },
      how: CERTIFICATE,
      code: "FileInvalid",
      names: "/tls.key",
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

/** Issues a client certificate, to be put into place later. */
async function issue(
  authority: Awaited<ReturnType<typeof createCertificateAuthority>>,
): Promise<() => Promise<void>> {
  const { certificate, key } = await authority.issueClient({ name: "functions", groups: [] });
  return async () => {
    await write("tls.crt", certificate);
    await write("tls.key", key);
  };
}
