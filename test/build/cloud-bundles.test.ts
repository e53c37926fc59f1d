import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Metafile } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CLOUD_PROVIDERS } from "#clouds/providers.ts";
import { buildFunctions, selectParts, WITHOUT_CLOUDS } from "../../build/build.ts";
import { listFunctionNames } from "../../build/function-names.ts";

/** The limit in decision 0020 for a cloud without an SDK in a function. */
const MAX_BYTES = 100 * 1024;

/** AWS brings its SDK and counts with the function's size. */
const WITH_SDK = "aws";

/** Clouds without nodes share this file's answers. */
const COMMON = "no-cloud";

const names = await listFunctionNames();
const asking = names.filter((name) => !WITHOUT_CLOUDS.has(name));
const providers = CLOUD_PROVIDERS.map(({ provider }) => provider as string).filter(
  (each) => each !== WITH_SDK,
);
const cases = asking.flatMap((name) => providers.map((provider) => ({ name, provider })));

describe("of the clouds without an SDK", () => {
  let folder = "";
  const bundles = new Map<string, Metafile["outputs"]>();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "cloud-bundles-"));
    await buildFunctions(folder);
    for (const name of names) {
      const { outputs }: Metafile = JSON.parse(await readFile(join(folder, `${name}.meta.json`), "utf8"));
      bundles.set(name, outputs);
    }
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test.each(cases)(
    "$provider is a small separate part of $name, without code of other clouds",
    ({ name, provider }) => {
      const outputs = bundles.get(name) ?? {};
      const entry = `src/clouds/${provider}/cloud.ts`;
      const atStart = filesLoadedWith(outputs, `functions/${name}.ts`);
      const added = [...filesLoadedWith(outputs, entry)].filter((path) => !atStart.has(path));
      const inputs = added.flatMap((path) => inputsIn(outputs, path));
      const others = CLOUD_PROVIDERS.map((kind) => kind.provider as string).filter(
        (each) => each !== provider && each !== COMMON,
      );
      expect(inputs).toContain(entry);
      expect([...atStart].flatMap((path) => inputsIn(outputs, path))).not.toContain(entry);
      expect(inputs.filter((input) => /@aws-sdk|@smithy/.test(input))).toEqual([]);
      expect(
        inputs.filter((input) => others.some((each) => input.startsWith(`src/clouds/${each}/`))),
      ).toEqual([]);
      expect(added.reduce((bytes, path) => bytes + (outputs[path]?.bytes ?? 0), 0)).toBeLessThan(MAX_BYTES);
    },
  );

  test.each([...WITHOUT_CLOUDS])("%s, which calls no cloud, contains none", (name) => {
    const outputs = bundles.get(name) ?? {};
    const inputs = Object.keys(outputs).flatMap((path) => inputsIn(outputs, path));
    expect(inputs).toContain(`functions/${name}.ts`);
    expect(inputs.filter((input) => /^src\/clouds\/[a-z-]+\/cloud\.ts$/.test(input))).toEqual([]);
  });
});

describe("a build for some clouds", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "some-clouds-"));
    await buildFunctions(folder, ["aws", "hcloud"]);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test.each(asking)("has only these in %s, and the configuration of the others", async (name) => {
    const { outputs }: Metafile = JSON.parse(await readFile(join(folder, `${name}.meta.json`), "utf8"));
    const inputs = Object.keys(outputs).flatMap((path) => inputsIn(outputs, path));
    const clouds = inputs.filter((input) => /^src\/clouds\/[a-z-]+\/cloud\.ts$/.test(input));
    expect(clouds.toSorted()).toEqual(["src/clouds/aws/cloud.ts", "src/clouds/hcloud/cloud.ts"]);
    expect(inputs).toContain("src/clouds/openstack/config.ts");
    expect(inputs).not.toContain("src/clouds/openstack/session.ts");
  });

  test("rejects a cluster of another cloud with the reason", async () => {
    const { outputs }: Metafile = JSON.parse(await readFile(join(folder, "node.meta.json"), "utf8"));
    const stub =
      Object.keys(outputs).find((path) => inputsIn(outputs, path).includes("left-out:cloud")) ?? "";
    const loading = import(pathToFileURL(join(folder, "node", basename(stub))).href);
    await expect(loading).rejects.toThrow("built without this part of the cloud (cloud); npm run build");
  });

  test.each([[["aws", "azure"]], [[""]], [[]]])("rejects %j, and lists the known clouds", (clouds) => {
    expect(() => selectParts("node", clouds)).toThrow("give some of aws, digitalocean");
  });
});

/** Returns the output with an entry, and all its static imports. */
function filesLoadedWith(outputs: Metafile["outputs"], entry: string): ReadonlySet<string> {
  const loaded = new Set(Object.keys(outputs).filter((path) => outputs[path]?.entryPoint === entry));
  // The iteration includes values that are added to the set meanwhile.
  for (const path of loaded) {
    for (const { path: next, kind } of outputs[path]?.imports ?? []) {
      if (kind === "import-statement" && outputs[next] !== undefined) loaded.add(next);
    }
  }
  return loaded;
}

function inputsIn(outputs: Metafile["outputs"], path: string): string[] {
  return Object.entries(outputs[path]?.inputs ?? {}).flatMap(([input, { bytesInOutput }]) =>
    bytesInOutput > 0 ? [input] : [],
  );
}
