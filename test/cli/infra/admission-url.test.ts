import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { type AdmissionUrlFlags, printAdmissionUrls } from "#cli/infra/admission-url.ts";
import { createReadPath } from "#functions/parts/admission/signed-path.ts";
import { parsePublicKeys } from "#functions/parts/cluster-signature.ts";
import { runProgram } from "#test/cli/program.ts";
import { getSigningKey } from "#test/functions/admission/review-builders.ts";

const FUNCTION_URL = "https://abc.lambda-url.eu-central-1.on.aws/";

let folder: string;
let key: string;
const inFolder = async (name: string, text: string): Promise<string> => {
  await writeFile(join(folder, name), text, { mode: 0o600 });
  return join(folder, name);
};
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "admission-url-"));
  key = await inFolder("key.pem", getSigningKey());
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function printed(flags: AdmissionUrlFlags): Promise<readonly string[]> {
  let text = "";
  await printAdmissionUrls(flags, (more) => {
    text += more;
  });
  return text.trimEnd().split("\n");
}

test("prints for each cluster a URL that is valid for this cluster only, by the public key that it prints", async () => {
  const [publicKey = ""] = await printed({ signingKey: key, publicKey: true });
  const urls = await printed({
    ...{ signingKey: key, publicKey: false, functionUrl: FUNCTION_URL },
    clusterName: ["blue", "team-a.prod"],
  });
  const keys = parsePublicKeys(publicKey);
  const read = createReadPath(keys.kind === "keys" ? keys.keys : []);
  const paths = urls.map((url) => {
    const { origin, pathname } = new URL(url);
    expect(`${origin}/`).toBe(FUNCTION_URL);
    return pathname;
  });
  expect(paths.map(read)).toEqual([
    { cluster: "blue", isSigned: true },
    { cluster: "team-a.prod", isSigned: true },
  ]);
  expect(read(paths[0]?.replace("blue", "red") ?? "")).toEqual({ cluster: "red", isSigned: false });
});

test("runs as the guide describes", async () => {
  const { code, stdout } = await runProgram([
    ...["infra", "admission-url", "--signing-key", key, "--cluster-name", "blue"],
    ...["--function-url", FUNCTION_URL],
  ]);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/on\.aws\/lb-service\/blue\/[\w-]{86}\n$/)]);
});

const BLUE = { publicKey: false, functionUrl: FUNCTION_URL, clusterName: ["blue"] };
test.each<[string, () => Promise<AdmissionUrlFlags>, readonly string[]]>([
  ["nothing", async () => ({ publicKey: false }), ["--signing-key", "--function-url", "--cluster-name"]],
  ["a missing key", async () => ({ ...BLUE, signingKey: "/nowhere" }), ["--signing-key"]],
  [
    "an invalid key",
    async () => ({ ...BLUE, signingKey: await inFolder("none.pem", "PRIVATE-WORDS") }),
    ["--signing-key"],
  ],
  [
    "a key of another kind",
    async () => {
      const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
      const pem = privateKey.export({ format: "pem", type: "pkcs8" }).toString();
      return { ...BLUE, signingKey: await inFolder("ec.pem", pem) };
    },
    ["--signing-key"],
  ],
  [
    "a URL with a path",
    async () => ({ ...BLUE, signingKey: key, functionUrl: `${FUNCTION_URL}lb-service` }),
    ["--function-url"],
  ],
  [
    "a URL without TLS",
    async () => ({ ...BLUE, signingKey: key, functionUrl: "http://a.example/" }),
    ["--function-url"],
  ],
  [
    "invalid names",
    async () => ({ ...BLUE, signingKey: key, clusterName: ["blue", "a/b", "Blue"] }),
    ["--cluster-name", "--cluster-name"],
  ],
])("%s is rejected by name, and nothing is printed or quoted", async (_, flags, names) => {
  const error = await printed(await flags()).catch((reason: unknown) => reason);
  if (!(error instanceof ConfigurationError)) throw new Error(`no fault: ${String(error)}`);
  expect(error.faults.map(({ name }) => name)).toEqual(names);
  expect(JSON.stringify(error.faults)).not.toContain("PRIVATE");
});
