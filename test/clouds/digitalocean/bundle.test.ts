import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Metafile } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildFunctions, WITHOUT_CLOUDS } from "../../../build/build.ts";
import { functionNames } from "../../../build/function-names.ts";

const MAX_BYTES = 64 * 1024;

const names = await functionNames();
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

test.each(asking)("%s: the cloud is a small file of its own, without anything of another's SDK", (name) => {
  const outputs = bundles.get(name) ?? {};
  const own = filesLoadedWith(outputs, "clouds/digitalocean/cloud.ts");
  const shared = filesLoadedWith(outputs, `functions/${name}.ts`);
  const added = [...own].filter((path) => !shared.has(path));
  const inputs = added.flatMap((path) => Object.keys(outputs[path]?.inputs ?? {}));
  expect(inputs).toContain("clouds/digitalocean/cloud.ts");
  expect(inputs).toContain("clouds/http/client.ts");
  expect(inputs.filter((input) => /@aws-sdk|@smithy|^clouds\/aws/.test(input))).toEqual([]);
  expect(added.reduce((bytes, path) => bytes + (outputs[path]?.bytes ?? 0), 0)).toBeLessThan(MAX_BYTES);
});

test.each([...WITHOUT_CLOUDS])("%s: the cloud is no part of a function that asks none", (name) => {
  const inputs = Object.values(bundles.get(name) ?? {}).flatMap((output) => Object.keys(output.inputs));
  expect(inputs).toContain(`functions/${name}.ts`);
  expect(inputs).not.toContain("clouds/digitalocean/cloud.ts");
});

test.each(names)("%s: none of it comes along with the function", (name) => {
  const outputs = bundles.get(name) ?? {};
  const shared = [...filesLoadedWith(outputs, `functions/${name}.ts`)];
  const inputs = shared.flatMap((path) => Object.keys(outputs[path]?.inputs ?? {}));
  expect(inputs.filter((input) => /^clouds\/(http|digitalocean)\//.test(input)).toSorted()).toEqual([
    "clouds/digitalocean/firewall-settings.ts",
    "clouds/digitalocean/kind.ts",
    "clouds/digitalocean/load-balancer-settings.ts",
  ]);
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
