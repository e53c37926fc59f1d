import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Clouds that have routes to pods, or tags on the machines of nodes. */
const HAVING = readdirSync(`${ROOT}clouds`, { withFileTypes: true }).flatMap(({ name }) =>
  ["routes", "tags"].flatMap((resource) =>
    existsSync(`${ROOT}clouds/${name}/${resource}`) ? [`${name}/${resource}`] : [],
  ),
);

test("AWS has routes and tags", () => {
  expect(HAVING).toEqual(expect.arrayContaining(["aws/routes", "aws/tags"]));
});

test.each(HAVING)("clouds/%s plays the contract of attacks on what is kept of nodes", (resource) => {
  expect(existsSync(`${ROOT}test/clouds/${resource}/conformance.test.ts`)).toBe(true);
});
