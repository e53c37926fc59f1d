import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { LOAD_BALANCER_MODELS } from "#clouds/providers.ts";

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

test.each(NODE_RESOURCES)("%s passes the contract of attacks on node resources", (resource) => {
  expect(plays(resource, "testNodeResourcesConformance")).toBe(true);
});

test.each(Object.keys(LOAD_BALANCER_MODELS))(
  "%s passes the contract of load balancers, and its attacks",
  (provider) => {
    expect(plays(provider, "loadBalancerConformance")).toBe(true);
  },
);
