import { expect, test } from "vitest";
import { findNearest } from "#core/nearest.ts";

const KEYS = ["name", "server", "certificateAuthorityFile", "signIn", "vpc", "limits", "policies"];

test.each([
  ["server", "server"],
  ["sever", "server"],
  ["serverr", "server"],
  ["sevrer", "server"],
  ["zerver", "server"],
  ["Server", "server"],
  ["vcp", "vpc"],
  ["polices", "policies"],
  ["certificate-authority-file", "certificateAuthorityFile"],
  ["limit", "limits"],
  ["", undefined],
  ["controllers", undefined],
  ["xyz", undefined],
  [`server${"r".repeat(64)}`, undefined],
])("%j most likely means %j", (written, meant) => {
  expect(findNearest(written, KEYS)).toBe(meant);
});

test("the nearer of two words wins", () => {
  expect(findNearest("eu-centrl-1", ["ca-central-1", "eu-north-1", "eu-central-1", "eu-central-2"])).toBe(
    "eu-central-1",
  );
});
