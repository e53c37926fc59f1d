import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import * as z from "zod";

const LockFile = z.object({
  packages: z.record(
    z.string(),
    z.object({
      resolved: z.string().optional(),
      optionalDependencies: z.record(z.string(), z.string()).optional(),
    }),
  ),
});

// npm leaves out the packages of other platforms where its registry does not have them, and then refuses its own lock file.
test("the lock file names the packages of all platforms, and no registry", async () => {
  const text = await readFile(new URL("../../package-lock.json", import.meta.url), "utf8");
  const { packages } = LockFile.parse(JSON.parse(text));
  const optional = Object.values(packages).flatMap((each) => Object.keys(each.optionalDependencies ?? {}));
  expect(optional.length).toBeGreaterThan(0);
  expect(
    optional.filter((name) => !Object.keys(packages).some((path) => path.endsWith(`node_modules/${name}`))),
  ).toEqual([]);
  expect(Object.values(packages).filter(({ resolved }) => resolved !== undefined)).toEqual([]);
});
