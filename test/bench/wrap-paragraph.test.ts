import { expect, test } from "vitest";
import { wrapParagraph } from "#bench/report/wrap-paragraph.ts";

const words = (count: number): string => Array.from({ length: count }, () => "word").join(" ");

test("keeps a paragraph of 120 characters in one line", () => {
  const text = `${words(23)} fives`;
  expect(text).toHaveLength(120);
  expect(wrapParagraph(text)).toBe(text);
});

test("breaks a longer paragraph between words, and keeps all words", () => {
  const lines = wrapParagraph(words(60)).split("\n");
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(120);
  expect(lines.join(" ")).toBe(words(60));
});

test("indents the lines after the first", () => {
  const [first, second] = wrapParagraph(`- ${words(30)}`, "  ").split("\n");
  expect(first).toMatch(/^- word/);
  expect(second).toMatch(/^ {2}word/);
});

test("keeps a word whole if it is longer than a line", () => {
  const link = `[link](${"x".repeat(150)})`;
  expect(wrapParagraph(`see ${link} there`)).toBe(`see\n${link}\nthere`);
});
