import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { CLOUD_PROVIDERS, LOAD_BALANCER_MODELS } from "#clouds/providers.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Clouds that have routes to pods, or tags on the machines of nodes. */
const NODE_RESOURCES = readdirSync(`${ROOT}src/clouds`, { withFileTypes: true }).flatMap(({ name }) =>
  ["routes", "tags"].flatMap((resource) =>
    existsSync(`${ROOT}src/clouds/${name}/${resource}`) ? [`${name}/${resource}`] : [],
  ),
);

function plays(folder: string, contract: string): boolean {
  return globSync(`${ROOT}test/clouds/${folder}/**/*conformance.test.ts`).some((file) =>
    readFileSync(file, "utf8").includes(`${contract}(`),
  );
}

test("AWS has routes and tags", () => {
  expect(NODE_RESOURCES).toEqual(expect.arrayContaining(["aws/routes", "aws/tags"]));
});

/** Clouds share files of tests, so a file of tests counts for each cloud that it imports. */
function playsNodes(provider: string): boolean {
  return globSync(`${ROOT}test/clouds/**/*.test.ts`).some((file) => {
    const text = readFileSync(file, "utf8");
    return text.includes("testCloudConformance(") && new RegExp(`"#(?:test/)?clouds/${provider}/`).test(text);
  });
}

test.each(CLOUD_PROVIDERS.map(({ provider }) => provider))("%s passes the contract of nodes", (provider) => {
  const advice = `test/clouds/${provider}/cloud.test.ts: call testCloudConformance (test/clouds/conformance.ts)`;
  expect(playsNodes(provider), advice).toBe(true);
});

test.each(NODE_RESOURCES)("%s passes the contract of attacks on node resources", (resource) => {
  const advice = `test/clouds/${resource}/conformance.test.ts: call testNodeResourcesConformance (test/clouds/node-resources-conformance.ts)`;
  expect(plays(resource, "testNodeResourcesConformance"), advice).toBe(true);
});

test.each(Object.keys(LOAD_BALANCER_MODELS))(
  "%s passes the contract of load balancers, and its attacks",
  (provider) => {
    const advice = `test/clouds/${provider}/load-balancers-conformance.test.ts: call loadBalancerConformance (test/clouds/load-balancers-conformance.ts)`;
    expect(plays(provider, "loadBalancerConformance"), advice).toBe(true);
  },
);
