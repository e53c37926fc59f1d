import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { createRelayMetrics } from "#relay/report/metrics.ts";

test("the reference lists every metric with its type and help, and no other", async () => {
  const reference = await readFile(new URL("../../../docs/reference/metrics.md", import.meta.url), "utf8");
  const documented = reference.split("\n").filter((line) => line.startsWith("| `"));
  const metrics = createRelayMetrics();
  metrics.followPlatform(() => undefined);
  expect(documented).toEqual(rowsOf(await metrics.text()));
});

function rowsOf(text: string): string[] {
  const types = new Map([...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => [name, type]));
  return [...text.matchAll(/^# HELP (\w+) (.+)$/gm)].map(
    ([, name, help]) => `| \`${name}\` | ${types.get(name)} | ${help} |`,
  );
}
