import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { LOG_EVENTS, LogLine } from "#test/log-line.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

const sections = async (): Promise<readonly string[]> =>
  (await readFile(`${ROOT}docs/reference/logs.md`, "utf8")).split("\n## ");
const rowsIn = (section: string | undefined): readonly string[] =>
  section?.split("\n").filter((line) => line.startsWith("| `")) ?? [];

describe("the reference of logs", () => {
  test("lists every event with its meaning, and no other", async () => {
    const expected = Object.entries(LOG_EVENTS).map(([event, meaning]) => `| \`${event}\` | ${meaning} |`);
    expect(rowsIn((await sections()).find((each) => each.startsWith("Events")))).toEqual(expected);
  });

  test("lists every fact with its meaning, and no other", async () => {
    const expected = Object.entries(LogLine.shape).map(
      ([key, schema]) => `| \`${key}\` | ${schema.description} |`,
    );
    expect(rowsIn((await sections()).find((each) => each.startsWith("Facts")))).toEqual(expected);
  });

  test("has exactly the events that the sources write", async () => {
    const files = globSync("{functions,src/{cli,config,platforms,relay,sweep,tracing}}/**/*.ts", {
      cwd: ROOT,
    });
    const source = (await Promise.all(files.map((file) => readFile(ROOT + file, "utf8")))).join("\n");
    const written = [...source.matchAll(/\bevent(?:: | = .*\? .*)"([A-Z]\w+)"/g)].map(([, event]) => event);
    expect(written.filter((event) => !((event ?? "") in LOG_EVENTS))).toEqual([]);
    expect(Object.keys(LOG_EVENTS).filter((event) => !source.includes(`"${event}"`))).toEqual([]);
  });
});
