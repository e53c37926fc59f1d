import { describe, expect, test } from "vitest";
import { isEnding, parseStateChange } from "#functions/parts/ec2-events/state-change.ts";
import { buildStateChange } from "#test/functions/ec2-events/world.ts";

describe("the door", () => {
  test("takes what EventBridge sends, and of it what is needed", () => {
    const sent = buildStateChange(
      {},
      { version: "0", id: "6a7e8feb", time: "2026-01-01T00:00:00Z", resources: ["arn"] },
    );
    expect(parseStateChange(sent)).toEqual(buildStateChange());
  });

  test.each<[string, unknown, RegExp]>([
    ["nothing", undefined, /event: /],
    ["a text", "i-0123456789abcdef0", /event: /],
    [
      "another event of EC2's",
      buildStateChange({}, { "detail-type": "EC2 Spot Instance Interruption Warning" }),
      /detail-type"\]: /,
    ],
    ["a custom event", buildStateChange({}, { source: "com.example" }), /source: /],
    ["no account", buildStateChange({}, { account: undefined }), /account: the twelve digits/],
    ["an invalid account", buildStateChange({}, { account: "12345" }), /account: the twelve digits/],
    ["an invalid region", buildStateChange({}, { region: "../x" }), /region: a region/],
    ["no detail", buildStateChange({}, { detail: undefined }), /detail: /],
    [
      "an id with a wildcard",
      buildStateChange({ "instance-id": "i-*" }),
      /detail\["instance-id"\]: an instance id/,
    ],
    ["another thing's id", buildStateChange({ "instance-id": "vol-0123456789abcdef0" }), /an instance id/],
    [
      "a list of ids",
      buildStateChange({ "instance-id": ["i-0123456789abcdef0"] }),
      /detail\["instance-id"\]: /,
    ],
    ["an invalid state", buildStateChange({ state: "exploded" }), /detail\.state: /],
    ["what is very long", buildStateChange({ state: "x".repeat(100_000) }), /detail\.state: /],
  ])("refuses %s, with words that quote nothing", (_, event, words) => {
    expect(() => parseStateChange(event)).toThrow(words);
    expect(() => parseStateChange(event)).toThrow(expect.objectContaining({ code: "Ec2EventRejected" }));
    expect(() => parseStateChange(event)).not.toThrow(/exploded|com\.example|xxxx/);
  });

  test.each([
    ["pending", false],
    ["running", false],
    ["stopping", true],
    ["stopped", true],
    ["shutting-down", true],
    ["terminated", true],
  ] as const)("an instance that is %s is on its way out: %s", (state, expected) => {
    expect(isEnding(parseStateChange(buildStateChange({ state })))).toBe(expected);
  });
});
