import { globSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { type AnyCloudProvider, CLOUD_PROVIDERS, LOAD_BALANCER_MODELS } from "#clouds/providers.ts";
import { listAnnotations } from "#test/adversarial/annotations.ts";
import { buildMinimalConfig, listManifests, WORLDS } from "#test/clouds/worlds.ts";
import { STAGED_CLOUDS } from "#test/e2e/clouds/staged-clouds.ts";

// Each suite of all clouds has a list of them; a failure names the file that lacks a cloud, and the line.

const PROVIDERS = CLOUD_PROVIDERS as readonly unknown[] as readonly AnyCloudProvider[];
const NAMES: readonly string[] = PROVIDERS.map(({ provider }) => provider);
const IN_USE = PROVIDERS.filter(({ forTrials }) => !forTrials).map(({ provider }) => provider);
const WITH_LOAD_BALANCERS = Object.keys(LOAD_BALANCER_MODELS);
const ROOT = new URL("../../", import.meta.url);

test.each(NAMES)("%s has a minimal configuration", (provider) => {
  expect(buildMinimalConfig(provider).provider).toBe(provider);
});

test.each(WITH_LOAD_BALANCERS)(
  "%s has a world of load balancers, for killed functions and two actors",
  (provider) => {
    const worlds = Object.values(WORLDS).filter((world) => world.provider === provider);
    const advice = `test/clouds/worlds.ts: add an entry with provider "${provider}" to WORLDS, such as that of memory`;
    expect(worlds.length, advice).toBeGreaterThan(0);
  },
);

test("each world is one of a cloud with load balancers", () => {
  const unknown = Object.entries(WORLDS).filter(
    ([, { provider }]) => !WITH_LOAD_BALANCERS.includes(provider),
  );
  expect(unknown, "test/clouds/worlds.ts: remove these entries of WORLDS").toEqual([]);
});

test.each(WITH_LOAD_BALANCERS)("the annotations of %s are tried with long texts", (provider) => {
  expect(listAnnotations(provider)).toBeInstanceOf(Array);
});

test.each(globSync("src/clouds/**/*.ts", { cwd: ROOT }).filter((file) => readsProviderIDs(file)))(
  "the provider IDs that %s reads are tried with long texts",
  async (file) => {
    const readers = await readFile(new URL("test/adversarial/readers.ts", ROOT), "utf8");
    const specifier = `"${file.replace("src/", "#")}"`;
    const advice = `test/adversarial/readers.ts: import parseProviderID from ${specifier} and add it to READERS`;
    expect(readers.includes(specifier), advice).toBe(true);
  },
);

function readsProviderIDs(file: string): boolean {
  return readFileSync(new URL(file, ROOT), "utf8").includes("export function parseProviderID(");
}

test.each(IN_USE)("%s is staged on a whole control plane", (provider) => {
  const advice = `test/e2e/clouds/staged-clouds.ts: add ${provider} with its function in test/e2e/clouds/${provider}.ts`;
  expect(Object.keys(STAGED_CLOUDS), advice).toContain(provider);
});

test.each([
  "infra/admission/README.md",
  "infra/admission/ingress.yaml",
  "infra/admission/addresses/ingress.yaml",
])("%s lists the clouds whose load balancers have IP addresses", async (file) => {
  const text = await readFile(new URL(file, ROOT), "utf8");
  const [, list = ""] =
    /(?:# with cloud\.provider |IP addresses(?: \(|: ))((?:[a-z-]+(?:, | or ))+[a-z-]+)/.exec(text) ?? [];
  const expected = PROVIDERS.filter(({ ingress }) => ingress === "ip").map(({ provider }) => provider);
  const advice = `${file}: list the clouds whose provider.ts has ingress: "ip"`;
  expect(list.split(/, | or /).toSorted(), advice).toEqual(expected.toSorted());
});

test("the policy for IP addresses is applied where load balancers have them, and nowhere else", () => {
  expect(listManifests("oci", ["rbac/a"])).toEqual(["rbac/a", "admission/addresses"]);
  expect(listManifests("rke2")).toEqual(["admission/addresses"]);
  expect(listManifests("aws", ["rbac/a"])).toEqual(["rbac/a"]);
});
