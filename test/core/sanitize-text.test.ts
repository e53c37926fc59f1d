import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { getErrorMessage, sanitizeText } from "#core/sanitize-text.ts";
import { checkProperty } from "./check-property.ts";

const ESC = "\u001B";
const ACTS = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

describe("text from outside", () => {
  test.each([
    ["nothing", "", ""],
    ["plain words", "node-1 (a b) ~", "node-1 (a b) ~"],
    ["words of any language", "узел 节点 é 🙂", "узел 节点 é 🙂"],
    ["a colour", `${ESC}[31mred`, "\\u{001B}[31mred"],
    ["a bell", "a\u0007b", "a\\u{0007}b"],
    ["a forged line", "a\nok\r\n", "a\\u{000A}ok\\u{000D}\\u{000A}"],
    ["a tab and a null", "\t\0", "\\u{0009}\\u{0000}"],
    ["DEL and the 8-bit ESC [", "\u007F\u009B31m", "\\u{007F}\\u{009B}31m"],
    ["line and paragraph separators", "\u2028\u2029\u0085", "\\u{2028}\\u{2029}\\u{0085}"],
    ["text turned around", "a\u202Eb\u2066c\u200Fd\u061C", "a\\u{202E}b\\u{2066}c\\u{200F}d\\u{061C}"],
    ["nothing to be seen", "a\u200Bb\uFEFF", "a\\u{200B}b\\u{FEFF}"],
    ["tags beyond the first plane", "\u{E0041}", "\\u{E0041}"],
    ["half a pair", "a\uD83Db\uDE42", "a\\u{D83D}b\\u{DE42}"],
    ["what was escaped", "\\u{001B}", "\\u{001B}"],
    ["256 characters", "x".repeat(256), "x".repeat(256)],
    ["257 characters", "x".repeat(257), `${"x".repeat(255)}…`],
    ["4 MB", "x".repeat(4_000_000), `${"x".repeat(255)}…`],
    ["an escape that just fits", `${"x".repeat(248)}\u0007`, `${"x".repeat(248)}\\u{0007}`],
    ["an escape that does not fit", `${"x".repeat(249)}\u0007`, `${"x".repeat(249)}…`],
    ["a pair that does not fit", `${"x".repeat(255)}🙂`, `${"x".repeat(255)}…`],
  ])("%s", (_, text, expected) => {
    expect(sanitizeText(text)).toBe(expected);
  });

  test.each([
    [1, "…"],
    [2, "a…"],
    [5, "abcd…"],
    [6, "abcdef"],
  ])("has at most %i characters", (maxCharacters, expected) => {
    expect(sanitizeText("abcdef", maxCharacters)).toBe(expected);
  });

  test("is short and harmless, and sanitizing it twice changes nothing", () => {
    const unit = fc.oneof(
      fc.integer({ min: 0, max: 0xff }),
      fc.integer({ min: 0x2000, max: 0x2070 }),
      fc.integer({ min: 0xd7f0, max: 0xe00f }),
      fc.integer({ min: 0, max: 0xffff }),
    );
    const text = fc.array(unit, { maxLength: 80 }).map((units) => String.fromCharCode(...units));
    checkProperty([text, fc.integer({ min: 1, max: 300 })], (each, maxCharacters) => {
      const result = sanitizeText(each, maxCharacters);
      expect(result.length).toBeLessThanOrEqual(maxCharacters);
      expect(result).not.toMatch(ACTS);
      expect(sanitizeText(result, maxCharacters)).toBe(result);
    });
  });
});

test("a thrown value that is no Error is its own message", () => {
  expect(getErrorMessage("it broke")).toBe("it broke");
});
