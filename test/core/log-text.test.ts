import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { logText, MAX_LINE_CHARACTERS, sanitizeFacts } from "#core/log-text.ts";
import { checkProperty } from "./check-property.ts";

const ACTS = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const TIME = new Date("2026-01-02T03:04:05.678Z");

describe("a fact of a log line", () => {
  const nested = (depth: number): unknown => (depth === 0 ? "x" : [nested(depth - 1)]);

  test.each<[string, string, unknown, unknown]>([
    ["a word", "event", "Listed", "Listed"],
    [
      "a name with terminal control characters",
      "name",
      "a\u001B[2J\n\u009B\u202E",
      expect.stringMatching(/^a[\x20-\x7E]+$/),
    ],
    ["a long name", "name", "n".repeat(4_000_000), `${"n".repeat(255)}…`],
    ["a message of 1,000 characters", "message", "m".repeat(1_000), "m".repeat(1_000)],
    ["a long message", "message", "m".repeat(2_000), `${"m".repeat(1_023)}…`],
    ["a nested message", "because", { message: "m".repeat(1_000) }, { message: "m".repeat(1_000) }],
    ["milliseconds", "invokedMs", 57.168167236129605, 57],
    ["nested milliseconds", "durations", { cloudMs: 0.6 }, { cloudMs: 1 }],
    ["seconds", "afterSeconds", 1.23456, 1.235],
    ["a count", "objects", 5, 5],
    ["a boolean", "restarted", true, true],
    ["null", "decision", null, null],
    ["undefined", "namespace", undefined, undefined],
    ["a list of texts", "faults", ["a\n"], ["a\\u{000A}"]],
    ["a long list", "faults", Array(102).fill(1), [...Array(99).fill(1), "… and 3 more"]],
    ["a key with control characters", "calls", { "a\u0007": 1 }, { "a\\u{0007}": 1 }],
    [
      "many keys",
      "calls",
      Object.fromEntries(Array.from({ length: 103 }, (_, index) => [`k${index}`, 0])),
      expect.objectContaining({ k98: 0, "…": "and 4 more" }),
    ],
    ["the maximum depth", "decision", nested(8), nested(8)],
    ["more than the maximum depth", "decision", nested(9), [[[[[[[["…"]]]]]]]]],
    ["a bigint", "objects", 5n, "5"],
  ])("%s", (_, key, value, expected) => {
    expect(sanitizeFacts({ [key]: value })).toEqual({ [key]: expected });
  });
});

describe("a line", () => {
  test("has its time first, and is JSON on one line", () => {
    const text = logText({ level: "info", event: "Listed", name: "\u009B\n" }, TIME);
    expect(text).toBe(
      '{"time":"2026-01-02T03:04:05.678Z","level":"info","event":"Listed","name":"\\\\u{009B}\\\\u{000A}"}',
    );
  });

  test("that is too long keeps short facts and truncates the longest", () => {
    const decision = Array.from({ length: 100 }, (_, index) => ({ index, value: "v".repeat(200) }));
    const line = sanitizeFacts({
      level: "info",
      event: "Object",
      decision,
      message: "m".repeat(900),
      gone: undefined,
    });
    expect(line).toEqual({
      level: "info",
      event: "Object",
      decision: expect.stringMatching(/^\[\{"index":0,.{100,}…$/),
      message: "m".repeat(900),
    });
  });

  test.each([
    ["quotes, which JSON writes as two characters", '"'.repeat(5_000)],
    ["lists of lists", Array.from({ length: 150 }, () => Array(150).fill("é\n"))],
  ])("with more facts than the maximum, all of them %s, is short", (_, value) => {
    const facts = Object.fromEntries(Array.from({ length: 40 }, (__, index) => [`fact${index}`, value]));
    const line = logText(facts, TIME);
    expect(line.length).toBeLessThanOrEqual(MAX_LINE_CHARACTERS);
    expect(logText(JSON.parse(line), TIME)).toBe(line);
  });

  test("of any facts is short and harmless, and sanitizing it twice changes nothing", () => {
    const text = fc.string({ unit: "binary", maxLength: 300 });
    const few = fc.dictionary(fc.string({ unit: "binary", maxLength: 20 }), text, { maxKeys: 2 });
    const value = fc.oneof(text, fc.double(), fc.array(few, { maxLength: 2 }));
    checkProperty([fc.dictionary(fc.string({ maxLength: 20 }), value, { maxKeys: 8 })], (facts) => {
      const line = logText(facts, TIME);
      const isShort = line.length <= MAX_LINE_CHARACTERS;
      expect([isShort, ACTS.test(line), logText(JSON.parse(line), TIME) === line]).toEqual([
        true,
        false,
        true,
      ]);
    });
  });
});
