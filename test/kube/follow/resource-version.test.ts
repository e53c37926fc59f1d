import { describe, expect, test } from "vitest";
import { compareResourceVersions, isOlderVersion } from "#kube/follow/object-key.ts";

const huge = "9".repeat(40);

describe("compareResourceVersions", () => {
  test.each([
    { a: "9", b: "10", sign: -1 },
    { a: "10", b: "9", sign: 1 },
    { a: "100", b: "100", sign: 0 },
    { a: "199", b: "201", sign: -1 },
    { a: huge, b: `1${"0".repeat(40)}`, sign: -1 },
    { a: "9007199254740993", b: "9007199254740992", sign: 1 },
    { a: "0", b: "1", sign: -1 },
    { a: "abc", b: "abc", sign: 0 },
    { a: "abc", b: "12", sign: undefined },
    { a: "012", b: "12", sign: undefined },
    { a: "", b: "12", sign: undefined },
  ])("$a and $b", ({ a, b, sign }) => {
    const compared = compareResourceVersions(a, b);
    expect(compared === undefined ? undefined : Math.sign(compared)).toBe(sign);
  });

  test("what does not compare is not called older", () => {
    expect([isOlderVersion("x", "9"), isOlderVersion("9", "x"), isOlderVersion("8", "9")]).toEqual([
      false,
      false,
      true,
    ]);
  });
});
