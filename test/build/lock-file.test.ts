import { expect, test } from "vitest";
import { LockFile, readLockFile } from "../../build/lock-file.ts";

const lockFile = await readLockFile();
const paths = Object.keys(lockFile.packages);
const installed = Object.entries(lockFile.packages).filter(([path]) => path !== "");

/** Returns the paths of packages that npm would install without a SHA-512 check. */
function withoutIntegrity({ packages }: LockFile): string[] {
  return Object.entries(packages)
    .filter(([path, { integrity }]) => path !== "" && !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ""))
    .map(([path]) => path);
}

// npm omits packages of other platforms if its registry lacks them, and then rejects its own lock file.
test("the lock file names the packages of all platforms, and no registry", () => {
  const optional = installed.flatMap(([, each]) => Object.keys(each.optionalDependencies ?? {}));
  expect(optional.length).toBeGreaterThan(0);
  expect(optional.filter((name) => !paths.some((path) => path.endsWith(`node_modules/${name}`)))).toEqual([]);
  expect(installed.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
});

test("the lock file has the SHA-512 of every package", () => {
  expect(installed.length).toBeGreaterThan(400);
  expect(withoutIntegrity(lockFile)).toEqual([]);
});

test.each([
  ["no hash", undefined],
  ["a weaker hash", "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk="],
  ["a hash that is cut", "sha512-kqZUFvX6"],
  ["a second, weaker hash beside it", `sha512-${"A".repeat(86)}== sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=`],
])("names a package with %s", (_what, integrity) => {
  const packages = { "": {}, "node_modules/zod": { version: "4.6.7", integrity } };
  expect(withoutIntegrity(LockFile.parse({ packages }))).toEqual(["node_modules/zod"]);
});
