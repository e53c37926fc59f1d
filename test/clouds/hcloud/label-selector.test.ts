import { describe, expect, test } from "vitest";
import { isSelected, parseLabelSelector, requiresLabel } from "#clouds/hcloud/label-selector.ts";

const LABELS = { cluster: "blue", role: "worker", "example.com/pool": "a", empty: "" };

describe("a label selector", () => {
  test.each<[string, boolean]>([
    ["cluster=blue", true],
    ["cluster==blue", true],
    ["cluster = blue", true],
    ["cluster=green", false],
    ["other=blue", false],
    ["cluster!=green", true],
    ["cluster!=blue", false],
    ["other!=blue", true],
    ["cluster", true],
    ["other", false],
    ["!other", true],
    ["!cluster", false],
    ["empty=", true],
    ["role in (worker, master)", true],
    ["role in (master)", false],
    ["role notin (master,other)", true],
    ["role notin (worker)", false],
    ["other notin (worker)", true],
    ["example.com/pool=a", true],
    ["cluster=blue,role in (worker,master),!other", true],
    ["cluster=blue,role in (worker,master),!role", false],
    ["toString", false],
    ["constructor=x", false],
  ])("%s", (selector, expected) => {
    expect(isSelected(parseLabelSelector(selector) ?? [], LABELS)).toBe(expected);
    expect(parseLabelSelector(selector)).toBeDefined();
  });

  test.each([
    "",
    ",",
    "a=b,",
    "a=b=c",
    "a b",
    "=b",
    "a in b",
    "a in (b",
    "a within (b)",
    "!a=b",
    "-a=b",
    "a=-b",
    "a in (b,-c)",
    "a=b,(c)",
  ])(`'"%s" is not a selector'`, (text) => {
    expect(parseLabelSelector(text)).toBeUndefined();
  });

  test.each<[string, boolean]>([
    ["cluster=blue", true],
    ["!other,cluster", true],
    ["!other", false],
    ["cluster!=green,role notin (master)", false],
  ])("%s matches a server's labels: %s", (selector, expected) => {
    expect(requiresLabel(parseLabelSelector(selector) ?? [])).toBe(expected);
  });
});
