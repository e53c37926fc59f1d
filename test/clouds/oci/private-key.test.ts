import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { loadOciCloud } from "#clouds/oci/cloud.ts";
import { createKeySource } from "#clouds/oci/private-key.ts";
import { buildCall } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";
import { API_KEY, createApiKey } from "#test/clouds/oci/fake/credentials.ts";
import { startFakeOci } from "#test/clouds/oci/fake/server.ts";
import { buildConfig, buildIdentifiedNode } from "#test/clouds/oci/world.ts";

const KEY = createPrivateKey(API_KEY.pem);
const PHRASE = "a phrase with 'quotes' and #";
const exported = (type: "pkcs1" | "pkcs8"): string => KEY.export({ type, format: "pem" }).toString();
const ENCRYPTED = KEY.export({
  type: "pkcs8",
  format: "pem",
  cipher: "aes-256-cbc",
  passphrase: PHRASE,
}).toString();
const inYaml = (pem: string, more = ""): string =>
  `auth:\n  region: us-phoenix-1\n  key: |\n${pem.replace(/^/gm, "    ")}\n${more}compartment: c\n`;

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "oci-key-"));
  file = join(folder, "key.pem");
});
afterEach(() => rm(folder, { recursive: true }));

const read = async (auth: Record<string, unknown> = {}) =>
  createKeySource(buildConfig({ auth: { keyFile: file, ...auth } }), { clusterName: "blue" })();

describe("a signing key is read", () => {
  test.each<[string, string]>([
    ["as PKCS#8", exported("pkcs8")],
    ["as PKCS#1", exported("pkcs1")],
    ["with Windows line breaks", exported("pkcs8").replaceAll("\n", "\r\n")],
    ["with a comment around it", `# mine\n${exported("pkcs8")}OCI_API_KEY\n`],
    ["from a stock configuration", inYaml(exported("pkcs1"))],
    [
      "from one line of a stock configuration",
      `auth:\n  key: "${exported("pkcs8").replaceAll("\n", "\\n")}"\n`,
    ],
    ["from a stock configuration in JSON", JSON.stringify({ auth: { key: exported("pkcs1") } })],
    [
      "encrypted, from a stock configuration in JSON",
      JSON.stringify({ auth: { key: ENCRYPTED, key_passphrase: PHRASE } }),
    ],
    ["from JSON", JSON.stringify({ key: exported("pkcs8") })],
    ["encrypted, from JSON with its passphrase", JSON.stringify({ key: ENCRYPTED, passphrase: PHRASE })],
  ])("%s", async (_, content) => {
    await writeFile(file, content);
    expect((await read()).equals(KEY)).toBe(true);
  });

  test.each<[string, string]>([
    ["alone on its line", `${PHRASE}\n`],
    ["in a stock configuration", `auth:\n  passphrase: "${PHRASE}"\n`],
    ["under its older name", `auth:\n  key_passphrase: "${PHRASE}"\n  passphrase: ''\n`],
    ["in single quotes", `auth:\n  passphrase: '${PHRASE.replaceAll("'", "''")}'\n`],
  ])("encrypted, with a passphrase %s", async (_, phrase) => {
    await writeFile(file, ENCRYPTED);
    await writeFile(join(folder, "phrase"), phrase);
    expect((await read({ passphraseFile: join(folder, "phrase") })).equals(KEY)).toBe(true);
  });

  test("encrypted, from a stock configuration that holds both", async () => {
    await writeFile(file, inYaml(ENCRYPTED, `  passphrase: "${PHRASE}"\n`));
    expect((await read({ passphraseFile: file })).equals(KEY)).toBe(true);
  });
});

describe("an unusable signing key is reported without a word of it", () => {
  const other = createApiKey();
  const ec = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  const broken = API_KEY.pem.replace("\nMII", "\nAAA");

  test.each<[string, string | undefined, Record<string, unknown>, string]>([
    ["no file", undefined, {}, "cannot be read (ENOENT)"],
    ["an empty file", " \n", {}, "is empty"],
    ["no PEM", "s3cret", {}, "holds no private key as PEM"],
    [
      "a public key",
      "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
      {},
      "holds no private key as PEM",
    ],
    ["a broken key", broken, {}, "cannot be read"],
    ["JSON without a key", '{"passphrase":"s3cret"}', {}, "holds no private key"],
    ["truncated JSON", '{"key":"s3cret', {}, "holds no private key"],
    [
      "an elliptic curve",
      ec.export({ type: "pkcs8", format: "pem" }).toString(),
      {},
      "Oracle takes RSA alone",
    ],
    ["a missing passphrase", ENCRYPTED, {}, "is encrypted; give its passphrase"],
    [
      "another key",
      other.pem,
      {},
      `holds the key ${other.fingerprint}, and auth.fingerprint is ${API_KEY.fingerprint}`,
    ],
  ])("%s", async (_, content, auth, message) => {
    if (content !== undefined) await writeFile(file, content);
    const error = await read(auth).catch((cause: Error) => cause.message);
    expect(error).toContain(message);
    expect(error).toContain(file);
    const secrets = [
      PHRASE,
      "s3cret",
      ...(content ?? "").split("\n").filter((line) => line.length > 30 && !line.includes("-----")),
    ];
    expect(secrets.filter((each) => String(error).includes(each))).toEqual([]);
  });

  test("a wrong passphrase, and a passphrase of two lines", async () => {
    await writeFile(file, ENCRYPTED);
    const phraseFile = join(folder, "phrase");
    await writeFile(phraseFile, "wr0ng");
    await expect(read({ passphraseFile: phraseFile })).rejects.toThrow("this passphrase does not open");
    await writeFile(phraseFile, "one\ntwo");
    await expect(read({ passphraseFile: phraseFile })).rejects.toThrow(
      `${phraseFile} holds no passphrase on one line`,
    );
  });
});

describe("while a cloud is open", () => {
  const world = async () => {
    const fake = await startFakeOci();
    await writeFile(file, API_KEY.pem);
    const cloud = await loadOciCloud(buildConfig({ auth: { keyFile: file } }, fake.url), {
      clusterName: "tenant-a",
    });
    const instance = fake.compute.add();
    return {
      fake,
      ask: async () =>
        (await cloud.instances([buildIdentifiedNode(instance)], buildCall())).answers.map(formatAnswer),
      id: instance.id,
      async close() {
        await cloud.close();
        await fake.close();
      },
    };
  };

  test("a damaged key stays in use as it was, and requests carry the user agent", async () => {
    const { fake, ask, id, close } = await world();
    await writeFile(file, "s3cret");
    expect(await ask()).toEqual([id]);
    expect(fake.requests.at(-1)?.headers["user-agent"]).toBe("serverless-ccm (tenant-a)");
    await close();
  });

  test("a rejected key is read again, and used again only if it differs", async () => {
    const { fake, ask, close } = await world();
    fake.acceptKey(undefined);
    expect(await ask()).toEqual(["Denied"]);
    expect(fake.requests).toHaveLength(1);
    await close();
  });
});
