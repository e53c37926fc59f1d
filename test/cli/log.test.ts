import { afterEach, expect, test, vi } from "vitest";
import { log } from "#cli/relay/serve.ts";
import { logToStandardOutput } from "#functions/parts/log-report.ts";
import { LogLine } from "#test/log-line.ts";

afterEach(() => vi.restoreAllMocks());

test.each([
  ["the relay's", "stderr", log],
  ["the functions'", "stdout", logToStandardOutput],
] as const)("%s log is one harmless, short line each, whatever text others wrote", (_, stream, write) => {
  const written: string[] = [];
  vi.spyOn(process[stream], "write").mockImplementation((text) => written.push(String(text)) > 0);
  write({
    level: "warn",
    event: "Object",
    cluster: "one",
    name: "a\u001B[2J\u0007\nok\u009B31m\u202E\u2028",
    outcome: "retry",
    because: { code: "InstanceNotFound", message: `no instance aws:///${"x".repeat(4_000_000)}` },
    afterSeconds: 57.168167236129605,
    durations: { cloudMs: 57.168167236129605, clusterMs: 0, totalMs: 58.2 },
  });
  const [line = ""] = written;
  expect(written).toHaveLength(1);
  expect(line).toMatch(/^[\x20-\x7E…]{1,8192}\n$/);
  expect(LogLine.parse(JSON.parse(line))).toMatchObject({
    name: "a\\u{001B}[2J\\u{0007}\\u{000A}ok\\u{009B}31m\\u{202E}\\u{2028}",
    because: { message: expect.stringMatching(/^no instance aws:\/\/\/x{1004}…$/) },
    afterSeconds: 57.168,
    durations: { cloudMs: 57, clusterMs: 0, totalMs: 58 },
  });
});
