import { describe, expect, test } from "vitest";
import { isEnding, parseStateChange } from "#functions/parts/ec2-events/state-change.ts";
import { aStateChange } from "#test/functions/ec2-events/world.ts";

describe("the door", () => {
  test("takes what EventBridge sends, and of it what is needed", () => {
    const sent = aStateChange(
      {},
      { version: "0", id: "6a7e8feb", time: "2026-01-01T00:00:00Z", resources: ["arn"] },
    );
    expect(parseStateChange(sent)).toEqual(aStateChange());
  });

  test.each<[string, unknown, RegExp]>([
    ["nothing", undefined, /event: /],
    ["a text", "i-0123456789abcdef0", /event: /],
    [
      "another event of EC2's",
      aStateChange({}, { "detail-type": "EC2 Spot Instance Interruption Warning" }),
      /detail-type"\]: /,
    ],
    ["somebody's own event", aStateChange({}, { source: "com.example" }), /source: /],
    ["no account", aStateChange({}, { account: undefined }), /account: the twelve digits/],
    ["an account that is none", aStateChange({}, { account: "12345" }), /account: the twelve digits/],
    ["a region that is none", aStateChange({}, { region: "../x" }), /region: a region/],
    ["no detail", aStateChange({}, { detail: undefined }), /detail: /],
    [
      "an id with a wildcard",
      aStateChange({ "instance-id": "i-*" }),
      /detail\["instance-id"\]: an instance id/,
    ],
    ["another thing's id", aStateChange({ "instance-id": "vol-0123456789abcdef0" }), /an instance id/],
    ["a list of ids", aStateChange({ "instance-id": ["i-0123456789abcdef0"] }), /detail\["instance-id"\]: /],
    ["a state that is none", aStateChange({ state: "exploded" }), /detail\.state: /],
    ["what is very long", aStateChange({ state: "x".repeat(100_000) }), /detail\.state: /],
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
    expect(isEnding(parseStateChange(aStateChange({ state })))).toBe(expected);
  });
});
