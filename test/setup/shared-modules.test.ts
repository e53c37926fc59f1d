import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = new URL("../..", import.meta.url).pathname;
const CLOCK = /(?:AbortSignal\.timeout|Date\.now|performance\.now)\(/;

// Test files share a worker and with it the modules that they import: a limit or a clock that starts when such a module
// is loaded has run out in the files that come minutes later.
test("no module that tests share starts a clock when it is loaded", () => {
  const modules = globSync(["test/**/*.ts", "src/emulators/**/*.ts"], { cwd: ROOT }).filter(
    (file) => !/\.test\.ts$|(?:^|\/)main\.ts$/.test(file),
  );
  const started = modules.flatMap((file) =>
    (readFileSync(join(ROOT, file), "utf8").match(/^(?:export )?(?:const|let) .*$/gm) ?? [])
      .filter((line) => CLOCK.test(line) && !line.includes("=>"))
      .map((line) => `${file}: ${line}`),
  );
  expect(modules.length).toBeGreaterThan(300);
  expect(started).toEqual([]);
});
