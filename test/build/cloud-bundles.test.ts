import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Metafile } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CLOUD_KINDS } from "#clouds/kinds.ts";
import { buildFunctions, WITHOUT_CLOUDS, withoutOtherClouds } from "../../build/build.ts";
import { functionNames } from "../../build/function-names.ts";

/** As decision 0020 has it: what a cloud without an SDK may add to a function. */
const MAX_BYTES = 100 * 1024;

/** AWS brings its SDK, and its size is looked at with that of the function; the memory cloud is a toy. */
const NOT_MEANT: ReadonlySet<string> = new Set(["aws", "memory"]);

/** Clouds that know nothing of nodes have this one's answers. */
const COMMON = "no-cloud";

const names = await functionNames();
const asking = names.filter((name) => !WITHOUT_CLOUDS.has(name));
const providers = CLOUD_KINDS.map(({ provider }) => provider as string).filter(
  (each) => !NOT_MEANT.has(each),
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
    "$provider is a small part of $name, loaded by itself, with nothing of another's",
    ({ name, provider }) => {
      const outputs = bundles.get(name) ?? {};
      const entry = `clouds/${provider}/cloud.ts`;
      const atStart = filesLoadedWith(outputs, `functions/${name}.ts`);
      const added = [...filesLoadedWith(outputs, entry)].filter((path) => !atStart.has(path));
      const inputs = added.flatMap((path) => inputsIn(outputs, path));
      const others = CLOUD_KINDS.map((kind) => kind.provider as string).filter(
        (each) => each !== provider && each !== COMMON,
      );
      expect(inputs).toContain(entry);
      expect([...atStart].flatMap((path) => inputsIn(outputs, path))).not.toContain(entry);
      expect(inputs.filter((input) => /@aws-sdk|@smithy/.test(input))).toEqual([]);
      expect(inputs.filter((input) => others.some((each) => input.startsWith(`clouds/${each}/`)))).toEqual(
        [],
      );
      expect(added.reduce((bytes, path) => bytes + (outputs[path]?.bytes ?? 0), 0)).toBeLessThan(MAX_BYTES);
    },
  );

  test.each([...WITHOUT_CLOUDS])("none is part of %s, which asks none", (name) => {
    const outputs = bundles.get(name) ?? {};
    const inputs = Object.keys(outputs).flatMap((path) => inputsIn(outputs, path));
    expect(inputs).toContain(`functions/${name}.ts`);
    expect(inputs.filter((input) => /^clouds\/[a-z-]+\/cloud\.ts$/.test(input))).toEqual([]);
  });
});

describe("a build for some clouds", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "some-clouds-"));
    await buildFunctions(folder, ["aws", "hcloud"]);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test.each(asking)("has these in %s, the others' kinds, and no more of them", async (name) => {
    const { outputs }: Metafile = JSON.parse(await readFile(join(folder, `${name}.meta.json`), "utf8"));
    const inputs = Object.keys(outputs).flatMap((path) => inputsIn(outputs, path));
    const clouds = inputs.filter((input) => /^clouds\/[a-z-]+\/cloud\.ts$/.test(input));
    expect(clouds.toSorted()).toEqual(["clouds/aws/cloud.ts", "clouds/hcloud/cloud.ts"]);
    expect(inputs).toContain("clouds/openstack/kind.ts");
    expect(inputs).not.toContain("clouds/openstack/session.ts");
  });

  test("refuses a cluster of another cloud with words that say why", async () => {
    const outputs = await readdir(join(folder, "node"));
    const stub = outputs.find((file) => /^no-clouds-.*\.mjs$/.test(file)) ?? "";
    const left = await import(pathToFileURL(join(folder, "node", stub)).href);
    const [load] = Object.values(left) as (() => unknown)[];
    expect(load).toThrow("built without this cloud");
  });

  test.each([[["aws", "azure"]], [[""]], [[]]])("refuses %j, and says what there is", (clouds) => {
    expect(() => withoutOtherClouds(clouds)).toThrow("give some of aws, digitalocean");
  });
});

/** The output that begins with an entry, and all that it imports at once. */
function filesLoadedWith(outputs: Metafile["outputs"], entry: string): ReadonlySet<string> {
  const loaded = new Set(Object.keys(outputs).filter((path) => outputs[path]?.entryPoint === entry));
  // A set that grows is walked to its end.
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
