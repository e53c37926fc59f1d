import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Metafile } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildFunctions, WITHOUT_CLOUDS } from "../../../build/build.ts";
import { listFunctionNames } from "../../../build/function-names.ts";

const MAX_BYTES = 64 * 1024;

const names = await listFunctionNames();
let folder = "";
const bundles = new Map<string, Metafile["outputs"]>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "digitalocean-bundle-"));
  await buildFunctions(folder);
  for (const name of names) {
    const { outputs }: Metafile = JSON.parse(await readFile(join(folder, `${name}.meta.json`), "utf8"));
    bundles.set(name, outputs);
  }
});
afterAll(() => rm(folder, { recursive: true }));

const asking = names.filter((name) => !WITHOUT_CLOUDS.has(name));

test.each(asking)("%s: the cloud is a small file of its own, without another cloud's SDK", (name) => {
  const outputs = bundles.get(name) ?? {};
  const own = filesLoadedWith(outputs, "src/clouds/digitalocean/cloud.ts");
  const shared = filesLoadedWith(outputs, `functions/${name}.ts`);
  const added = [...own].filter((path) => !shared.has(path));
  const inputs = added.flatMap((path) => Object.keys(outputs[path]?.inputs ?? {}));
  expect(inputs).toContain("src/clouds/digitalocean/cloud.ts");
  expect(inputs).toContain("src/clouds/http/client.ts");
  expect(inputs.filter((input) => /@aws-sdk|@smithy|^src\/clouds\/aws/.test(input))).toEqual([]);
  expect(added.reduce((bytes, path) => bytes + (outputs[path]?.bytes ?? 0), 0)).toBeLessThan(MAX_BYTES);
});

test.each([...WITHOUT_CLOUDS])("%s: a function that does not call the cloud does not contain it", (name) => {
  const inputs = Object.values(bundles.get(name) ?? {}).flatMap((output) => Object.keys(output.inputs));
  expect(inputs).toContain(`functions/${name}.ts`);
  expect(inputs).not.toContain("src/clouds/digitalocean/cloud.ts");
});

test.each(names)("%s: the function does not import the cloud at its start", (name) => {
  const outputs = bundles.get(name) ?? {};
  const shared = [...filesLoadedWith(outputs, `functions/${name}.ts`)];
  const inputs = shared.flatMap((path) => Object.keys(outputs[path]?.inputs ?? {}));
  expect(inputs.filter((input) => /^src\/clouds\/(http|digitalocean)\//.test(input)).toSorted()).toEqual([
    "src/clouds/digitalocean/config.ts",
    "src/clouds/digitalocean/provider.ts",
  ]);
});

/** Returns the output that begins with an entry, and all of its static imports. */
function filesLoadedWith(outputs: Metafile["outputs"], entry: string): ReadonlySet<string> {
  const loaded = new Set(Object.keys(outputs).filter((path) => outputs[path]?.entryPoint === entry));
  // Iterating over a growing set visits the added files, too.
  for (const path of loaded) {
    for (const { path: next, kind } of outputs[path]?.imports ?? []) {
      if (kind === "import-statement" && outputs[next] !== undefined) loaded.add(next);
    }
  }
  return loaded;
}
